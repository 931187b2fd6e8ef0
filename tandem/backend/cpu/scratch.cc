#include "tandem/backend/cpu/scratch.h"

#include <array>
#include <cstdlib>
#include <new>

namespace tandem::cpu {
namespace {

struct Buffer {
  void* address = nullptr;
  std::size_t bytes = 0;
  ~Buffer() { std::free(address); }
};

}  // namespace

void* scratch(ScratchUse use, std::size_t bytes) {
  static thread_local std::array<Buffer, static_cast<std::size_t>(ScratchUse::count)> buffers;
  Buffer& buffer = buffers[static_cast<std::size_t>(use)];
  if (buffer.address && buffer.bytes >= bytes) return buffer.address;
  constexpr std::size_t kPage = 4096;
  const std::size_t rounded = (bytes + kPage) / kPage * kPage;
  std::free(buffer.address);
  buffer.bytes = 0;
  buffer.address = std::aligned_alloc(64, rounded);
  if (!buffer.address) throw std::bad_alloc();
  buffer.bytes = rounded;
  return buffer.address;
}

}  // namespace tandem::cpu
