// A device's memory: buffers by size class, kept when freed, within a budget of our own, because no OpenCL runtime
// enforces one.
#pragma once
#include <map>
#include <mutex>
#include <vector>

#include "tandem/backend/opencl/cl.h"
#include "tandem/backend/opencl/opencl_device.h"

namespace tandem::opencl {

/// What an address of this memory space points to. Opaque to everybody else.
struct Buffer {
  MemoryHandle memory;
  std::size_t bytes = 0;  // of its size class
};

/// Blocks freed while kernels still use them may be handed out at once: whatever reads or writes them next stands
/// behind those kernels in the device's one in-order queue.
class BufferPool {
 public:
  BufferPool(cl_context context, std::string device, std::size_t limit, std::size_t largest);
  ~BufferPool();

  Buffer* allocate(std::size_t bytes);
  void free(Buffer* buffer) noexcept;
  MemoryStats stats() const;
  void reset_peak();

 private:
  Buffer* take_cached(std::size_t size);
  Buffer* create(std::size_t size, std::size_t asked);
  void release_cached();
  [[noreturn]] void out_of_memory(std::size_t bytes, std::string_view why) const;

  cl_context context_;
  std::string device_;
  std::size_t largest_;  // the longest buffer the driver makes
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<Buffer*>> cached_;
  MemoryStats stats_;
};

/// Bytes for the duration of one enqueue: freed when the commands that use them are in the queue.
class Scratch {
 public:
  Scratch(BufferPool& pool, std::size_t bytes) : pool_(pool), buffer_(pool.allocate(bytes)) {}
  Scratch(const Scratch&) = delete;
  ~Scratch() { pool_.free(buffer_); }
  Buffer* get() const { return buffer_; }

 private:
  BufferPool& pool_;
  Buffer* buffer_;
};

}  // namespace tandem::opencl
