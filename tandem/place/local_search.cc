#include "tandem/place/local_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/place/device_moves.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

class Search : DeviceMoves<Search> {
  friend class DeviceMoves<Search>;

 public:
  Search(const Problem& problem, Decoder& decoder, Plan& best, std::int64_t work, std::uint64_t seed)
      : DeviceMoves(problem, seed), decoder_(decoder), best_(best), now_(best), position_(at(p_.nodes)),
        end_of_work_(decoder.work() + work), work_(work) {}

  void run() {
    if (p_.nodes < 2 || !accept_current()) return;
    while (decoder_.work() < end_of_work_ && best_.makespan > p_.bound * (1 + 1e-12)) step();
  }

 private:
  /// Decodes the current plan and looks where it has no slack; false when it cannot be carried out.
  bool accept_current() {
    now_.makespan = decoder_.run(now_.order, now_.assignment);
    if (now_.makespan == kNever) return false;
    note_current();
    return true;
  }

  void note_current() {
    if (now_.makespan < best_.makespan) {
      best_ = now_;
      since_best_ = 0;
    }
    latest_starts(p_, decoder_, now_.assignment, now_.makespan, latest_);
    ends_.assign(decoder_.ends().begin(), decoder_.ends().end());
    end_of_work_ -= p_.nodes;  // about as much as decoding
    critical_.clear();
    const double slack = 1e-9 * now_.makespan;
    for (int v = 0; v < p_.nodes; ++v)
      if (latest_[at(v)] - decoder_.starts()[at(v)] <= slack) critical_.push_back(v);
    for (std::size_t i = 0; i < now_.order.size(); ++i) position_[at(now_.order[i])] = static_cast<std::int32_t>(i);
  }

  /// How much worse a step may be: a few percent in the beginning, nothing in the end.
  double patience() const {
    const double left = static_cast<double>(end_of_work_ - decoder_.work()) / static_cast<double>(work_);
    return kPatience * left * left;
  }

  void step() {
    ++since_best_;
    if (since_best_ > kRestart) {
      now_ = best_;
      since_best_ = 0;
      accept_current();
    }
    const std::int32_t node = some_node();
    const std::uint32_t kind = random_.below(16);
    changed_.clear();
    moved_from_ = -1;
    if (kind < 2) earlier(node);
    else if (kind < 7) elsewhere(node);
    else if (kind < 10) elsewhere_with_neighbours(node);
    else elsewhere_with_cluster(node);
    if (changed_.empty() && moved_from_ < 0) {
      end_of_work_ -= 1;  // a graph without any possible change must end too
      return;
    }
    const double bound = now_.makespan * (1 + patience()) * (1 + 1e-12);
    const double makespan = decoder_.run(now_.order, now_.assignment, bound);
    if (makespan == kNever) return take_back();
    now_.makespan = makespan;
    note_current();
    if (since_best_ == 0) sort_by_latest();
  }

  auto& assignment() { return now_.assignment; }
  double end(std::int32_t node) const { return ends_[at(node)]; }
  double rest_from(std::int32_t node) const { return now_.makespan - latest_[at(node)]; }
  void about_to_move(std::int32_t, int) {}

  /// To a place in the order before what stands in its way, but after its inputs.
  void earlier(std::int32_t node) {
    std::int32_t first = 0;
    for (const Neighbour& input : p_.inputs[node]) first = std::max(first, position_[at(input.node)] + 1);
    const std::int32_t from = position_[at(node)];
    if (first >= from) return;
    const std::int32_t to = first + static_cast<std::int32_t>(random_.below(at(from - first)));
    rotate(from, to);
    moved_from_ = from;
    moved_to_ = to;
  }

  void rotate(std::int32_t from, std::int32_t to) {
    const auto begin = now_.order.begin();
    if (to < from) std::rotate(begin + to, begin + from, begin + from + 1);
    else std::rotate(begin + from, begin + from + 1, begin + to + 1);
  }

  void take_back() {
    if (moved_from_ >= 0) rotate(moved_to_, moved_from_);
    take_back_devices();
  }

  /// What is urgent first: often closes gaps that the old order had left.
  void sort_by_latest() {
    Plan sorted = now_;
    std::stable_sort(sorted.order.begin(), sorted.order.end(),
                     [&](std::int32_t a, std::int32_t b) { return latest_[at(a)] < latest_[at(b)]; });
    if (!is_topological(sorted.order)) return;
    sorted.makespan = decoder_.run(sorted.order, sorted.assignment, now_.makespan);
    if (sorted.makespan == kNever) return;
    now_ = std::move(sorted);
    note_current();
  }

  /// Nodes that take no time may tie with their inputs.
  bool is_topological(const Order& order) {
    sorted_position_.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) sorted_position_[at(order[i])] = static_cast<std::int32_t>(i);
    for (const std::int32_t v : order)
      for (const Neighbour& input : p_.inputs[v])
        if (sorted_position_[at(input.node)] > sorted_position_[at(v)]) return false;
    return true;
  }

  // Chosen by trying them on 81 graphs of 50 to 200 nodes; so are the shares of the kinds of steps.
  static constexpr double kPatience = 0.06;
  static constexpr int kRestart = 100;

  Decoder& decoder_;
  Plan& best_;
  Plan now_;
  std::vector<std::int32_t> position_, sorted_position_;
  std::vector<double> latest_, ends_;
  std::int32_t moved_from_ = -1, moved_to_ = -1;
  std::int64_t end_of_work_, work_;
  int since_best_ = 0;
};

}  // namespace

void latest_starts(const Problem& problem, const Decoder& decoder, std::span<const std::uint8_t> assignment,
                   double makespan, std::vector<double>& latest) {
  struct Activity {
    double start;
    std::int32_t index;  // of a node, or -1 - that of a copy
  };
  std::vector<Activity> activities;
  const auto copies = decoder.copies();
  activities.reserve(at(problem.nodes) + copies.size());
  for (int v = 0; v < problem.nodes; ++v) activities.push_back({decoder.starts()[at(v)], v});
  for (std::size_t i = 0; i < copies.size(); ++i) activities.push_back({copies[i].start, -1 - static_cast<std::int32_t>(i)});
  std::vector<std::int32_t> position(at(problem.nodes));
  for (std::size_t i = 0; i < problem.topological.size(); ++i) position[at(problem.topological[i])] = static_cast<std::int32_t>(i);
  const auto key = [&](const Activity& a) { return a.index >= 0 ? 2 * position[at(a.index)] : 2 * position[at(copies[at(-1 - a.index)].node)] + 1; };
  std::sort(activities.begin(), activities.end(), [&](const Activity& a, const Activity& b) {
    return a.start != b.start ? a.start > b.start : key(a) > key(b);
  });

  // The latest end of a value on a device, as its readers there have it so far.
  std::vector<double> needed(at(problem.nodes) * at(problem.devices), makespan);
  std::vector<double> device_free(at(problem.devices), makespan), link_free(at(problem.devices) * at(problem.devices), makespan);
  latest.assign(at(problem.nodes), 0);
  for (const Activity& a : activities) {
    if (a.index < 0) {
      const Copy& copy = copies[at(-1 - a.index)];
      double& free = link_free[problem.pair(copy.from, copy.to)];
      const double end = std::min(needed[problem.index(copy.node, copy.to)], free);
      free = end - (copy.end - copy.start);
      double& home = needed[problem.index(copy.node, copy.from)];
      home = std::min(home, free);
      continue;
    }
    const int device = assignment[at(a.index)];
    double end = std::min(needed[problem.index(a.index, device)], device_free[at(device)]);
    for (std::uint64_t others = problem.excludes[at(device)]; others; others &= others - 1)
      end = std::min(end, device_free[at(__builtin_ctzll(others))]);
    const double start = end - problem.us(a.index, device);
    latest[at(a.index)] = device_free[at(device)] = start;
    for (const Neighbour& input : problem.inputs[a.index]) {
      double& value = needed[problem.index(input.node, device)];
      value = std::min(value, start);
    }
  }
}

void improve(const Problem& problem, Decoder& decoder, Plan& plan, std::int64_t work, std::uint64_t seed) {
  Search(problem, decoder, plan, work, seed).run();
}

}  // namespace tandem::placer
