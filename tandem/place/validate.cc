#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tandem/base/text.h"
#include "tandem/place/schedule.h"

namespace tandem {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

struct Span {
  double start, end;
  std::string what;
};

/// Knows nothing of how the schedule was found: it reads the rules only.
class Validator {
 public:
  Validator(const Schedule& schedule, const PlaceGraph& graph, const Machine& machine)
      : s_(schedule),
        g_(graph),
        m_(machine),
        slack_(1e-9 * std::max(1.0, schedule.makespan_us)) {}

  std::vector<std::string> run() {
    if (s_.nodes.size() != g_.nodes.size())
      return {text("the schedule has ", s_.nodes.size(), " nodes, the graph ", g_.nodes.size())};
    for (const Placement& n : s_.nodes)
      if (n.device < 0 || n.device >= static_cast<int>(m_.devices.size()))
        return {text("a node is on device ", n.device, ", which does not exist")};
    check_nodes();
    index_copies();
    check_inputs();
    check_devices();
    check_links();
    check_memory();
    return std::move(complaints_);
  }

 private:
  template <class... Parts>
  void complain(const Parts&... parts) {
    complaints_.push_back(text(parts...));
  }
  const std::string& id(int node) const { return g_.nodes[at(node)].id; }
  const std::string& device(int d) const { return m_.devices[at(d)].name; }
  bool before(double a, double b) const { return a < b - slack_; }
  bool differ(double a, double b) const { return std::abs(a - b) > slack_; }

  void check_nodes() {
    double last = 0;
    for (std::size_t v = 0; v < s_.nodes.size(); ++v) {
      const Placement& n = s_.nodes[v];
      const auto& costs = g_.nodes[v].costs;
      last = std::max(last, n.finish_us);
      if (!(n.start_us >= 0)) complain(g_.nodes[v].id, " starts at ", n.start_us);
      if (costs.empty()) continue;  // by the model
      const auto cost =
          std::ranges::find_if(costs, [&](const PlaceNode::Cost& c) { return m_.find(c.device) == n.device; });
      if (cost == costs.end()) complain(g_.nodes[v].id, " is on ", device(n.device), ", where it cannot run");
      else if (before(n.finish_us - n.start_us, cost->us))
        complain(g_.nodes[v].id, " takes ", n.finish_us - n.start_us, " us, needs ", cost->us);
    }
    if (differ(last, s_.makespan_us))
      complain("the makespan is said to be ", s_.makespan_us, ", the last node ends at ", last);
  }

  void index_copies() {
    for (const PlaceCopy& copy : s_.copies)
      if (!copies_.emplace(std::pair(copy.node, copy.to), &copy).second)
        complain(id(copy.node), " crosses to ", device(copy.to), " twice");
  }

  void check_inputs() {
    for (const PlaceEdge& edge : g_.edges) {
      const Placement &from = s_.nodes[at(edge.from)], &to = s_.nodes[at(edge.to)];
      if (from.device == to.device) {
        if (before(to.start_us, from.finish_us))
          complain(id(edge.to), " starts before its input ", id(edge.from), " ends");
        continue;
      }
      const auto found = copies_.find({edge.from, to.device});
      if (found == copies_.end()) {
        complain(id(edge.to), " reads ", id(edge.from), ", which never crosses to ", device(to.device));
        continue;
      }
      if (before(to.start_us, found->second->finish_us))
        complain(id(edge.to), " starts before the copy of ", id(edge.from), " has arrived");
      if (found->second->bytes < edge.bytes)
        complain("the copy of ", id(edge.from), " carries ", found->second->bytes, " bytes, ", id(edge.to), " needs ",
                 edge.bytes);
    }
  }

  void check_apart(std::vector<Span> spans, const std::string& where) {
    std::ranges::stable_sort(
        spans, [](const Span& a, const Span& b) { return a.start != b.start ? a.start < b.start : a.end < b.end; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      if (before(spans[i].start, spans[i - 1].end))
        complain(where, " does ", spans[i - 1].what, " and ", spans[i].what, " at once");
  }

  void check_devices() {
    std::set<std::pair<int, int>> checked;
    for (int d = 0; d < static_cast<int>(m_.devices.size()); ++d)
      for (int e = d; e < static_cast<int>(m_.devices.size()); ++e) {
        const auto& cores = m_.devices[at(e)].cores;
        const bool exclude = d == e || std::ranges::any_of(m_.devices[at(d)].cores, [&](int core) {
                               return std::ranges::find(cores, core) != cores.end();
                             });
        if (!exclude) continue;
        std::vector<Span> spans;
        for (std::size_t v = 0; v < s_.nodes.size(); ++v)
          if (s_.nodes[v].device == d || s_.nodes[v].device == e)
            spans.push_back({s_.nodes[v].start_us, s_.nodes[v].finish_us, g_.nodes[v].id});
        check_apart(std::move(spans), d == e ? device(d) : device(d) + " with " + device(e));
      }
  }

  void check_links() {
    std::map<std::pair<int, int>, std::vector<Span>> links;
    for (const PlaceCopy& copy : s_.copies) {
      const MachineLink* link = m_.link(device(copy.from), device(copy.to));
      if (!link) {
        complain(id(copy.node), " crosses from ", device(copy.from), " to ", device(copy.to),
                 ", where there is no link");
        continue;
      }
      if (copy.from != s_.nodes[at(copy.node)].device)
        complain(id(copy.node), " is copied from ", device(copy.from), ", where it is not made");
      if (before(copy.start_us, s_.nodes[at(copy.node)].finish_us))
        complain(id(copy.node), " is copied before it is there");
      if (before(copy.finish_us - copy.start_us, link->microseconds(copy.bytes)))
        complain("the copy of ", id(copy.node), " is too fast");
      links[{copy.from, copy.to}].push_back({copy.start_us, copy.finish_us, "the copy of " + id(copy.node)});
    }
    for (auto& [ends, spans] : links)
      check_apart(std::move(spans), text("the link from ", device(ends.first), " to ", device(ends.second)));
  }

  /// An output stays until its last reader at home and its last copy have ended, a copy until its last reader there.
  void check_memory() {
    std::vector<std::vector<std::pair<double, std::int64_t>>> changes(m_.devices.size());
    std::map<std::pair<int, int>, double> last_read;  // (node, device)
    for (const PlaceEdge& edge : g_.edges) {
      const Placement& reader = s_.nodes[at(edge.to)];
      double& last = last_read[{edge.from, reader.device}];
      last = std::max(last, reader.finish_us);
    }
    for (const PlaceCopy& copy : s_.copies) {
      double& home = last_read[{copy.node, copy.from}];
      home = std::max(home, copy.finish_us);
    }
    const auto stay = [&](int node, int d, double from) {
      const std::int64_t bytes = g_.nodes[at(node)].memory;
      changes[at(d)].emplace_back(from, bytes);
      if (const auto last = last_read.find({node, d}); last != last_read.end())
        changes[at(d)].emplace_back(last->second - slack_, -bytes);
    };
    for (int v = 0; v < static_cast<int>(s_.nodes.size()); ++v)
      stay(v, s_.nodes[at(v)].device, s_.nodes[at(v)].start_us);
    for (const PlaceCopy& copy : s_.copies) stay(copy.node, copy.to, copy.start_us);
    for (std::size_t d = 0; d < changes.size(); ++d) {
      std::ranges::sort(changes[d]);
      std::int64_t taken = 0;
      for (const auto& [time, bytes] : changes[d]) {
        taken += bytes;
        if (taken > m_.devices[d].memory) {
          complain(m_.devices[d].name, " holds ", taken, " bytes at ", time, " us, ", m_.devices[d].memory,
                   " are there");
          break;
        }
      }
    }
  }

  const Schedule& s_;
  const PlaceGraph& g_;
  const Machine& m_;
  const double slack_;
  std::map<std::pair<int, int>, const PlaceCopy*> copies_;  // (node, to)
  std::vector<std::string> complaints_;
};

}  // namespace

std::vector<std::string> validate(const Schedule& schedule, const PlaceGraph& graph, const Machine& machine) {
  return Validator(schedule, graph, machine).run();
}

}  // namespace tandem
