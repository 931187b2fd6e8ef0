#include "tandem/place/relisting.h"

#include <algorithm>
#include <utility>

#include "tandem/place/list_scheduler.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// [node, device]: how long it takes from the end of a node there to the end of the plan, its consumers where they are.
std::vector<double> time_after(const Problem& p, const Plan& plan, const std::vector<double>& latest) {
  std::vector<double> after(at(p.nodes) * at(p.devices));
  for (int v = 0; v < p.nodes; ++v)
    for (const Neighbour& c : p.consumers[v])
      for (int d = 0; d < p.devices; ++d) {
        double& longest = after[p.index(v, d)];
        longest =
            std::max(longest, p.crossing(d, plan.assignment[at(c.node)], c.bytes) + plan.makespan - latest[at(c.node)]);
      }
  return after;
}

/// What has to start first comes first; inputs before their consumers, whatever rounding does.
Order by_latest(const Problem& p, const Order& order, std::vector<double> latest) {
  for (auto node = order.rbegin(); node != order.rend(); ++node)
    for (const Neighbour& c : p.consumers[*node]) latest[at(*node)] = std::min(latest[at(*node)], latest[at(c.node)]);
  Order sorted = order;
  std::ranges::stable_sort(sorted, {}, [&](std::int32_t v) { return latest[at(v)]; });
  return sorted;
}

}  // namespace

void list_again(const Problem& problem, Decoder& decoder, Plan& plan, int rounds) {
  Plan now = plan;
  decoder.run(now.order, now.assignment);
  std::vector<double> latest;
  for (int round = 0; round < rounds; ++round) {
    latest_starts(problem, decoder, now.assignment, now.makespan, latest);
    const std::vector<double> after = time_after(problem, now, latest);
    now.order = by_latest(problem, now.order, latest);
    auto assignment = list_schedule(problem, now.order, {.look_ahead = true, .after = after});
    if (!assignment) return;
    const bool same = *assignment == now.assignment;
    now.assignment = std::move(*assignment);
    const double before = std::exchange(now.makespan, decoder.run(now.order, now.assignment));
    if (now.makespan < plan.makespan) plan = now;
    if (now.makespan == kNever || (same && now.makespan == before)) return;
  }
}

}  // namespace tandem::placer
