// Elements kept in memory: stacked in chunks while they look alike, so that they can be gathered; else one by one.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/data/structure.h"

namespace tandem::data {

class Table {
 public:
  void append(Element element);
  /// Stacks what is left over; call once, after the last append.
  void finish();

  std::int64_t count() const { return count_; }
  /// True when every element had the same shapes.
  bool uniform() const { return uniform_; }
  void element(std::int64_t number, Element& out) const;
  /// Of a uniform table only.
  void gather(std::span<const std::int64_t> numbers, Element& out) const;

 private:
  static constexpr std::int64_t kChunk = 1024;
  void close_chunk();
  Tensor gather_leaf(std::size_t leaf, std::span<const std::int64_t> numbers) const;

  std::vector<Element> chunks_;  // kChunk elements stacked, the last may have fewer
  std::vector<Element> loose_;   // not stacked yet; all of them once the table is not uniform
  std::int64_t count_ = 0;
  bool uniform_ = true;
};

}  // namespace tandem::data
