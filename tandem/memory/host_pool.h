// The host's memory: blocks are kept when freed and handed out again, so that a loop asks the system only once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tandem/core/device.h"

namespace tandem {

struct PoolStats {
  std::uint64_t system_calls = 0;    // times memory was asked from the system
  std::size_t bytes_from_system = 0; // held, in use or kept
  std::size_t limit = 0;
};

/// Freed blocks go to the freeing thread's own small cache first, then to a shared one. Sizes are rounded up by at
/// most an eighth, so that nearly equal sizes share blocks.
class HostPool final : public MemorySpace {
 public:
  /// `limit`: most bytes to take from the system; 0 means nine tenths of what the machine and the cgroup allow.
  explicit HostPool(std::size_t limit = 0);
  ~HostPool() override;

  std::string_view name() const override { return "host"; }
  void* allocate(std::size_t bytes) override;
  void free(void* address, std::size_t bytes) noexcept override;
  Event copy_from_host(void* to, const void* from, std::size_t bytes, bool pending) override;
  Event copy_to_host(void* to, const void* from, std::size_t bytes) override;

  PoolStats stats() const;
  void set_limit(std::size_t limit);
  /// Gives the blocks kept in the shared cache and in this thread's back to the system.
  void trim();

  struct Shared;

 private:
  [[noreturn]] void fail_beyond_limit(std::size_t bytes) const;
  std::unique_ptr<Shared> shared_;
};

}  // namespace tandem
