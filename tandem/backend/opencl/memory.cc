#include "tandem/backend/opencl/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "tandem/base/fault.h"
#include "tandem/core/host_loans.h"

namespace tandem::opencl {
namespace {

/// Rounded up by at most a sixteenth, so that nearly equal sizes share blocks.
std::size_t size_class(std::size_t bytes, std::size_t alignment) {
  const std::size_t step = std::max(std::bit_floor(bytes) / 16, alignment);
  return std::max((bytes + step - 1) / step * step, alignment);
}

constexpr std::size_t kLeastChunk = std::size_t{256} << 10, kMostChunk = std::size_t{16} << 20,
                      kLargePage = std::size_t{2} << 20;

/// Bytes in large pages; null when they are fewer than a page has, or when there are none left.
void* take_large_pages(std::size_t bytes) {
  if (bytes < kLargePage) return nullptr;
  const std::size_t whole = (bytes + kLargePage - 1) / kLargePage * kLargePage;
  void* block = std::aligned_alloc(kLargePage, whole);
  if (block) madvise(block, whole, MADV_HUGEPAGE);
  return block;
}

}  // namespace

BufferPool::BufferPool(cl_context context, const Health& health, const PoolOptions& options)
    : context_(context),
      health_(health),
      options_(options),
      stats_{.limit = options.limit} {
  options_.limit = options.limit / options.alignment * options.alignment;
  chunk_bytes_ = std::min(std::clamp(options_.limit / 64, kLeastChunk, kMostChunk), options_.limit);
  chunk_bytes_ = chunk_bytes_ / options.alignment * options.alignment;
}

BufferPool::~BufferPool() {
  trim();
  put_back(held_);  // of chunks that somebody still has a part of
}

Buffer* BufferPool::try_allocate(std::size_t bytes, Purpose purpose) {
  if (bytes > options_.limit) return nullptr;
  const std::size_t size = std::min(size_class(bytes, options_.alignment), options_.limit);
  std::lock_guard lock(mutex_);
  Buffer* buffer = take_kept(size, purpose);
  if (!buffer) buffer = obtain(size);
  if (!buffer) return nullptr;
  buffer->used_by.written = buffer->used_by.uploaded = 0;
  stats_.in_use += size;
  stats_.peak = std::max(stats_.peak, stats_.in_use + shared_);
  return buffer;
}

Buffer* BufferPool::try_share(void* host, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > options_.limit - std::min(options_.limit, stats_.in_use + shared_)) return nullptr;
  cl_int status = fault(Fault::opencl_alloc) ? CL_MEM_OBJECT_ALLOCATION_FAILURE : CL_SUCCESS;
  MemoryHandle memory;
  if (status == CL_SUCCESS)
    memory = MemoryHandle(clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                         std::max<std::size_t>(bytes, 1), host, &status));
  if (is_out_of_memory(status)) return nullptr;
  health_.check(status, "sharing memory with the host");
  shared_ += bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use + shared_);
  return new Buffer{.memory = std::move(memory), .bytes = bytes, .shared = true};
}

void BufferPool::free(Buffer* buffer) noexcept {
  if (buffer->whole) return delete buffer;
  std::lock_guard lock(mutex_);
  if (buffer->shared) {
    shared_ -= buffer->bytes;
    return delete buffer;
  }
  stats_.in_use -= buffer->bytes;
  if (buffer->chunk) kept_small_ += buffer->bytes;
  kept_[buffer->bytes].push_back(buffer);
}

Buffer* BufferPool::slice(Buffer& whole, std::size_t offset, std::size_t bytes) {
  TANDEM_CHECK(!whole.whole && offset % options_.alignment == 0 && offset + bytes <= whole.bytes, "slice ", offset, "+",
               bytes);
  const cl_buffer_region part{whole.offset + offset, std::max<std::size_t>(bytes, 1)};
  cl_int status = CL_SUCCESS;
  MemoryHandle memory(clCreateSubBuffer(whole.chunk ? whole.chunk->memory.get() : whole.memory.get(), CL_MEM_READ_WRITE,
                                        CL_BUFFER_CREATE_TYPE_REGION, &part, &status));
  health_.check(status, "making a part of a buffer");
  return new Buffer{
      .memory = std::move(memory), .bytes = bytes, .chunk = whole.chunk, .offset = part.origin, .whole = &whole};
}

MemoryStats BufferPool::stats() const {
  std::lock_guard lock(mutex_);
  MemoryStats stats = stats_;
  stats.cached = held_ - stats.in_use;
  stats.in_use += shared_;
  return stats;
}

void BufferPool::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak = stats_.in_use + shared_;
}

/// For a copy the block whose commands are most likely to have ended; for a kernel the one that is still in a cache.
Buffer* BufferPool::take_kept(std::size_t size, Purpose purpose) {
  auto found = kept_.find(size);
  if (found == kept_.end() || found->second.empty()) return nullptr;
  auto& buffers = found->second;
  Buffer* buffer = purpose == Purpose::copy ? buffers.front() : buffers.back();
  if (purpose == Purpose::copy) buffers.pop_front();
  else buffers.pop_back();
  if (buffer->chunk) kept_small_ -= size;
  return buffer;
}

/// The smallest free part of any chunk that suffices.
Buffer* BufferPool::cut(std::size_t size) {
  Chunk* best = nullptr;
  std::size_t best_size = SIZE_MAX;
  for (const auto& chunk : chunks_) {
    const std::size_t fit = chunk->region.best_fit(size);
    if (!fit || fit >= best_size) continue;
    best = chunk.get();
    best_size = fit;
  }
  if (!best) return nullptr;
  const Region::Piece piece = best->region.take(size);
  const cl_buffer_region part{piece.offset, size};
  cl_int status = CL_SUCCESS;
  MemoryHandle memory(
      clCreateSubBuffer(best->memory.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &part, &status));
  if (status != CL_SUCCESS) {
    best->region.give(piece.offset, size, piece.uses);
    health_.check(status, "making a part of a buffer");
  }
  return new Buffer{
      .memory = std::move(memory), .bytes = size, .chunk = best, .offset = piece.offset, .used_by = piece.uses};
}

Buffer* BufferPool::obtain(std::size_t size) {
  if (!options_.grow && !reserved_ && !reserve()) return nullptr;
  if (large(size)) {
    if (size > options_.largest || !release_until(size)) return nullptr;
    MemoryHandle memory = take(size);
    if (!memory) {
      release_until(options_.limit);
      memory = take(size);
    }
    if (!memory) return nullptr;
    return new Buffer{.memory = std::move(memory), .bytes = size};
  }
  if (Buffer* buffer = cut(size)) return buffer;
  if (kept_small_ >= std::min(chunk_bytes_, options_.limit / 16)) {
    join_small();
    if (Buffer* buffer = cut(size)) return buffer;
  }
  const std::size_t room = options_.limit - held_;
  if (options_.grow && room >= size && add_chunk(std::min(room, chunk_bytes_))) return cut(size);
  // Small blocks go back to their chunks, where neighbours become one; large ones make room for another chunk.
  const bool roomy = release_until(std::max(size, chunk_bytes_)) || release_until(size);
  if (Buffer* buffer = cut(size)) return buffer;
  if (options_.grow && roomy && add_chunk(std::min(options_.limit - held_, chunk_bytes_))) return cut(size);
  return nullptr;
}

bool BufferPool::add_chunk(std::size_t bytes) {
  MemoryHandle memory = take(bytes);
  if (!memory) return false;
  chunks_.push_back(std::make_unique<Chunk>(Chunk{std::move(memory), Region(bytes)}));
  return true;
}

MemoryHandle BufferPool::take(std::size_t bytes) {
  if (options_.of_host && !lend_host_memory(bytes)) return {};
  held_ += bytes;
  try {
    MemoryHandle memory = create(bytes);
    if (!memory) put_back(bytes);
    return memory;
  } catch (...) {
    put_back(bytes);
    throw;
  }
}

void BufferPool::put_back(std::size_t bytes) noexcept {
  held_ -= bytes;
  if (options_.of_host) take_back_host_memory(bytes);
}

bool BufferPool::reserve() {
  const std::size_t longest = options_.largest / options_.alignment * options_.alignment;
  while (held_ < options_.limit)
    if (!add_chunk(std::min(options_.limit - held_, longest))) return false;
  return reserved_ = true;
}

/// Null when the driver has none left.
MemoryHandle BufferPool::create(std::size_t bytes) const {
  if (fault(Fault::opencl_alloc)) return {};
  cl_int status = CL_SUCCESS;
  void* const block = options_.large_pages ? take_large_pages(bytes) : nullptr;
  // Host-allocated buffers are made at once; others at their first use, where PoCL can only abort.
  const cl_mem_flags place = block ? CL_MEM_USE_HOST_PTR : CL_MEM_ALLOC_HOST_PTR;
  MemoryHandle memory(clCreateBuffer(context_, CL_MEM_READ_WRITE | place, bytes, block, &status));
  // Commands may still use a buffer that was given up; the driver knows when the last has ended.
  const auto free_block = [](cl_mem, void* at) { std::free(at); };
  if (block && (!memory || clSetMemObjectDestructorCallback(memory.get(), free_block, block) != CL_SUCCESS)) {
    memory = {};
    std::free(block);
  }
  if (status != CL_SUCCESS && !is_out_of_memory(status)) health_.check(status, "making a buffer");
  return memory;
}

/// To its chunk or to the driver, which keeps the memory until the last command has used it.
void BufferPool::give_back(Buffer* buffer) {
  if (buffer->chunk) buffer->chunk->region.give(buffer->offset, buffer->bytes, buffer->used_by);
  else put_back(buffer->bytes);
  delete buffer;
}

/// All small blocks that are kept go back to their chunks, where neighbours become one.
void BufferPool::join_small() {
  for (auto& [size, buffers] : kept_)
    std::erase_if(buffers, [&](Buffer* buffer) {
      if (!buffer->chunk) return false;
      give_back(buffer);
      return true;
    });
  kept_small_ = 0;
}

/// Gives up kept blocks, the largest first, until `room` more bytes may be taken from the driver.
bool BufferPool::release_until(std::size_t room) {
  for (auto bin = kept_.rbegin(); bin != kept_.rend() && options_.limit - held_ < room; ++bin)
    for (; !bin->second.empty() && options_.limit - held_ < room; bin->second.pop_front()) {
      Buffer* buffer = bin->second.front();
      Chunk* chunk = buffer->chunk;
      if (chunk) kept_small_ -= buffer->bytes;
      give_back(buffer);
      if (chunk && chunk->region.empty()) drop_empty_chunks();
    }
  return options_.limit - held_ >= room;
}

void BufferPool::drop_empty_chunks() {
  if (!options_.grow) return;
  std::erase_if(chunks_, [&](const auto& chunk) {
    if (!chunk->region.empty()) return false;
    put_back(chunk->region.bytes());
    return true;
  });
}

void BufferPool::trim() {
  std::lock_guard lock(mutex_);
  for (auto& [size, buffers] : kept_)
    for (Buffer* buffer : buffers) give_back(buffer);
  kept_.clear();
  kept_small_ = 0;
  drop_empty_chunks();
}

}  // namespace tandem::opencl
