#include "tandem/place/packing.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// [node]: the first node of its part.
std::vector<std::int32_t> find_parts(const Problem& p, std::int64_t least_bytes) {
  std::vector<std::int32_t> part(at(p.nodes));
  std::iota(part.begin(), part.end(), 0);
  const auto root = [&](std::int32_t v) {
    while (part[at(v)] != v) v = part[at(v)] = part[at(part[at(v)])];
    return v;
  };
  const auto join = [&](std::int32_t a, std::int32_t b) {
    const std::int32_t first = root(a), second = root(b);
    part[at(std::max(first, second))] = std::min(first, second);
  };
  for (std::int32_t v = 0; v < p.nodes; ++v)
    for (const Neighbour& c : p.consumers[v])
      if (c.bytes >= least_bytes) join(v, c.node);
  for (const auto& members : p.members)
    for (const std::int32_t v : members) join(members[0], v);
  for (std::int32_t v = 0; v < p.nodes; ++v) part[at(v)] = root(v);
  return part;
}

/// Largest part first, on the device that is then least busy; then back and forth as far as the steps go.
class Packing {
 public:
  Packing(const Problem& problem, std::vector<std::int32_t> part, std::int64_t steps)
      : p_(problem),
        part_(std::move(part)),
        steps_(steps),
        number_(at(p_.nodes), -1) {
    for (std::int32_t v = 0; v < p_.nodes; ++v) {
      std::int32_t& number = number_[at(part_[at(v)])];
      if (number < 0) number = count_++, cost_.resize(cost_.size() + at(p_.devices), 0.0);
      for (int d = 0; d < p_.devices; ++d) cost_[p_.pair(number, d)] += p_.may(v, d) ? p_.us(v, d) : kNever;
    }
    order_.resize(at(count_));
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::stable_sort(order_, std::greater<>{}, [&](std::int32_t part) { return least_cost(part); });
    loads_.resize(at(p_.devices));
    device_.resize(at(count_));
  }

  std::optional<Assignment> run() {
    if (count_ < 2 || count_ > kMostParts) return std::nullopt;
    search();
    if (best_.empty()) return std::nullopt;
    Assignment assignment(at(p_.nodes));
    for (std::int32_t v = 0; v < p_.nodes; ++v) assignment[at(v)] = best_[at(number_[at(part_[at(v)])])];
    return assignment;
  }

 private:
  double least_cost(std::int32_t part) const {
    return *std::min_element(cost_.begin() + part * p_.devices, cost_.begin() + (part + 1) * p_.devices);
  }

  static constexpr std::int32_t kMostParts = 1000;

  struct Choice {
    double end;  // of all parts that are on the device then
    int device;
  };
  /// The devices that are tried for a part, the best first.
  struct Level {
    std::array<Choice, kMostDevices> choices;
    int count = 0, next = 0;
  };

  void open(Level& level, std::int32_t part) const {
    level.count = level.next = 0;
    for (int d = 0; d < p_.devices; ++d)
      if (const double end = loads_[at(d)] + cost_[p_.pair(part, d)]; end < least_)
        level.choices[at(level.count++)] = {end, d};
    std::stable_sort(level.choices.begin(), level.choices.begin() + level.count,
                     [](const Choice& a, const Choice& b) { return a.end < b.end; });
  }

  /// Depth first without recursion: a graph may have many parts.
  void search() {
    std::vector<Level> levels(at(count_));
    open(levels[0], order_[0]);
    for (std::int32_t depth = 0; depth >= 0 && (best_.empty() || --steps_ > 0);) {
      Level& level = levels[at(depth)];
      const std::int32_t part = order_[at(depth)];
      if (level.next > 0) loads_[device_[at(part)]] -= cost_[p_.pair(part, device_[at(part)])];
      if (level.next == level.count || level.choices[at(level.next)].end >= least_) {
        level.next = 0;
        --depth;
        continue;
      }
      device_[at(part)] = static_cast<std::uint8_t>(level.choices[at(level.next++)].device);
      loads_[device_[at(part)]] += cost_[p_.pair(part, device_[at(part)])];
      if (depth + 1 < count_) {
        ++depth;
        open(levels[at(depth)], order_[at(depth)]);
      } else if (const double busiest = *std::ranges::max_element(loads_); busiest < least_) {
        least_ = busiest;
        best_ = device_;
      }
    }
  }

  const Problem& p_;
  const std::vector<std::int32_t> part_;
  std::int64_t steps_;
  std::vector<std::int32_t> number_;  // [first node of a part]
  std::int32_t count_ = 0;
  std::vector<double> cost_;          // [part, device]
  std::vector<std::int32_t> order_;   // of the parts
  std::vector<double> loads_;         // [device]
  std::vector<std::uint8_t> device_, best_;  // [part]
  double least_ = kNever;
};

}  // namespace

std::optional<Assignment> pack_parts(const Problem& problem, std::int64_t least_bytes, std::int64_t steps) {
  return Packing(problem, find_parts(problem, least_bytes), steps).run();
}

}  // namespace tandem::placer
