// What devices take of the host's memory makes the limit of its pool smaller.
#include "tandem/core/host_loans.h"

#include <mutex>

#include "tandem/runtime/runtime.h"

namespace tandem {
namespace {

struct Loans {
  std::mutex mutex;
  std::size_t bytes = 0;
};
Loans& loans() {
  static Loans& all = *new Loans;  // devices with static lifetime give back after main has ended
  return all;
}

bool has_room(const HostPool& pool, std::size_t bytes) {
  const PoolStats now = pool.stats();
  return now.bytes_from_system + bytes <= now.limit;
}

}  // namespace

bool lend_host_memory(std::size_t bytes) {
  HostPool& pool = default_runtime().host_pool();
  const std::lock_guard lock(loans().mutex);
  if (!has_room(pool, bytes)) pool.trim();
  if (!has_room(pool, bytes)) return false;
  pool.set_limit(pool.stats().limit - bytes);
  loans().bytes += bytes;
  return true;
}

void take_back_host_memory(std::size_t bytes) noexcept {
  HostPool& pool = default_runtime().host_pool();
  const std::lock_guard lock(loans().mutex);
  pool.set_limit(pool.stats().limit + bytes);
  loans().bytes -= bytes;
}

std::size_t lent_host_memory() {
  const std::lock_guard lock(loans().mutex);
  return loans().bytes;
}

}  // namespace tandem
