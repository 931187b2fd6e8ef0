#include "tandem/backend/opencl/region.h"

namespace tandem::opencl {

Region::Piece Region::take(std::size_t bytes) {
  const auto found = free_.find(by_size_.lower_bound({bytes, 0})->second);
  const auto [offset, part] = *found;
  erase(found);
  if (part.bytes > bytes) insert(offset + bytes, part.bytes - bytes, part.uses);
  return {offset, part.uses};
}

void Region::give(std::size_t offset, std::size_t bytes, Uses uses) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second.bytes;
    uses.merge(next->second.uses);
    erase(next++);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == offset) {
      offset = before->first;
      bytes += before->second.bytes;
      uses.merge(before->second.uses);
      erase(before);
    }
  }
  insert(offset, bytes, uses);
}

void Region::insert(std::size_t offset, std::size_t bytes, const Uses& uses) {
  free_.emplace(offset, Part{bytes, uses});
  by_size_.emplace(bytes, offset);
  free_bytes_ += bytes;
}

void Region::erase(Parts::iterator part) {
  by_size_.erase({part->second.bytes, part->first});
  free_bytes_ -= part->second.bytes;
  free_.erase(part);
}

}  // namespace tandem::opencl
