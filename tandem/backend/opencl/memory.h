// A device's memory: blocks cut from chunks or, when large, of their own; kept when freed, within a budget of our own,
// because no OpenCL runtime enforces one.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tandem/backend/opencl/cl.h"
#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/backend/opencl/region.h"

namespace tandem::opencl {

/// Memory from the driver that small blocks are cut from.
struct Chunk {
  MemoryHandle memory;
  Region region;
};

/// What an address of this memory space points to. Opaque to everybody else.
struct Buffer {
  MemoryHandle memory;
  std::size_t bytes = 0;    // of its size class
  Chunk* chunk = nullptr;   // null: the memory is its own
  std::size_t offset = 0;   // in the chunk
  Buffer* whole = nullptr;  // what it is a slice of; null: it is no slice
  Uses used_by = {};        // guarded by the context's lock
  bool shared = false;      // the bytes are the host's
  Event written = {};       // of shared bytes, once somebody may read them: settled when the buffer is freed

  Uses& uses() const { return const_cast<Buffer*>(whole ? whole : this)->used_by; }
};

struct PoolOptions {
  std::size_t limit = 0;
  std::size_t largest = 0;     // the longest buffer the driver makes
  std::size_t alignment = 128; // of parts of a buffer
  bool grow = true;            // false: the whole limit is taken from the driver at the first use
  bool large_pages = false;    // buffers lie in memory of our own, in large pages: a CPU-type device
  bool of_host = false;        // what the driver hands out is the host's memory
};

/// Blocks may be freed and handed out again while commands are at work on them: a block knows the last ones.
class BufferPool {
 public:
  BufferPool(cl_context context, const Health& health, const PoolOptions& options);
  ~BufferPool();

  /// Null when the limit, or the driver, does not allow it.
  Buffer* try_allocate(std::size_t bytes, Purpose purpose);
  void free(Buffer* buffer) noexcept;
  /// The host's bytes as a block; null when the limit does not allow it.
  Buffer* try_share(void* host, std::size_t bytes);
  /// A part of a block, which must live on.
  Buffer* slice(Buffer& whole, std::size_t offset, std::size_t bytes);
  /// Gives back to the driver what nobody uses.
  void trim();

  /// Set by the memory space: allocates, making room by eviction; throws out_of_memory.
  std::function<Buffer*(std::size_t)> allocate;

  MemoryStats stats() const;
  void reset_peak();

 private:
  Buffer* take_kept(std::size_t size, Purpose purpose);
  Buffer* cut(std::size_t size);
  Buffer* obtain(std::size_t size);
  bool add_chunk(std::size_t bytes);
  bool reserve();
  /// Memory from the driver, counted as held; null when the host or the driver has none left.
  MemoryHandle take(std::size_t bytes);
  void put_back(std::size_t bytes) noexcept;
  MemoryHandle create(std::size_t bytes) const;
  /// Blocks of memory of their own never keep the driver's memory for what was freed beside them.
  bool large(std::size_t size) const { return options_.grow && size > chunk_bytes_ / 16; }
  void give_back(Buffer* buffer);
  bool release_until(std::size_t room);
  void join_small();
  void drop_empty_chunks();

  cl_context context_;
  const Health& health_;
  PoolOptions options_;
  std::size_t chunk_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::map<std::size_t, std::deque<Buffer*>> kept_;  // freed, by size, the oldest in front
  std::size_t kept_small_ = 0;  // bytes of those in kept_ that were cut from chunks
  bool reserved_ = false;
  std::size_t held_ = 0;  // bytes taken from the driver
  std::size_t shared_ = 0;  // bytes of the host in use here
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
