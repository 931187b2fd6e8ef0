#include "tandem/place/reasons.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "tandem/base/text.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

constexpr int kMostLookedAt = 2000;

/// Three figures are enough for people: "12.3 us".
std::string us_text(double us) {
  std::ostringstream out;
  out << std::setprecision(3) << (us >= 1e3 ? us / 1e3 : us) << (us >= 1e3 ? " ms" : " us");
  return out.str();
}

class Explainer {
 public:
  Explainer(Schedule& schedule, const Problem& problem, const PlaceGraph& graph, const Machine& machine,
            const Constraints& constraints)
      : schedule_(schedule),
        p_(problem),
        graph_(graph),
        machine_(machine),
        constraints_(constraints) {}

  void run() {
    note_transfers();
    for (int node = 0; node < p_.nodes; ++node) {
      Placement& placement = schedule_.nodes[at(node)];
      placement.launch_us = std::min(p_.launch[p_.index(node, placement.device)], p_.us(node, placement.device));
      fill_candidates(node, placement);
      const auto [reason, sentence] = why(node, placement.device);
      placement.reason = reason;
      placement.text = sentence;
    }
  }

 private:
  using Why = std::pair<ReasonCode, std::string>;

  const std::string& name(int device) const { return machine_.devices[at(device)].name; }

  /// A copy is counted for the first node that waits for it.
  void note_transfers() {
    for (const PlaceCopy& copy : schedule_.copies) {
      Placement* first = nullptr;
      for (const Neighbour& c : p_.consumers[copy.node]) {
        Placement& reader = schedule_.nodes[at(c.node)];
        if (reader.device == copy.to && (!first || reader.start_us < first->start_us)) first = &reader;
      }
      if (!first) continue;
      first->transfer_us += copy.finish_us - copy.start_us;
      first->bytes_moved += copy.bytes;
    }
  }

  std::string refusal_text(int node, int device) const {
    for (const PlaceNode::Refusal& refusal : graph_.nodes[at(node)].refusals)
      if (machine_.find(refusal.device) == device) return refusal.reason;
    switch (p_.refusal[p_.index(node, device)]) {
      case Refusal::none: return "";
      case Refusal::no_kernel: return "no kernel";
      case Refusal::not_visible: return "not visible";
      case Refusal::not_requested: return "another device was requested";
      case Refusal::memory: return "not enough memory for it and its inputs";
      case Refusal::no_link: return "no link, or not where its group must be";
      case Refusal::host_value: return "a small host value stays on the host";
    }
    return "";
  }

  void fill_candidates(int node, Placement& placement) const {
    for (int d = 0; d < p_.devices; ++d) {
      const double us = p_.us(node, d);
      placement.candidates.push_back({d, us == kNever ? 0 : us, refusal_text(node, d)});
    }
  }

  Why why(int node, int device) const {
    const PlaceNode& n = graph_.nodes[at(node)];
    if (p_.gave_way[at(node)]) return gave_way(node, device);
    if (!n.requested.empty()) return {ReasonCode::requested, text(n.requested, " was requested")};
    if (p_.devices == 1) return {ReasonCode::only_device, text(name(device), " is the only device")};
    if (any_refused(node, Refusal::host_value))
      return {ReasonCode::host_value, text("a small host value, kept on ", name(device))};
    const std::uint64_t mask = p_.allowed[at(node)];
    if ((mask & (mask - 1)) == 0) return no_choice(node, device);
    if (n.together) return {ReasonCode::colocated, text("must share the device of ", graph_.nodes[at(*n.together)].id)};
    return chosen(node, device);
  }

  Why gave_way(int node, int device) const {
    const std::string& wanted = graph_.nodes[at(node)].requested;
    const ReasonCode reason = *p_.gave_way[at(node)];
    const char* cause = reason == ReasonCode::device_missing ? " does not exist here"
                        : reason == ReasonCode::no_kernel    ? " has no kernel for it"
                        : reason == ReasonCode::memory       ? " has not enough memory for it"
                                                             : " is not visible";
    return {reason, text(wanted, " was requested but", cause, "; runs on ", name(device))};
  }

  bool any_refused(int node, Refusal refusal) const {
    for (int d = 0; d < p_.devices; ++d)
      if (p_.refusal[p_.index(node, d)] == refusal) return true;
    return false;
  }

  Why no_choice(int node, int device) const {
    if (any_refused(node, Refusal::memory))
      return {ReasonCode::memory, text("only ", name(device), " has room for it and its inputs")};
    if (any_refused(node, Refusal::no_kernel))
      return {ReasonCode::no_kernel, text("no other device has a kernel for it")};
    if (graph_.nodes[at(node)].together) return {ReasonCode::colocated, "its group can only be there"};
    if (any_refused(node, Refusal::no_link))
      return {ReasonCode::near_its_data, "no link leads elsewhere and back to its neighbours"};
    return {ReasonCode::only_device, text(name(device), " is the only visible device")};
  }

  int cheapest(int node, bool without_contention) const {
    int best = -1;
    double least = kNever;
    for (int d = 0; d < p_.devices; ++d) {
      if (!p_.may(node, d)) continue;
      const double us = p_.us(node, d) / (without_contention ? slowdown(d) : 1);
      if (us < least) least = us, best = d;
    }
    return best;
  }

  double slowdown(int device) const {
    for (const auto& slow : constraints_.contention)
      if (machine_.find(slow.device) == device && slow.factor > 0) return slow.factor;
    return 1;
  }

  Why chosen(int node, int device) const {
    const int quiet = cheapest(node, true), best = cheapest(node, false);
    const double here = p_.us(node, device);
    if (quiet != device && slowdown(quiet) > 1 && here <= p_.us(node, quiet))
      return {ReasonCode::contention, text(name(quiet), " is slowed ", slowdown(quiet), " times by others: ",
                                           us_text(p_.us(node, quiet)), " there, ", us_text(here), " here")};
    if (here <= p_.us(node, best)) return cheap_here(node, device);
    return dearer_here(node, device, best);
  }

  /// It computes fastest here.
  Why cheap_here(int node, int device) const {
    int other = -1;
    for (int d = 0; d < p_.devices; ++d)
      if (d != device && p_.may(node, d) && (other < 0 || p_.us(node, d) < p_.us(node, other))) other = d;
    const double here = p_.us(node, device), there = p_.us(node, other);
    const std::string costs = text(us_text(here), " here, ", us_text(there), " on ", name(other));
    if (const auto& work = graph_.nodes[at(node)].work) {
      const CostParts parts = predict(*work, machine_.devices[at(other)], machine_.measured);
      if (parts.bound == CostParts::Bound::depth && parts.compute >= parts.launch)
        return {ReasonCode::sequential, text(work->depth, " steps that follow each other: ", costs)};
      if (parts.bound == CostParts::Bound::launch && work->launches > 1)
        return {ReasonCode::sequential, text(work->launches, " kernels that follow each other: ", costs)};
      if (parts.launch >= here)
        return {ReasonCode::too_small, text("less work than a launch on ", name(other), ": ", costs)};
    }
    return {ReasonCode::cheaper_here, costs};
  }

  /// What its values would have to cross if it were on `device`, with and without their bytes.
  std::pair<double, double> crossings(int node, int device) const {
    double all = 0, empty = 0;
    const auto add = [&](int from, int to, std::int64_t bytes) {
      if (from == to || !p_.linked(from, to)) return;
      all += p_.crossing(from, to, bytes);
      empty += p_.crossing(from, to, 0);
    };
    for (const Neighbour& input : p_.inputs[node]) add(schedule_.nodes[at(input.node)].device, device, input.bytes);
    std::uint64_t seen = 0;
    for (const Neighbour& c : p_.consumers[node]) {
      const int to = schedule_.nodes[at(c.node)].device;
      if (!(seen >> to & 1)) add(device, to, c.bytes);
      seen |= std::uint64_t{1} << to;
    }
    return {all, empty};
  }

  /// Another device would compute it faster, but it ends earlier here.
  Why dearer_here(int node, int device, int best) const {
    const double gain = p_.us(node, device) - p_.us(node, best);
    const auto [there, there_empty] = crossings(node, best);
    const auto [now, now_empty] = crossings(node, device);
    const std::string faster = text(name(best), " would be ", us_text(gain), " faster");
    if (there_empty - now_empty >= gain)
      return {ReasonCode::too_small,
              text(faster, ", less than the latency of its copies (", us_text(there_empty - now_empty), ")")};
    if (there - now >= gain)
      return {ReasonCode::near_its_data, text(faster, ", but its copies would take ", us_text(there - now), " more")};
    // Looking at the memory costs the whole graph: large ones go without.
    if (p_.limited[at(best)] && p_.nodes <= kMostLookedAt &&
        free_bytes(best, schedule_.nodes[at(node)].start_us) < p_.memory[at(node)])
      return {ReasonCode::memory, text(faster, ", but has no room for its output then")};
    return {ReasonCode::cheaper_here, text(faster, ", but the whole ends first this way")};
  }

  /// As the schedule stands at a time.
  std::int64_t free_bytes(int device, double time) const {
    std::int64_t free = p_.capacity[at(device)];
    const auto read_later = [&](int value) {
      const bool read = std::ranges::any_of(p_.consumers[value], [&](const Neighbour& c) {
        const Placement& reader = schedule_.nodes[at(c.node)];
        return reader.device == device && reader.finish_us > time;
      });
      return read || p_.consumers[value].empty();
    };
    for (int v = 0; v < p_.nodes; ++v) {
      const Placement& n = schedule_.nodes[at(v)];
      if (n.device == device && n.start_us <= time && read_later(v)) free -= p_.memory[at(v)];
    }
    for (const PlaceCopy& copy : schedule_.copies)
      if (copy.to == device && copy.start_us <= time && read_later(copy.node)) free -= p_.memory[at(copy.node)];
    return free;
  }

  Schedule& schedule_;
  const Problem& p_;
  const PlaceGraph& graph_;
  const Machine& machine_;
  const Constraints& constraints_;
};

}  // namespace

void explain_placements(Schedule& schedule, const Problem& problem, const PlaceGraph& graph, const Machine& machine,
                        const Constraints& constraints) {
  Explainer(schedule, problem, graph, machine, constraints).run();
}

}  // namespace tandem::placer
