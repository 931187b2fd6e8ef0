#include "tandem/memory/host_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/base/fault.h"
#include "tandem/base/cgroup.h"
#include "tandem/core/host_loans.h"
#include "tandem/core/spill.h"

namespace tandem {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kMostBytes = std::size_t{1} << 60;
constexpr int kClasses = 16 + (60 - 10) * 8;  // up to kMostBytes, see size_class

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepBlocks = false;  // so that the sanitizer sees each use after free
#else
constexpr bool kKeepBlocks = true;
#endif

/// Sizes up to 1 KiB in steps of 64 bytes, then eight steps a doubling.
struct SizeClass {
  int index;
  std::size_t bytes;
};
SizeClass size_class(std::size_t bytes) {
  if (bytes <= 1024) {
    const std::size_t steps = std::max<std::size_t>((bytes + 63) / 64, 1);
    return {static_cast<int>(steps - 1), steps * 64};
  }
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log+1)
  const std::size_t step = std::size_t{1} << (log - 3);
  const std::size_t steps = (bytes - (std::size_t{1} << log) + step - 1) / step;
  return {16 + (log - 10) * 8 + static_cast<int>(steps) - 1, (std::size_t{1} << log) + steps * step};
}

void* take_from_system(std::size_t bytes) {
  // Systems that overcommit would give it, and kill the program when it is used.
  constexpr std::size_t kNobodyHas = std::size_t{1} << 40;
  if (fault(Fault::host_alloc) || (bytes >= kNobodyHas && bytes > usable_memory())) return nullptr;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  void* block = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block && alignment == kHugePage) madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

std::string readable(std::size_t bytes) {
  if (bytes >= std::size_t{1} << 30) return text(bytes / (std::size_t{1} << 30), " GiB");
  if (bytes >= std::size_t{1} << 20) return text(bytes / (std::size_t{1} << 20), " MiB");
  return text(bytes, " bytes");
}

}  // namespace

struct HostPool::Shared {
  mutable std::mutex mutex;
  std::array<std::vector<void*>, kClasses> kept;
  PoolStats stats;

  /// Null beyond the limit.
  void* allocate(SizeClass size) {
    std::lock_guard lock(mutex);
    auto& blocks = kept[static_cast<std::size_t>(size.index)];
    if (!blocks.empty()) {
      void* block = blocks.back();
      blocks.pop_back();
      return block;
    }
    if (stats.bytes_from_system + size.bytes > stats.limit) give_back();
    if (stats.bytes_from_system + size.bytes > stats.limit) return nullptr;
    void* block = take_from_system(size.bytes);
    if (!block) fail(ErrorCode::out_of_memory, "the system refused ", readable(size.bytes), " of memory");
    ++stats.system_calls;
    stats.bytes_from_system += size.bytes;
    return block;
  }

  void keep(void* block, SizeClass size) noexcept {
    std::lock_guard lock(mutex);
    auto& blocks = kept[static_cast<std::size_t>(size.index)];
    try {
      if (kKeepBlocks) return blocks.push_back(block);
    } catch (const std::bad_alloc&) {  // no room to note it down: give it back instead
    }
    std::free(block);
    stats.bytes_from_system -= size.bytes;
  }

  /// Frees all kept blocks; the mutex is held.
  void give_back() {
    for (int index = 0; index < kClasses; ++index) {
      auto& blocks = kept[static_cast<std::size_t>(index)];
      for (void* block : blocks) std::free(block);
      stats.bytes_from_system -= blocks.size() * class_bytes(index);
      blocks.clear();
    }
  }

  static std::size_t class_bytes(int index) {
    if (index < 16) return (static_cast<std::size_t>(index) + 1) * 64;
    const int log = (index - 16) / 8 + 10, steps = (index - 16) % 8 + 1;
    return (std::size_t{1} << log) + (static_cast<std::size_t>(steps) << (log - 3));
  }
};

namespace {

/// A thread's own blocks: a few of each small size, taken and returned without a lock.
class ThreadCache {
 public:
  static constexpr int kCachedClasses = 16 + 6 * 8;  // up to 64 KiB
  static constexpr int kDepth = 16;

  void* take(int index) {
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    return slot.count ? slot.blocks[--slot.count] : nullptr;
  }
  bool put(int index, void* block, HostPool::Shared* owner) {
    owner_ = owner;
    Slot& slot = slots_[static_cast<std::size_t>(index)];
    if (slot.count == kDepth) return false;
    slot.blocks[slot.count++] = block;
    return true;
  }
  void empty() {
    for (int index = 0; index < kCachedClasses; ++index)
      while (void* block = take(index)) owner_->keep(block, {index, HostPool::Shared::class_bytes(index)});
  }
  bool usable_for(const HostPool::Shared* owner) const { return owner_ == nullptr || owner_ == owner; }
  ~ThreadCache() {
    if (owner_) empty();
    gone = true;
  }
  static thread_local bool gone;  // tensors may be freed after the cache, as a thread ends

 private:
  struct Slot {
    int count = 0;
    void* blocks[kDepth];
  };
  std::array<Slot, kCachedClasses> slots_;
  HostPool::Shared* owner_ = nullptr;  // one pool has the caches; others go without
};
thread_local bool ThreadCache::gone = false;
thread_local ThreadCache thread_cache;

bool cached(int index, const HostPool::Shared* owner) {
  return kKeepBlocks && index < ThreadCache::kCachedClasses && !ThreadCache::gone && thread_cache.usable_for(owner);
}

}  // namespace

HostPool::HostPool(std::size_t limit) : MemorySpace(Kind::host), shared_(std::make_unique<Shared>()) {
  set_limit(limit ? limit : usable_memory() / 10 * 9);
}

HostPool::~HostPool() { trim(); }

void HostPool::fail_beyond_limit(std::size_t bytes) const {
  fail(ErrorCode::out_of_memory, "a tensor of ", readable(bytes), " exceeds the host's limit of ",
       readable(stats().limit));
}

void* HostPool::allocate(std::size_t bytes) {
  if (bytes > kMostBytes) fail_beyond_limit(bytes);
  const SizeClass size = size_class(bytes);
  if (cached(size.index, shared_.get()))
    if (void* block = thread_cache.take(size.index)) return block;
  if (void* block = shared_->allocate(size)) return block;
  if (bytes > stats().limit + lent_host_memory()) fail_beyond_limit(bytes);
  free_finished_copies(true);  // what copies to devices still hold
  call_in_loans();
  if (void* block = shared_->allocate(size)) return block;
  const PoolStats now = stats();
  const std::size_t lent = lent_host_memory();
  fail(ErrorCode::out_of_memory, "the host cannot hold another ", readable(size.bytes), ": ",
       readable(now.bytes_from_system), " of ", readable(now.limit), " are in use",
       lent ? text(" beside ", readable(lent), " that devices have of its memory") : "",
       "; free tensors or use smaller ones");
}

void HostPool::free(void* address, std::size_t bytes) noexcept {
  const SizeClass size = size_class(bytes);
  if (cached(size.index, shared_.get()) && thread_cache.put(size.index, address, shared_.get())) return;
  shared_->keep(address, size);
}

Event HostPool::copy_from_host(void* to, const void* from, std::size_t bytes, bool) {
  std::memcpy(to, from, bytes);
  return {};
}
Event HostPool::copy_to_host(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

PoolStats HostPool::stats() const {
  std::lock_guard lock(shared_->mutex);
  return shared_->stats;
}

void HostPool::set_limit(std::size_t limit) {
  std::lock_guard lock(shared_->mutex);
  shared_->stats.limit = std::min(limit, kMostBytes);
}

void HostPool::trim() {
  if (!ThreadCache::gone && thread_cache.usable_for(shared_.get())) thread_cache.empty();
  std::lock_guard lock(shared_->mutex);
  shared_->give_back();
}

}  // namespace tandem
