#include "tandem/place/lock.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tandem/base/error.h"
#include "tandem/core/device.h"
#include "tandem/files/file_bytes.h"
#include "tandem/place/json_document.h"

namespace tandem {
namespace {

using placer::JsonDocument;
using placer::JsonLimit;
using placer::JsonValue;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostFunctions = 10'000;

LockedOp read_op(const JsonValue& json, std::int32_t after) {
  json.complain_misspelt({"node", "op", "dtype", "shape", "device"});
  LockedOp op{.op = json.at("op").string(),
              .dtype = json.at("dtype").string(),
              .shape = json.at("shape").string(),
              .device = json.at("device").name()};
  const std::int64_t node = json.at("node").integer(0);
  if (node <= after || node > std::int64_t{1} << 30)
    json.at("node").complain(text("node ", node, " after node ", after, "; nodes are in the order of the graph"));
  op.node = static_cast<std::int32_t>(node);
  try {
    DeviceName::parse(op.device);
  } catch (const Error&) {
    json.at("device").complain(text("\"", op.device, "\" is no device; devices are named as in /GPU:0"));
  }
  return op;
}

LockedFunction read_function(const JsonValue& json) {
  json.complain_misspelt({"name", "graph", "predicted_us", "scopes", "ops"});
  LockedFunction function{.name = json.at("name").name(),
                          .graph = json.at("graph").name(),
                          .predicted_us = json.at("predicted_us").number(0)};
  if (const auto scopes = json.find("scopes")) function.scopes = scopes->boolean();
  const auto ops = json.at("ops").elements();
  if (ops.size() > kMostPlaceNodes) json.at("ops").complain(text(ops.size(), " ops; at most ", kMostPlaceNodes));
  for (const JsonValue& op : ops)
    function.ops.push_back(read_op(op, function.ops.empty() ? -1 : function.ops.back().node));
  return function;
}

std::string described(const LockedOp& op) { return text("%", op.node, " ", op.op, " (", op.dtype, " ", op.shape, ")"); }

/// Ops that are elsewhere; the first few by name.
void note_moves(const LockedFunction& before, const LockedFunction& now, std::vector<std::string>& out) {
  constexpr std::size_t kMostNamed = 20;
  std::size_t moved = 0;
  for (std::size_t i = 0; i < before.ops.size(); ++i) {
    if (before.ops[i].device == now.ops[i].device) continue;
    if (++moved <= kMostNamed)
      out.push_back(text(before.name, ": ", described(before.ops[i]), " is locked to ", before.ops[i].device, "; now ",
                         now.ops[i].device, " would be chosen"));
  }
  if (moved > kMostNamed) out.push_back(text(before.name, ": and ", moved - kMostNamed, " more ops"));
}

bool same_ops(const LockedFunction& a, const LockedFunction& b) {
  return std::ranges::equal(a.ops, b.ops, [](const LockedOp& x, const LockedOp& y) {
    return x.node == y.node && x.op == y.op && x.dtype == y.dtype && x.shape == y.shape;
  });
}

}  // namespace

const LockedFunction* PlacementLock::find(std::string_view graph) const {
  const auto found = std::ranges::find(functions, graph, &LockedFunction::graph);
  return found == functions.end() ? nullptr : &*found;
}

void PlacementLock::put(LockedFunction function) {
  std::erase_if(functions,
                [&](const LockedFunction& f) { return f.name == function.name || f.graph == function.graph; });
  functions.push_back(std::move(function));
}

LockedFunction locked(const Explanation& explanation, std::string name, std::string graph) {
  LockedFunction function{.name = std::move(name), .graph = std::move(graph), .predicted_us = explanation.makespan_us};
  for (const OpRecord& op : explanation.ops) function.ops.push_back({op.node, op.op, op.dtype, op.shape, op.chosen});
  return function;
}

std::vector<std::string> drift(const PlacementLock& lock, const LockedFunction& now) {
  const LockedFunction* before = lock.find(now.graph);
  if (!before || !same_ops(*before, now)) {
    const auto named = std::ranges::find(lock.functions, now.name, &LockedFunction::name);
    if (named == lock.functions.end()) return {text(now.name, ": is not in the lock")};
    return {text(now.name, ": its graph is another than the one locked, which has ", named->ops.size(), " ops; now ",
                 now.ops.size())};
  }
  std::vector<std::string> out;
  note_moves(*before, now, out);
  const double change = before->predicted_us > 0 ? now.predicted_us / before->predicted_us - 1 : 0;
  if (std::abs(change) > lock.threshold)
    out.push_back(text(now.name, ": a step is predicted to take ", now.predicted_us, " us, locked were ",
                       before->predicted_us, " us: ", std::lround(100 * change), " %, more than ",
                       std::lround(100 * lock.threshold), " %"));
  return out;
}

PlacementLock parse_lock(std::string_view json, std::string_view source) {
  constexpr std::array<JsonLimit, 1> kLimits{{{"functions", kMostFunctions}}};
  const JsonDocument document(json, source, kLimits);
  const JsonValue root = document.root();
  if (const std::int64_t version = root.at("version").integer(1); version > kVersion)
    root.at("version").complain(
        text("format ", version, " is newer than ", kVersion, ", which this version reads; update tandem"));
  root.complain_misspelt({"version", "threshold", "functions"});
  PlacementLock lock;
  if (const auto threshold = root.find("threshold")) lock.threshold = threshold->number(0);
  for (const JsonValue& value : root.at("functions").elements()) {
    LockedFunction function = read_function(value);
    if (lock.find(function.graph)) value.complain(text("the graph ", function.graph, " is locked twice"));
    lock.functions.push_back(std::move(function));
  }
  return lock;
}

PlacementLock read_lock(const std::string& path) { return parse_lock(placer::read_text_file(path), path); }

std::string to_json(const PlacementLock& lock) {
  nlohmann::ordered_json json{
      {"version", kVersion}, {"threshold", lock.threshold}, {"functions", nlohmann::ordered_json::array()}};
  for (const LockedFunction& function : lock.functions) {
    auto ops = nlohmann::ordered_json::array();
    for (const LockedOp& op : function.ops)
      ops.push_back(
          {{"node", op.node}, {"op", op.op}, {"dtype", op.dtype}, {"shape", op.shape}, {"device", op.device}});
    json["functions"].push_back(
        {{"name", function.name}, {"graph", function.graph}, {"predicted_us", function.predicted_us}});
    if (!function.scopes) json["functions"].back()["scopes"] = false;
    json["functions"].back()["ops"] = std::move(ops);
  }
  return json.dump(1) + "\n";
}

void write_lock(const PlacementLock& lock, const std::string& path) { write_file_atomically(path, to_json(lock)); }

void add_to_lock(LockedFunction function, const std::string& path) {
  PlacementLock lock;
  if (std::filesystem::exists(path)) lock = read_lock(path);
  lock.put(std::move(function));
  write_lock(lock, path);
}

}  // namespace tandem
