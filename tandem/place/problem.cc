#include "tandem/place/problem.h"

#include <cmath>
#include <numeric>
#include <queue>

#include "tandem/base/error.h"

namespace tandem::placer {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// `nodes[3] "dense/matmul"`: the place in a file, and the name.
std::string place_of(const PlaceGraph& graph, int node) {
  return text("nodes[", node, "] \"", graph.nodes[at(node)].id, "\"");
}

std::string names(const Machine& machine, std::uint64_t mask) {
  std::vector<std::string> list;
  for (int d = 0; d < static_cast<int>(machine.devices.size()); ++d)
    if (mask >> d & 1) list.push_back(machine.devices[at(d)].name);
  return list.empty() ? "no device" : join(list);
}

class Builder {
 public:
  Builder(const PlaceGraph& graph, const Machine& machine, const Constraints& constraints)
      : graph_(graph),
        machine_(machine),
        constraints_(constraints) {}

  Problem build() {
    check_machine();
    p_.nodes = static_cast<int>(graph_.nodes.size());
    p_.devices = static_cast<int>(machine_.devices.size());
    join_edges();
    sort_topologically();
    fill_links();
    fill_memory();
    fill_costs();
    join_groups();
    for (int node = 0; node < p_.nodes; ++node) restrict_devices(node);
    apply_links_and_groups();
    fill_tails();
    fill_ranks();
    fill_bound();
    return std::move(p_);
  }

 private:
  void check_machine() {
    if (machine_.devices.empty()) fail(ErrorCode::invalid_argument, "place: the machine has no devices");
    if (machine_.devices.size() > kMostDevices)
      fail(ErrorCode::invalid_argument, "place: the machine has ", machine_.devices.size(), " devices; at most ",
           kMostDevices);
    if (graph_.nodes.size() > kMostPlaceNodes)
      fail(ErrorCode::invalid_argument, "place: the graph has ", graph_.nodes.size(), " nodes; at most ",
           kMostPlaceNodes);
    visible_ = constraints_.visible.empty() ? ~std::uint64_t{0} : 0;
    for (const std::string& name : constraints_.visible) {
      const auto device = machine_.find(name);
      if (!device)
        fail(ErrorCode::device_unavailable, "place: ", name, " should be visible, but the machine has only ",
             machine_.device_names());
      visible_ |= std::uint64_t{1} << *device;
    }
  }

  void join_edges() {
    struct Edge {
      std::int32_t from, to;
      std::int64_t bytes;
    };
    std::vector<Edge> edges;
    edges.reserve(graph_.edges.size());
    for (std::size_t i = 0; i < graph_.edges.size(); ++i) {
      const PlaceEdge& e = graph_.edges[i];
      if (e.from < 0 || e.to < 0 || e.from >= p_.nodes || e.to >= p_.nodes)
        fail(ErrorCode::invalid_argument, "place: edges[", i, "] joins nodes ", e.from, " and ", e.to, "; there are ",
             p_.nodes);
      if (e.bytes < 0) fail(ErrorCode::invalid_argument, "place: edges[", i, "] carries ", e.bytes, " bytes");
      edges.push_back({e.from, e.to, e.bytes});
    }
    std::stable_sort(edges.begin(), edges.end(),
                     [](const Edge& a, const Edge& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
    std::size_t kept = 0;
    for (const Edge& e : edges) {
      if (kept && edges[kept - 1].from == e.from && edges[kept - 1].to == e.to)
        edges[kept - 1].bytes = std::max(edges[kept - 1].bytes, e.bytes);
      else edges[kept++] = e;
    }
    edges.resize(kept);
    fill_adjacency(edges, p_.consumers, [](const Edge& e) { return std::pair(e.from, e.to); });
    fill_adjacency(edges, p_.inputs, [](const Edge& e) { return std::pair(e.to, e.from); });
  }

  template <class Edges, class Ends>
  void fill_adjacency(const Edges& edges, Adjacency& adjacency, Ends ends) {
    adjacency.begin.assign(at(p_.nodes) + 1, 0);
    adjacency.list.resize(edges.size());
    for (const auto& e : edges) ++adjacency.begin[at(ends(e).first) + 1];
    std::partial_sum(adjacency.begin.begin(), adjacency.begin.end(), adjacency.begin.begin());
    std::vector<std::int32_t> next(adjacency.begin.begin(), adjacency.begin.end() - 1);
    for (const auto& e : edges) adjacency.list[at(next[at(ends(e).first)]++)] = {ends(e).second, e.bytes};
  }

  void sort_topologically() {
    std::vector<std::int32_t> waiting(at(p_.nodes));
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
    for (int node = 0; node < p_.nodes; ++node) {
      waiting[at(node)] = static_cast<std::int32_t>(p_.inputs[node].size());
      if (waiting[at(node)] == 0) ready.push(node);
    }
    while (!ready.empty()) {
      const std::int32_t node = ready.top();
      ready.pop();
      p_.topological.push_back(node);
      for (const Neighbour& c : p_.consumers[node])
        if (--waiting[at(c.node)] == 0) ready.push(c.node);
    }
    if (static_cast<int>(p_.topological.size()) < p_.nodes) fail_with_cycle(waiting);
  }

  /// Every node that still waits has an input that waits too: following them backwards must close.
  [[noreturn]] void fail_with_cycle(const std::vector<std::int32_t>& waiting) {
    int node = 0;
    while (waiting[at(node)] == 0) ++node;
    std::vector<char> seen(at(p_.nodes));
    std::vector<int> path;
    while (!seen[at(node)]) {
      seen[at(node)] = 1;
      path.push_back(node);
      for (const Neighbour& input : p_.inputs[node])
        if (waiting[at(input.node)] > 0) {
          node = input.node;
          break;
        }
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), node));
    std::string cycle = graph_.nodes[at(node)].id;
    const std::size_t shown = std::min<std::size_t>(path.size(), 8);
    for (std::size_t i = 0; i < shown; ++i) cycle += " -> " + graph_.nodes[at(path[path.size() - 1 - i])].id;
    if (shown < path.size()) cycle += text(" -> … (", path.size(), " nodes)");
    fail(ErrorCode::invalid_argument, "place: the graph has a cycle at ", place_of(graph_, node), ": ", cycle,
         "; a node cannot wait for its own result");
  }

  void fill_links() {
    const auto devices = at(p_.devices);
    p_.moves.assign(devices * devices, {.latency_us = kNever});
    std::int64_t most_bytes = 0;
    for (const Neighbour& c : p_.consumers.list) most_bytes = std::max(most_bytes, c.bytes);
    const auto edges = static_cast<double>(p_.consumers.list.size());
    for (const MachineLink& link : machine_.links) {
      const auto from = machine_.find(link.from), to = machine_.find(link.to);
      if (!from || !to)
        fail(ErrorCode::invalid_argument, "place: a link goes from ", link.from, " to ", link.to, "; the machine has ",
             machine_.device_names());
      if (!(link.latency_us >= 0) || !std::isfinite(link.latency_us) || !(link.gb_per_s > 0))
        fail(ErrorCode::invalid_argument, "place: the link from ", link.from, " to ", link.to, " has latency ",
             link.latency_us, " us and ", link.gb_per_s,
             " GB/s; needed are a latency of at least 0 and a rate above 0");
      require_cache(text("the link from ", link.from, " to ", link.to), link.cache);
      p_.moves[p_.pair(*from, *to)] = link.move_time();
      if (!std::isfinite(p_.crossing(*from, *to, most_bytes) * (1 + edges)))
        fail(ErrorCode::invalid_argument, "place: the link from ", link.from, " to ", link.to, " has latency ",
             link.latency_us, " us and ", link.gb_per_s, " GB/s: what ", edges, " edges of up to ", most_bytes,
             " bytes take there is more than can be added up");
    }
    for (int d = 0; d < p_.devices; ++d) p_.moves[p_.pair(d, d)] = {};
    for (int from = 0; from < p_.devices; ++from)
      for (int to = 0; to < p_.devices; ++to) p_.all_linked = p_.all_linked && p_.linked(from, to);
    p_.excludes.assign(devices, 0);
    for (int a = 0; a < p_.devices; ++a)
      for (int b = 0; b < p_.devices; ++b)
        if (a != b && share_a_core(machine_.devices[at(a)], machine_.devices[at(b)]))
          p_.excludes[at(a)] |= std::uint64_t{1} << b;
  }

  static void require_cache(std::string_view where, const CacheFigures& cache) {
    if (cache.bytes < 0 || (cache.bytes > 0 && !(cache.gb_per_s > 0)))
      fail(ErrorCode::invalid_argument, "place: ", where, " has a cache of ", cache.bytes, " bytes with ",
           cache.gb_per_s, " GB/s; needed are at least 0 bytes and a rate above 0");
  }

  static bool share_a_core(const MachineDevice& a, const MachineDevice& b) {
    return std::ranges::any_of(a.cores, [&](int core) { return std::ranges::find(b.cores, core) != b.cores.end(); });
  }

  void fill_memory() {
    double total = 0;
    for (int node = 0; node < p_.nodes; ++node) {
      const std::int64_t bytes = graph_.nodes[at(node)].memory;
      if (bytes < 0)
        fail(ErrorCode::invalid_argument, "place: ", place_of(graph_, node), " has an output of ", bytes, " bytes");
      p_.memory.push_back(bytes);
      total += static_cast<double>(bytes);
    }
    for (const MachineDevice& device : machine_.devices) {
      require_cache(device.name, device.cache);
      if (device.memory < 0)
        fail(ErrorCode::invalid_argument, "place: ", device.name, " has ", device.memory, " bytes of memory");
      p_.capacity.push_back(device.memory);
      p_.limited.push_back(device.memory != kUnlimited && total > static_cast<double>(device.memory));
      p_.any_limited = p_.any_limited || p_.limited.back();
    }
  }

  void fill_costs() {
    std::vector<double> factor(at(p_.devices), 1);
    for (const auto& slow : constraints_.contention)
      if (const auto device = machine_.find(slow.device); device && slow.factor > 0 && std::isfinite(slow.factor))
        factor[at(*device)] = slow.factor;
    p_.cost.assign(at(p_.nodes) * at(p_.devices), kNever);
    p_.launch.assign(p_.cost.size(), 0);
    double total = 0;
    for (int node = 0; node < p_.nodes; ++node) {
      const PlaceNode& n = graph_.nodes[at(node)];
      if (n.costs.empty() && !n.work)
        fail(ErrorCode::invalid_argument, "place: ", place_of(graph_, node), " has no costs");
      if (n.costs.empty()) model_costs(node, n);
      for (const PlaceNode::Cost& cost : n.costs) given_cost(node, cost);
      for (const PlaceNode::Refusal& r : n.refusals)
        if (const auto device = machine_.find(r.device)) p_.cost[p_.index(node, *device)] = kNever;
      double most = 0;
      for (int d = 0; d < p_.devices; ++d)
        if (double& us = p_.cost[p_.index(node, d)]; us != kNever) most = std::max(most, us *= factor[at(d)]);
      total += most;
      if (!std::isfinite(total))
        fail(ErrorCode::invalid_argument, "place: ", place_of(graph_, node), " costs ", most,
             " us; with those before it that is more than can be added up");
    }
  }

  void given_cost(int node, const PlaceNode::Cost& cost) {
    const auto device = machine_.find(cost.device);
    if (!device)
      fail(ErrorCode::device_unavailable, "place: ", place_of(graph_, node), " has a cost for ", cost.device,
           ", which the machine does not have; it has ", machine_.device_names());
    if (!(cost.us >= 0) || !std::isfinite(cost.us))
      fail(ErrorCode::invalid_argument, "place: ", place_of(graph_, node), " costs ", cost.us, " us on ", cost.device,
           "; a cost is a finite number of at least 0");
    p_.cost[p_.index(node, *device)] = cost.us;
  }

  void model_costs(int node, const PlaceNode& n) {
    for (int d = 0; d < p_.devices; ++d) {
      const CostParts parts = predict(*n.work, machine_.devices[at(d)], machine_.measured);
      if (!(parts.total() >= 0) || !std::isfinite(parts.total()))
        fail(ErrorCode::invalid_argument, "place: ", place_of(graph_, node), " has work of ", n.work->flops, " flops, ",
             n.work->bytes, " bytes, ", n.work->depth, " steps, which by the figures of ", machine_.devices[at(d)].name,
             " takes ", parts.total(), " us; one of them is wrong");
      p_.cost[p_.index(node, d)] = parts.total();
      p_.launch[p_.index(node, d)] = parts.launch;
    }
  }

  void join_groups() {
    std::vector<std::int32_t> parent(at(p_.nodes));
    std::iota(parent.begin(), parent.end(), 0);
    auto root = [&](std::int32_t v) {
      while (parent[at(v)] != v) v = parent[at(v)] = parent[at(parent[at(v)])];
      return v;
    };
    for (int node = 0; node < p_.nodes; ++node) {
      const auto& with = graph_.nodes[at(node)].together;
      if (!with) continue;
      if (*with < 0 || *with >= p_.nodes)
        fail(ErrorCode::invalid_argument, "place: ", place_of(graph_, node), " should share the device of node ", *with,
             "; there are ", p_.nodes);
      const std::int32_t a = root(node), b = root(*with);
      parent[at(std::max(a, b))] = std::min(a, b);
    }
    p_.group.resize(at(p_.nodes));
    for (int node = 0; node < p_.nodes; ++node) {
      const std::int32_t first = root(node);
      if (first == node) {
        p_.group[at(node)] = static_cast<std::int32_t>(p_.members.size());
        p_.members.emplace_back();
      }
      p_.group[at(node)] = p_.group[at(first)];
      p_.members[at(p_.group[at(node)])].push_back(node);
    }
  }

  /// What the node itself allows: kernels, visibility, memory for it and its inputs, and what was asked for.
  void restrict_devices(int node) {
    p_.refusal.resize(p_.cost.size());
    p_.allowed.resize(at(p_.nodes));
    p_.gave_way.resize(at(p_.nodes));
    std::uint64_t mask = 0;
    const std::int64_t needed = working_set(node);
    for (int d = 0; d < p_.devices; ++d) {
      Refusal& refusal = p_.refusal[p_.index(node, d)];
      if (p_.us(node, d) == kNever) refusal = Refusal::no_kernel;
      else if (!(visible_ >> d & 1)) refusal = Refusal::not_visible;
      else if (needed > p_.capacity[at(d)]) refusal = Refusal::memory;
      else mask |= std::uint64_t{1} << d;
    }
    const PlaceNode& n = graph_.nodes[at(node)];
    if (!n.requested.empty()) mask = apply_request(node, mask);
    else if (n.host_value) mask = apply_host_value(node, mask);
    if (mask == 0) fail_without_device(node, needed);
    p_.allowed[at(node)] = mask;
  }

  /// Bytes that are on the device while the node runs.
  std::int64_t working_set(int node) const {
    std::int64_t sum = p_.memory[at(node)];
    for (const Neighbour& input : p_.inputs[node])
      sum = sum > kUnlimited - p_.memory[at(input.node)] ? kUnlimited : sum + p_.memory[at(input.node)];
    return sum;
  }

  std::uint64_t keep_only(int node, std::uint64_t mask, std::uint64_t kept, Refusal why) {
    for (int d = 0; d < p_.devices; ++d)
      if ((mask & ~kept) >> d & 1) p_.refusal[p_.index(node, d)] = why;
    return mask & kept;
  }

  std::uint64_t apply_host_value(int node, std::uint64_t mask) {
    for (int d = 0; d < p_.devices; ++d)
      if (mask >> d & 1 && machine_.devices[at(d)].name.starts_with("/CPU"))
        return keep_only(node, mask, std::uint64_t{1} << d, Refusal::host_value);
    return mask;
  }

  std::uint64_t apply_request(int node, std::uint64_t mask) {
    const std::string& wanted = graph_.nodes[at(node)].requested;
    const auto device = machine_.find(wanted);
    if (device && mask >> *device & 1)
      return keep_only(node, mask, std::uint64_t{1} << *device, Refusal::not_requested);
    const Refusal why = device ? p_.refusal[p_.index(node, *device)] : Refusal::none;
    const bool may_give_way = constraints_.soft && mask != 0;
    if (may_give_way) {
      p_.gave_way[at(node)] = !device                     ? ReasonCode::device_missing
                              : why == Refusal::no_kernel ? ReasonCode::no_kernel
                              : why == Refusal::memory    ? ReasonCode::memory
                                                          : ReasonCode::not_visible;
      return mask;
    }
    const std::string asks = text("place: ", place_of(graph_, node), " asks for ", wanted);
    const std::string remedy = mask ? text("; without the request it could run on ", names(machine_, mask))
                                    : "; no other device could run it either";
    if (!device)
      fail(ErrorCode::device_unavailable, asks, ", which the machine does not have; it has ", machine_.device_names(),
           remedy);
    if (why == Refusal::no_kernel) fail(ErrorCode::no_kernel, asks, ", which has no kernel (no cost) for it", remedy);
    if (why == Refusal::not_visible) fail(ErrorCode::device_unavailable, asks, ", which is not visible", remedy);
    const std::int64_t needed = working_set(node);
    fail(ErrorCode::out_of_memory, asks, ", but its output and inputs take ", needed, " bytes there and it has ",
         p_.capacity[at(*device)], ": ", needed - p_.capacity[at(*device)], " bytes are missing", remedy);
  }

  [[noreturn]] void fail_without_device(int node, std::int64_t needed) {
    std::int64_t most = -1;
    for (int d = 0; d < p_.devices; ++d)
      if (p_.refusal[p_.index(node, d)] == Refusal::memory) most = std::max(most, p_.capacity[at(d)]);
    if (most >= 0)
      fail(ErrorCode::out_of_memory, "place: ", place_of(graph_, node), " fits no device: its output and inputs take ",
           needed, " bytes, the largest device that can run it has ", most, ": ", needed - most, " bytes are missing");
    std::uint64_t kernels = 0;
    for (int d = 0; d < p_.devices; ++d)
      if (p_.refusal[p_.index(node, d)] != Refusal::no_kernel) kernels |= std::uint64_t{1} << d;
    if (kernels == 0)
      fail(ErrorCode::no_kernel, "place: ", place_of(graph_, node), " can run on no device: none of ",
           machine_.device_names(), " has a kernel (a cost) for it");
    fail(ErrorCode::device_unavailable, "place: ", place_of(graph_, node), " can run on ", names(machine_, kernels),
         " only, which is not visible; make it visible");
  }

  void apply_links_and_groups() {
    std::vector<std::uint64_t> masks(p_.members.size(), ~std::uint64_t{0});
    for (int node = 0; node < p_.nodes; ++node) {
      std::uint64_t& mask = masks[at(p_.group[at(node)])];
      const std::uint64_t before = mask;
      mask &= p_.allowed[at(node)];
      if (mask == 0)
        fail(ErrorCode::no_kernel, "place: ", place_of(graph_, node), " can run on ",
             names(machine_, p_.allowed[at(node)]), ", but must share a device with ",
             place_of(graph_, p_.members[at(p_.group[at(node)])][0]), ", whose group can run on ",
             names(machine_, before), "; give one of them a device the other has");
    }
    const std::vector<std::uint64_t> before = masks;
    if (const int stuck = LinkPruner(p_).run(masks, -1); stuck >= 0) fail_without_link(stuck, before, masks);
    for (int node = 0; node < p_.nodes; ++node)
      p_.allowed[at(node)] = keep_only(node, p_.allowed[at(node)], masks[at(p_.group[at(node)])], Refusal::no_link);
  }

  [[noreturn]] void fail_without_link(int stuck, const std::vector<std::uint64_t>& before,
                                      const std::vector<std::uint64_t>& masks) {
    for (const std::int32_t node : p_.members[at(stuck)])
      for (const Neighbour& input : p_.inputs[node]) explain_edge(input.node, node, before, masks, node);
    for (const std::int32_t node : p_.members[at(stuck)])
      for (const Neighbour& consumer : p_.consumers[node]) explain_edge(node, consumer.node, before, masks, node);
    fail(ErrorCode::device_unavailable, "place: ", place_of(graph_, p_.members[at(stuck)][0]),
         " has no device left that its inputs and consumers can be linked with; add links, or free a request near it");
  }

  /// Throws when this edge alone shows why; `masks` are what was left of `before` when it became impossible.
  void explain_edge(int from, int to, const std::vector<std::uint64_t>& before, const std::vector<std::uint64_t>& masks,
                    int stuck) {
    const auto source = at(p_.group[at(from)]), target = at(p_.group[at(to)]);
    const std::uint64_t a = from == stuck ? before[source] : masks[source],
                        b = to == stuck ? before[target] : masks[target];
    for (int d = 0; d < p_.devices; ++d)
      for (int e = 0; e < p_.devices; ++e)
        if (a >> d & 1 && b >> e & 1 && p_.linked(d, e)) return;
    if (a == 0 || b == 0) return;
    fail(ErrorCode::device_unavailable, "place: ", place_of(graph_, to), " can run on ", names(machine_, b),
         " and reads ", place_of(graph_, from), ", which can run on ", names(machine_, a),
         ", and no link leads from there; add a link from ", names(machine_, a), " to ", names(machine_, b),
         ", or let both run on one device");
  }

  void fill_tails() {
    p_.tail.assign(p_.cost.size(), 0);
    std::vector<double> through(at(p_.devices));
    for (auto it = p_.topological.rbegin(); it != p_.topological.rend(); ++it)
      for (const Neighbour& c : p_.consumers[*it]) {
        for (int e = 0; e < p_.devices; ++e)
          through[at(e)] = p_.may(c.node, e) ? p_.us(c.node, e) + p_.after(c.node, e) : kNever;
        for (int d = 0; d < p_.devices; ++d) {
          double least = through[at(d)];
          for (int e = 0; e < p_.devices; ++e)
            if (e != d) least = std::min(least, p_.crossing(d, e, c.bytes) + through[at(e)]);
          double& tail = p_.tail[p_.index(*it, d)];
          tail = std::max(tail, least);
        }
      }
  }

  void fill_ranks() {
    // Half the crossings of a graph on two devices stay at home; this is what plain HEFT assumes too.
    const MoveTime<double> crossing = mean_crossing(p_);
    p_.rank.assign(at(p_.nodes), 0);
    for (auto it = p_.topological.rbegin(); it != p_.topological.rend(); ++it) {
      double sum = 0, count = 0, most = 0;
      for (int d = 0; d < p_.devices; ++d)
        if (p_.may(*it, d)) sum += p_.us(*it, d), count += 1;
      for (const Neighbour& c : p_.consumers[*it])
        most = std::max(most, crossing.microseconds(static_cast<double>(c.bytes)) + p_.rank[at(c.node)]);
      p_.rank[at(*it)] = sum / count + most;
    }
  }

  /// The longest path at its cheapest, and the least work shared by all devices.
  void fill_bound() {
    double work = 0;
    for (int node = 0; node < p_.nodes; ++node) {
      double path = kNever, least = kNever;
      for (int d = 0; d < p_.devices; ++d)
        if (p_.may(node, d)) {
          path = std::min(path, p_.us(node, d) + p_.after(node, d));
          least = std::min(least, p_.us(node, d));
        }
      p_.bound = std::max(p_.bound, path);
      work += least;
    }
    p_.bound = std::max(p_.bound, work / p_.devices);
  }

  const PlaceGraph& graph_;
  const Machine& machine_;
  const Constraints& constraints_;
  std::uint64_t visible_ = 0;
  Problem p_;
};

}  // namespace

MoveTime<double> mean_crossing(const Problem& problem) {
  MoveTime<double> mean;
  int links = 0;
  for (int from = 0; from < problem.devices; ++from)
    for (int to = 0; to < problem.devices; ++to) {
      if (from == to || !problem.linked(from, to)) continue;
      const MoveTime<double>& move = problem.moves[problem.pair(from, to)];
      mean.latency_us += move.latency_us;
      mean.us_per_byte += move.us_per_byte;
      mean.cached_bytes += move.cached_bytes;
      mean.more_per_byte += move.more_per_byte;
      ++links;
    }
  if (links)
    for (double* figure : {&mean.latency_us, &mean.us_per_byte, &mean.cached_bytes, &mean.more_per_byte})
      *figure /= links;
  return mean;
}

Problem make_problem(const PlaceGraph& graph, const Machine& machine, const Constraints& constraints) {
  return Builder(graph, machine, constraints).build();
}

}  // namespace tandem::placer
