#include "tandem/exec/suggestions.h"

#include <algorithm>
#include <map>

#include "tandem/exec/locked_graph.h"

namespace tandem {
namespace {

TensorSpec in_float32(const TensorSpec& spec) {
  return spec.dtype() == DType::f64 ? TensorSpec(DType::f32, spec.shape()) : spec;
}

/// The same ops with float32 for float64, for the placer's eyes: it looks at specs only.
Graph in_float32(const Graph& graph) {
  Graph out = graph;
  for (Node& node : out.nodes)
    for (TensorSpec& spec : node.outputs) spec = in_float32(spec);
  return out;
}

bool has_float64(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return std::ranges::any_of(node.outputs, [](const TensorSpec& spec) { return spec.dtype() == DType::f64; });
  });
}

/// "3 ops move to /GPU:0, 1 op moves to /CPU:0".
std::string moves(const Explanation& before, const Explanation& after) {
  std::map<std::string, int> to;
  for (std::size_t i = 0; i < after.ops.size(); ++i)
    if (after.ops[i].chosen != before.ops[i].chosen) ++to[after.ops[i].chosen];
  std::vector<std::string> parts;
  for (const auto& [device, count] : to)
    parts.push_back(text(count, count == 1 ? " op moves to " : " ops move to ", device));
  return parts.empty() ? "all ops stay where they are" : join(parts);
}

class Suggesting {
 public:
  Suggesting(const Graph& graph, const GraphSetting& setting)
      : graph_(graph),
        setting_(setting),
        now_(place(graph, setting).explanation) {}

  std::vector<Suggestion> all() {
    drop_scopes();
    cast();
    keep_inputs();
    std::ranges::stable_sort(list_, std::ranges::greater{}, &Suggestion::gain_us);
    return std::move(list_);
  }

 private:
  void offer(Suggestion::Kind kind, const std::string& what, Explanation then) {
    const double gain = now_.makespan_us - then.makespan_us;
    if (gain < 0.01 * now_.makespan_us || gain <= 0) return;
    list_.push_back({kind, text(what, ": ", moves(now_, then)), gain, std::move(then)});
  }

  void drop_scopes() {
    if (std::ranges::none_of(now_.ops, [](const OpRecord& op) { return !op.requested.empty(); })) return;
    GraphSetting open = setting_;
    open.scope.reset();
    offer(Suggestion::Kind::placement, "ask for no device", place(without_requests(graph_), open).explanation);
  }

  void cast() {
    if (has_float64(graph_))
      offer(Suggestion::Kind::cast, "cast to float32", place(in_float32(graph_), setting_).explanation);
  }

  /// An argument that is copied at every step could be made where it is read.
  void keep_inputs() {
    for (const Crossing& crossing : now_.crossings) {
      if (!crossing.value.starts_with("input ")) continue;
      const auto input = static_cast<std::size_t>(std::stoul(crossing.value.substr(6)));
      GraphSetting there = setting_;
      there.homes.resize(std::max(there.homes.size(), input + 1));
      there.homes[input] = crossing.to;
      offer(Suggestion::Kind::input, text("keep ", crossing.value, " on ", crossing.to),
            place(graph_, there).explanation);
    }
  }

  const Graph& graph_;
  const GraphSetting& setting_;
  Explanation now_;
  std::vector<Suggestion> list_;
};

}  // namespace

std::vector<Suggestion> suggest(const Graph& graph, const GraphSetting& setting) {
  return Suggesting(graph, setting).all();
}

}  // namespace tandem
