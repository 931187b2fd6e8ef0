#include "tandem/place/place_graph.h"

#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "tandem/base/text.h"
#include "tandem/place/json_document.h"

namespace tandem {
namespace {

using placer::JsonDocument;
using placer::JsonLimit;
using placer::JsonValue;
using Ids = std::unordered_map<std::string, std::int32_t>;

OpWork read_work(const JsonValue& json) {
  json.complain_misspelt({"op", "dtype", "flops", "bytes", "depth"});
  OpWork work;
  if (const auto value = json.find("op")) work.op = value->name();
  if (const auto value = json.find("dtype")) {
    const std::string name = value->name();
    const auto dtype = parse_dtype(name);
    if (!dtype) value->complain(text("\"", name, "\" is no dtype; dtypes are named as in float32"));
    work.dtype = *dtype;
  }
  if (const auto value = json.find("flops")) work.flops = value->number(0);
  if (const auto value = json.find("bytes")) work.bytes = value->number(0);
  if (const auto value = json.find("depth")) work.depth = value->number(0);
  return work;
}

PlaceNode read_node(const JsonValue& json) {
  json.complain_misspelt({"id", "cost_us", "work", "memory", "device", "with", "host_value"});
  PlaceNode node{.id = json.at("id").name()};
  if (const auto costs = json.find("cost_us")) {
    for (const auto& [device, us] : costs->members()) node.costs.push_back({device, us.number(0)});
    if (node.costs.empty()) costs->complain("needs the cost of at least one device");
  } else if (const auto work = json.find("work")) {
    node.work = read_work(*work);
  } else {
    json.complain(text("\"cost_us\" is missing (or \"work\", from which the machine's figures give it)"));
  }
  if (const auto value = json.find("memory")) node.memory = value->integer(0);
  if (const auto value = json.find("device")) node.requested = value->name();
  if (const auto value = json.find("host_value")) node.host_value = value->boolean();
  return node;
}

std::int32_t read_end(const JsonValue& edge, const char* key, const Ids& ids) {
  const JsonValue end = edge.at(key);
  const std::string id = end.name();
  const auto found = ids.find(id);
  if (found == ids.end()) end.complain(text("there is no node \"", id, "\""));
  return found->second;
}

void read_edge(const JsonValue& json, const Ids& ids, PlaceGraph& graph) {
  json.complain_misspelt({"from", "to", "bytes"});
  PlaceEdge edge{.from = read_end(json, "from", ids), .to = read_end(json, "to", ids)};
  const auto bytes = json.find("bytes");
  edge.bytes = bytes ? bytes->integer(0) : graph.nodes[static_cast<std::size_t>(edge.from)].memory;
  if (edge.from == edge.to)
    json.complain(text("the graph has a cycle: \"", json.at("from").string(), "\" reads its own result"));
  graph.edges.push_back(edge);
}

}  // namespace

PlaceGraph parse_place_graph(std::string_view text_of_file, std::string_view source) {
  constexpr std::array<JsonLimit, 2> kLimits{{{"nodes", kMostPlaceNodes}, {"edges", kMostPlaceEdges}}};
  const JsonDocument document(text_of_file, source, kLimits);
  const JsonValue root = document.root();
  root.complain_misspelt({"nodes", "edges"});
  PlaceGraph graph;
  Ids ids;
  const auto nodes = root.at("nodes").elements();
  for (const JsonValue& value : nodes) {
    graph.nodes.push_back(read_node(value));
    const auto [at, fresh] = ids.emplace(graph.nodes.back().id, static_cast<std::int32_t>(ids.size()));
    if (!fresh) value.complain(text("the id \"", at->first, "\" was used already, by nodes[", at->second, "]"));
  }
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].find("with")) graph.nodes[i].together = read_end(nodes[i], "with", ids);
  if (const auto edges = root.find("edges"))
    for (const JsonValue& value : edges->elements()) read_edge(value, ids, graph);
  return graph;
}

PlaceGraph read_place_graph(const std::string& path) { return parse_place_graph(placer::read_text_file(path), path); }

std::string to_json(const PlaceGraph& graph) {
  nlohmann::ordered_json json{{"nodes", nlohmann::ordered_json::array()}, {"edges", nlohmann::ordered_json::array()}};
  for (const PlaceNode& node : graph.nodes) {
    nlohmann::ordered_json n{{"id", node.id}};
    for (const PlaceNode::Cost& cost : node.costs) n["cost_us"][cost.device] = cost.us;
    if (node.work)
      n["work"] = {{"op", node.work->op},
                   {"dtype", dtype_name(node.work->dtype)},
                   {"flops", node.work->flops},
                   {"bytes", node.work->bytes},
                   {"depth", node.work->depth}};
    n["memory"] = node.memory;
    if (!node.requested.empty()) n["device"] = node.requested;
    if (node.together) n["with"] = graph.nodes[static_cast<std::size_t>(*node.together)].id;
    if (node.host_value) n["host_value"] = true;
    json["nodes"].push_back(std::move(n));
  }
  for (const PlaceEdge& edge : graph.edges)
    json["edges"].push_back({{"from", graph.nodes[static_cast<std::size_t>(edge.from)].id},
                             {"to", graph.nodes[static_cast<std::size_t>(edge.to)].id},
                             {"bytes", edge.bytes}});
  return json.dump(2) + "\n";
}

}  // namespace tandem
