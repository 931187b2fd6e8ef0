#include "tandem/place/machine.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "tandem/base/error.h"
#include "tandem/core/device.h"
#include "tandem/place/json_document.h"

namespace tandem {
namespace {

using placer::JsonDocument;
using placer::JsonLimit;
using placer::JsonValue;

constexpr std::size_t kMostMeasured = 1'000'000;  // of ops: more than any program has kinds and sizes of

DType read_dtype(const JsonValue& where, const std::string& name) {
  const auto dtype = parse_dtype(name);
  if (!dtype) where.complain(text("\"", name, "\" is no dtype; dtypes are named as in float32"));
  return *dtype;
}

CacheFigures read_cache(const JsonValue& json) {
  json.complain_misspelt({"bytes", "gb_per_s"});
  return {json.at("bytes").integer(1), json.at("gb_per_s").positive()};
}

MachineDevice read_device(const JsonValue& json) {
  json.complain_misspelt(
      {"name", "description", "memory", "peak_gflops", "gb_per_s", "cache", "launch_us", "step_us", "cores"});
  MachineDevice device{.name = json.at("name").name()};
  if (device.name.empty()) json.at("name").complain("a device needs a name such as /GPU:0");
  if (const auto value = json.find("description")) device.description = value->string();
  if (const auto value = json.find("memory")) device.memory = value->integer(0);
  if (const auto peaks = json.find("peak_gflops"))
    for (const auto& [name, value] : peaks->members()) device.peak_gflops[read_dtype(value, name)] = value.positive();
  if (const auto value = json.find("gb_per_s")) device.gb_per_s = value->positive();
  if (const auto value = json.find("cache")) device.cache = read_cache(*value);
  if (const auto value = json.find("launch_us")) device.launch_us = value->number(0);
  if (const auto value = json.find("step_us")) device.step_us = value->number(0);
  if (const auto cores = json.find("cores")) {
    if (!cores->is_array()) cores->integer(0);  // how many says nothing of which: it excludes nobody
    else
      for (const JsonValue& core : cores->elements())
        device.cores.push_back(static_cast<int>(std::min<std::int64_t>(core.integer(0), 1 << 20)));
  }
  return device;
}

MachineLink read_link(const JsonValue& json, const Machine& machine) {
  json.complain_misspelt({"from", "to", "latency_us", "gb_per_s", "cache"});
  MachineLink link;
  for (auto [key, name] : {std::pair("from", &link.from), std::pair("to", &link.to)}) {
    const JsonValue value = json.at(key);
    const std::string wanted = value.name();
    const auto device = machine.find(wanted);
    if (!device) value.complain(text("there is no device ", wanted, "; the machine has ", machine.device_names()));
    *name = machine.devices[static_cast<std::size_t>(*device)].name;
  }
  if (link.from == link.to) json.complain(text("a link from ", link.from, " to itself"));
  if (const auto value = json.find("latency_us")) link.latency_us = value->number(0);
  link.gb_per_s = json.at("gb_per_s").positive();
  if (const auto value = json.find("cache")) link.cache = read_cache(*value);
  return link;
}

CostHistory read_history(const JsonValue& json) {
  CostHistory history;
  for (const JsonValue& entry : json.elements()) {
    entry.complain_misspelt({"op", "dtype", "bucket", "device", "ratio", "samples"});
    HistoryKey key{.op = entry.at("op").string(),
                   .dtype = read_dtype(entry.at("dtype"), entry.at("dtype").name()),
                   .bucket = static_cast<int>(std::min<std::int64_t>(entry.at("bucket").integer(0), 4096)),
                   .device = entry.at("device").string()};
    if (history.find(key)) entry.complain("the same op, dtype, bucket and device appear twice");
    history.set(key, {.ratio = entry.at("ratio").number(0), .samples = entry.at("samples").integer(1)});
  }
  return history;
}

nlohmann::ordered_json history_json(const CostHistory& history) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [key, measured] : history.entries())
    list.push_back({{"op", key.op},
                    {"dtype", dtype_name(key.dtype)},
                    {"bucket", key.bucket},
                    {"device", key.device},
                    {"ratio", measured.ratio},
                    {"samples", measured.samples}});
  return list;
}

nlohmann::ordered_json cache_json(const CacheFigures& cache) {
  return {{"bytes", cache.bytes}, {"gb_per_s", cache.gb_per_s}};
}

nlohmann::ordered_json link_json(const MachineLink& link) {
  nlohmann::ordered_json json{
      {"from", link.from}, {"to", link.to}, {"latency_us", link.latency_us}, {"gb_per_s", link.gb_per_s}};
  if (link.cache.bytes > 0) json["cache"] = cache_json(link.cache);
  return json;
}

nlohmann::ordered_json device_json(const MachineDevice& device) {
  nlohmann::ordered_json json{{"name", device.name}};
  if (!device.description.empty()) json["description"] = device.description;
  if (device.memory != kUnlimited) json["memory"] = device.memory;
  for (const auto& [dtype, gflops] : device.peak_gflops) json["peak_gflops"][std::string(dtype_name(dtype))] = gflops;
  if (device.gb_per_s > 0) json["gb_per_s"] = device.gb_per_s;
  if (device.cache.bytes > 0) json["cache"] = cache_json(device.cache);
  if (device.launch_us > 0) json["launch_us"] = device.launch_us;
  if (device.step_us > 0) json["step_us"] = device.step_us;
  if (!device.cores.empty()) json["cores"] = device.cores;
  return json;
}

}  // namespace

double MachineDevice::gflops(DType dtype) const {
  if (const auto found = peak_gflops.find(dtype); found != peak_gflops.end()) return found->second;
  const auto single = peak_gflops.find(DType::f32);
  return single == peak_gflops.end() ? 0 : single->second;
}

std::optional<int> Machine::find(std::string_view device) const {
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].name == device) return static_cast<int>(i);
  std::string name;
  try {
    name = DeviceName::parse(device).short_name();
  } catch (const Error&) {  // names of a machine file need not be ours
    return std::nullopt;
  }
  for (std::size_t i = 0; i < devices.size(); ++i)
    if (devices[i].name == name) return static_cast<int>(i);
  return std::nullopt;
}

const MachineLink* Machine::link(std::string_view from, std::string_view to) const {
  for (const MachineLink& link : links)
    if (link.from == from && link.to == to) return &link;
  return nullptr;
}

std::string Machine::device_names() const {
  std::vector<std::string> names;
  for (const MachineDevice& device : devices) names.push_back(device.name);
  return names.empty() ? "no devices" : join(names);
}

Machine parse_machine(std::string_view json, std::string_view source) {
  constexpr std::array<JsonLimit, 3> kLimits{
      {{"devices", kMostDevices}, {"links", kMostDevices * kMostDevices}, {"measured", kMostMeasured}}};
  const JsonDocument document(json, source, kLimits);
  const JsonValue root = document.root();
  root.complain_misspelt({"name", "sources", "devices", "links", "measured", "doubt"});
  Machine machine;
  if (const auto name = root.find("name")) machine.name = name->name();
  if (const auto sources = root.find("sources"))
    for (const JsonValue& line : sources->elements()) machine.sources.push_back(line.string());
  const JsonValue devices = root.at("devices");
  for (const JsonValue& value : devices.elements()) {
    MachineDevice device = read_device(value);
    if (machine.find(device.name)) value.complain(text("there are two devices ", device.name));
    machine.devices.push_back(std::move(device));
  }
  if (machine.devices.empty()) devices.complain("a machine needs at least one device");
  if (const auto links = root.find("links"))
    for (const JsonValue& value : links->elements()) {
      MachineLink link = read_link(value, machine);
      if (machine.link(link.from, link.to))
        value.complain(text("there are two links from ", link.from, " to ", link.to));
      machine.links.push_back(std::move(link));
    }
  if (const auto measured = root.find("measured")) machine.measured = read_history(*measured);
  if (const auto doubt = root.find("doubt")) {
    doubt->complain_misspelt({"why", "unix_s"});
    machine.doubt = MachineDoubt{doubt->at("why").string(), doubt->at("unix_s").integer(0)};
  }
  return machine;
}

Machine read_machine(const std::string& path) { return parse_machine(placer::read_text_file(path), path); }

std::string to_json(const Machine& machine) {
  nlohmann::ordered_json json;
  if (!machine.name.empty()) json["name"] = machine.name;
  if (!machine.sources.empty()) json["sources"] = machine.sources;
  if (machine.doubt) json["doubt"] = {{"why", machine.doubt->why}, {"unix_s", machine.doubt->unix_s}};
  json["devices"] = nlohmann::ordered_json::array();
  for (const MachineDevice& device : machine.devices) json["devices"].push_back(device_json(device));
  json["links"] = nlohmann::ordered_json::array();
  for (const MachineLink& link : machine.links) json["links"].push_back(link_json(link));
  if (!machine.measured.entries().empty()) json["measured"] = history_json(machine.measured);
  return json.dump(2) + "\n";
}

void write_machine(const Machine& machine, const std::string& path) { placer::write_text_file(path, to_json(machine)); }

std::string to_json(const CostHistory& history) { return history_json(history).dump(2) + "\n"; }

CostHistory parse_history(std::string_view json, std::string_view source) {
  const JsonDocument document(json, source);
  return read_history(document.root());
}

}  // namespace tandem
