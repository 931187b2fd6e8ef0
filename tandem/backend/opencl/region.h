// Which parts of a chunk of memory are free: best fit, neighbours joined as they are freed.
#pragma once
#include <cstddef>
#include <map>
#include <set>

#include "tandem/backend/opencl/queue.h"

namespace tandem::opencl {

class Region {
 public:
  explicit Region(std::size_t bytes) : bytes_(bytes) { insert(0, bytes, {}); }

  std::size_t bytes() const { return bytes_; }
  std::size_t free_bytes() const { return free_bytes_; }
  bool empty() const { return free_bytes_ == bytes_; }
  /// The size of the free part that `bytes` would be cut from; 0 when none suffices.
  std::size_t best_fit(std::size_t bytes) const {
    auto found = by_size_.lower_bound({bytes, 0});
    return found == by_size_.end() ? 0 : found->first;
  }

  struct Piece {
    std::size_t offset;
    Uses uses;  // commands that may still be at work on it
  };
  /// `best_fit(bytes)` must not be 0.
  Piece take(std::size_t bytes);
  void give(std::size_t offset, std::size_t bytes, Uses uses);

 private:
  struct Part {
    std::size_t bytes;
    Uses uses;
  };
  using Parts = std::map<std::size_t, Part>;  // by offset

  void insert(std::size_t offset, std::size_t bytes, const Uses& uses);
  void erase(Parts::iterator part);

  std::size_t bytes_, free_bytes_ = 0;
  Parts free_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // size, offset
};

}  // namespace tandem::opencl
