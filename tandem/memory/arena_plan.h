// A static memory plan: where in one arena each value of a plan lies, so that values whose lives do not meet share
// bytes.
#pragma once
#include <cstddef>
#include <map>
#include <set>

namespace tandem {

/// Simulates the run: take() when a value is made, give_back() after its last use. Best fit over the gaps, which are
/// joined again when neighbours are free: n log n, and the same offsets for the same sequence.
class ArenaPlan {
 public:
  static constexpr std::size_t kAlignment = 64;

  std::size_t take(std::size_t bytes);
  void give_back(std::size_t offset);
  /// Bytes of the arena: the most that was in use, gaps included.
  std::size_t size() const { return size_; }

 private:
  void add_gap(std::size_t offset, std::size_t bytes);
  void remove_gap(std::map<std::size_t, std::size_t>::iterator gap);

  std::size_t size_ = 0;
  std::map<std::size_t, std::size_t> taken_;                       // offset -> bytes
  std::map<std::size_t, std::size_t> gaps_;                        // offset -> bytes
  std::set<std::pair<std::size_t, std::size_t>> gaps_by_size_;     // (bytes, offset)
};

}  // namespace tandem
