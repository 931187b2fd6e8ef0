// From value ids to slot numbers: the only look-up a tape makes for each operand of each op.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem {

/// Open addressing; ids are never 0 and never removed.
class IdMap {
 public:
  static constexpr std::int32_t kNone = -1;

  std::int32_t find(std::uint64_t id) const {
    if (cells_.empty()) return kNone;
    for (std::size_t at = start(id);; at = (at + 1) & (cells_.size() - 1)) {
      if (cells_[at].id == id) return cells_[at].slot;
      if (cells_[at].id == 0) return kNone;
    }
  }

  /// The slot of `id`; the next free number when it is new.
  std::int32_t insert(std::uint64_t id) {
    if (2 * (static_cast<std::size_t>(count_) + 1) > cells_.size()) grow();
    std::size_t at = start(id);
    for (; cells_[at].id != 0; at = (at + 1) & (cells_.size() - 1))
      if (cells_[at].id == id) return cells_[at].slot;
    cells_[at] = {id, count_};
    return count_++;
  }

  std::int32_t size() const { return count_; }
  void clear() {
    cells_.assign(cells_.size(), {});
    count_ = 0;
  }

 private:
  struct Cell {
    std::uint64_t id = 0;
    std::int32_t slot = 0;
  };
  std::size_t start(std::uint64_t id) const { return (id * 0x9E3779B97F4A7C15ull >> 20) & (cells_.size() - 1); }
  void grow() {
    std::vector<Cell> old = std::move(cells_);
    cells_.assign(old.empty() ? 64 : 2 * old.size(), {});
    for (const Cell& cell : old) {
      if (cell.id == 0) continue;
      std::size_t at = start(cell.id);
      while (cells_[at].id != 0) at = (at + 1) & (cells_.size() - 1);
      cells_[at] = cell;
    }
  }
  std::vector<Cell> cells_;
  std::int32_t count_ = 0;
};

}  // namespace tandem
