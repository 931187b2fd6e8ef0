// Rows of which several may go to one place: grouped by that place first, so that every place is written once, by one
// thread.
#pragma once
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {

/// Which rows go to which target, in the order of the rows.
class RowGroups {
 public:
  /// target(i): where row i goes, below `targets`; negative: nowhere.
  template <class Target>
  RowGroups(std::int64_t rows, std::int64_t targets, const Target& target)
      : begins_(static_cast<std::size_t>(targets) + 2),
        rows_(static_cast<std::size_t>(rows)) {
    for (std::int64_t i = 0; i < rows; ++i)
      if (const std::int64_t at = target(i); at >= 0) ++begins_[static_cast<std::size_t>(at) + 2];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    for (std::int64_t i = 0; i < rows; ++i)  // begins_[t + 1] moves from the group's begin to its end
      if (const std::int64_t at = target(i); at >= 0)
        rows_[static_cast<std::size_t>(begins_[static_cast<std::size_t>(at) + 1]++)] = static_cast<std::int32_t>(i);
  }

  /// Grouping costs something a row, and rows are counted by int32. Depends on the shapes only.
  static bool pays(std::int64_t rows, std::int64_t row_bytes) {
    return row_bytes >= 64 && rows <= std::numeric_limits<std::int32_t>::max();
  }

  std::span<const std::int32_t> of(std::int64_t target) const {
    const auto at = static_cast<std::size_t>(target);
    return {rows_.data() + begins_[at], rows_.data() + begins_[at + 1]};
  }
  std::int64_t targets() const { return static_cast<std::int64_t>(begins_.size()) - 2; }
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }

 private:
  std::vector<std::int32_t> begins_;  // group t lies between begins_[t] and begins_[t + 1]
  std::vector<std::int32_t> rows_;
};

/// to[target] = start, then put(to, row) for each of its rows in their order. Rows and targets have `inner` elements
/// each. start(first, last) writes elements of `to` before anything is put there. Rows that are long are cut as well,
/// so that a target that gets most of the rows does not leave the other threads without work.
template <class T, class Start, class Put>
void put_groups(const RowGroups& groups, std::int64_t inner, const T* rows, T* to, const Start& start, const Put& put) {
  constexpr std::int64_t kColumns = 512;
  const std::int64_t targets = groups.targets(), blocks = (inner + kColumns - 1) / kColumns;
  if (targets == 0) return;
  const std::int64_t bytes =
      (groups.rows() / targets + 1) * std::min(inner, kColumns) * static_cast<std::int64_t>(sizeof(T));
  parallel_ranges(targets * blocks, bytes, [&](std::int64_t first, std::int64_t last) {
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t column = i % blocks * kColumns, target = i / blocks,
                           count = std::min(kColumns, inner - column);
        const std::int64_t at = target * inner + column;
        start(at, at + count);
        T* __restrict out = to + at;
        for (const std::int32_t row : groups.of(target)) {
          const T* __restrict from = rows + row * inner + column;
          for (std::int64_t k = 0; k < count; ++k) out[k] = put(out[k], from[k]);
        }
      }
    });
  });
}

}  // namespace tandem::cpu
