#include <utility>

#include "tandem/place/problem.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::uint64_t reach(const std::vector<std::uint64_t>& from, std::uint64_t mask) {
  std::uint64_t all = 0;
  for (; mask; mask &= mask - 1) all |= from[at(__builtin_ctzll(mask))];
  return all;
}

}  // namespace

LinkPruner::LinkPruner(const Problem& problem)
    : problem_(problem),
      onward_(at(problem.devices)),
      backward_(at(problem.devices)),
      queued_(problem.members.size()) {
  for (int a = 0; a < problem.devices; ++a)
    for (int b = 0; b < problem.devices; ++b)
      if (problem.linked(a, b)) onward_[at(a)] |= std::uint64_t{1} << b, backward_[at(b)] |= std::uint64_t{1} << a;
}

void LinkPruner::enqueue(std::int32_t group) {
  if (!std::exchange(queued_[at(group)], 1)) work_.push_back(group);
}

bool LinkPruner::narrow(std::vector<std::uint64_t>& masks, std::int32_t group, std::uint64_t kept,
                        std::vector<Change>* trail) {
  std::uint64_t& mask = masks[at(group)];
  if ((mask & ~kept) == 0) return true;
  if (trail) trail->push_back({group, mask});
  mask &= kept;
  enqueue(group);
  return mask != 0;
}

int LinkPruner::spread(std::vector<std::uint64_t>& masks, std::int32_t group, std::vector<Change>* trail) {
  const std::uint64_t forth = reach(onward_, masks[at(group)]), back = reach(backward_, masks[at(group)]);
  for (const std::int32_t node : problem_.members[at(group)]) {
    for (const Neighbour& c : problem_.consumers[node])
      if (const std::int32_t other = problem_.group[at(c.node)]; other != group && !narrow(masks, other, forth, trail))
        return other;
    for (const Neighbour& i : problem_.inputs[node])
      if (const std::int32_t other = problem_.group[at(i.node)]; other != group && !narrow(masks, other, back, trail))
        return other;
  }
  return -1;
}

int LinkPruner::run(std::vector<std::uint64_t>& masks, int changed, std::vector<Change>* trail) {
  if (problem_.all_linked) return -1;
  if (changed >= 0) enqueue(changed);
  else
    for (std::size_t g = masks.size(); g > 0; --g) enqueue(static_cast<std::int32_t>(g - 1));
  int stuck = -1;
  while (!work_.empty()) {
    const std::int32_t group = work_.back();
    work_.pop_back();
    queued_[at(group)] = 0;
    if (stuck < 0) stuck = spread(masks, group, trail);
  }
  return stuck;
}

void LinkPruner::undo(std::vector<std::uint64_t>& masks, std::vector<Change>& trail, std::size_t from) {
  while (trail.size() > from) {
    masks[at(trail.back().group)] = trail.back().before;
    trail.pop_back();
  }
}

}  // namespace tandem::placer
