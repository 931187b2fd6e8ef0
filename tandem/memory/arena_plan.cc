#include "tandem/memory/arena_plan.h"

#include <algorithm>
#include <iterator>

#include "tandem/base/error.h"

namespace tandem {

void ArenaPlan::add_gap(std::size_t offset, std::size_t bytes) {
  gaps_[offset] = bytes;
  gaps_by_size_.insert({bytes, offset});
}

void ArenaPlan::remove_gap(std::map<std::size_t, std::size_t>::iterator gap) {
  gaps_by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

std::size_t ArenaPlan::take(std::size_t bytes) {
  bytes = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  std::size_t offset = size_;
  if (auto fit = gaps_by_size_.lower_bound({bytes, 0}); fit != gaps_by_size_.end()) {
    offset = fit->second;
    const std::size_t rest = fit->first - bytes;
    remove_gap(gaps_.find(offset));
    if (rest) add_gap(offset + bytes, rest);
  } else {
    // The last gap, if it touches the end, grows.
    if (!gaps_.empty() && std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == size_) {
      offset = std::prev(gaps_.end())->first;
      remove_gap(std::prev(gaps_.end()));
    }
    size_ = offset + bytes;
  }
  taken_[offset] = bytes;
  return offset;
}

void ArenaPlan::give_back(std::size_t offset) {
  const auto found = taken_.find(offset);
  TANDEM_CHECK(found != taken_.end(), "offset ", offset, " is not in use");
  std::size_t bytes = found->second;
  taken_.erase(found);
  if (auto after = gaps_.find(offset + bytes); after != gaps_.end()) {
    bytes += after->second;
    remove_gap(after);
  }
  if (auto at = gaps_.lower_bound(offset); at != gaps_.begin()) {
    if (auto before = std::prev(at); before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove_gap(before);
    }
  }
  add_gap(offset, bytes);
}

}  // namespace tandem
