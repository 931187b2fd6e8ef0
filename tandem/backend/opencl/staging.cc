#include "tandem/backend/opencl/staging.h"

namespace tandem::opencl {

Staging::Staging(cl_context context, Queue& queue) : queue_(queue) {
  cl_int status = CL_SUCCESS;
  memory_ = MemoryHandle(clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, kBytes, nullptr, &status));
  check(status, "making a staging buffer");
  address_ = static_cast<char*>(
      clEnqueueMapBuffer(queue.get(), memory_.get(), CL_TRUE, CL_MAP_WRITE, 0, kBytes, 0, nullptr, nullptr, &status));
  check(status, "mapping a staging buffer");
}

void* Staging::take(std::size_t bytes) {
  while (!parts_.empty() && queue_.done(parts_.front().command)) parts_.pop_front();
  const std::size_t size = (bytes + 127) / 128 * 128;
  std::size_t begin = parts_.empty() ? 0 : parts_.back().end;
  // Free is what lies between the end of the newest and the begin of the oldest, around the ring.
  const std::size_t oldest = parts_.empty() ? 0 : parts_.front().begin;
  const bool wrapped = !parts_.empty() && begin <= oldest;
  if (!wrapped && begin + size > kBytes) begin = 0;
  const bool before_oldest = wrapped || (begin == 0 && !parts_.empty());
  if (before_oldest && begin + size > oldest) return nullptr;
  parts_.push_back({begin, begin + size});
  return address_ + begin;
}

}  // namespace tandem::opencl
