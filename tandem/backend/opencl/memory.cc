#include "tandem/backend/opencl/memory.h"

#include <algorithm>
#include <bit>

namespace tandem::opencl {
namespace {

constexpr std::size_t kSmallest = 256;

/// Rounded up by at most an eighth, so that nearly equal sizes share blocks.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  const std::size_t step = std::max<std::size_t>(std::bit_floor(bytes) / 8, 64);
  return (bytes + step - 1) / step * step;
}

}  // namespace

BufferPool::BufferPool(cl_context context, std::string device, std::size_t limit, std::size_t largest)
    : context_(context), device_(std::move(device)), largest_(largest), stats_{.limit = limit} {}

BufferPool::~BufferPool() { release_cached(); }

Buffer* BufferPool::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  std::lock_guard lock(mutex_);
  Buffer* buffer = take_cached(size);
  if (!buffer) buffer = create(size, bytes);
  stats_.in_use += size;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return buffer;
}

void BufferPool::free(Buffer* buffer) noexcept {
  std::lock_guard lock(mutex_);
  stats_.in_use -= buffer->bytes;
  stats_.cached += buffer->bytes;
  cached_[buffer->bytes].push_back(buffer);
}

MemoryStats BufferPool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void BufferPool::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak = stats_.in_use;
}

Buffer* BufferPool::take_cached(std::size_t size) {
  auto found = cached_.find(size);
  if (found == cached_.end() || found->second.empty()) return nullptr;
  Buffer* buffer = found->second.back();
  found->second.pop_back();
  stats_.cached -= size;
  return buffer;
}

Buffer* BufferPool::create(std::size_t size, std::size_t asked) {
  if (size > stats_.limit || stats_.in_use > stats_.limit - size) out_of_memory(asked, "the limit");
  if (stats_.in_use + stats_.cached + size > stats_.limit) release_cached();
  if (size > largest_) out_of_memory(asked, text("the driver's largest buffer, ", largest_, " bytes"));
  for (bool again : {true, false}) {
    cl_int status = CL_SUCCESS;
    // Host-allocated buffers are made at once; others at their first use, where PoCL can only abort.
    MemoryHandle memory(clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, nullptr, &status));
    if (status == CL_SUCCESS) return new Buffer{std::move(memory), size};
    if (!is_out_of_memory(status)) check(status, "making a buffer");
    if (again) release_cached();
  }
  out_of_memory(asked, "what the driver can give");
}

void BufferPool::release_cached() {
  for (auto& [size, buffers] : cached_)
    for (Buffer* buffer : buffers) delete buffer;  // OpenCL keeps the memory until the last command has used it
  cached_.clear();
  stats_.cached = 0;
}

void BufferPool::out_of_memory(std::size_t bytes, std::string_view why) const {
  fail(ErrorCode::out_of_memory, device_, ": ", bytes, " bytes do not fit beyond the ", stats_.in_use, " in use: ", why,
       why == "the limit" ? text(" is ", stats_.limit, " bytes") : std::string());
}

}  // namespace tandem::opencl
