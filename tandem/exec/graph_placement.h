// Placement of a traced graph: its ops as nodes of the placer, and the schedule read back.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/exec/prepared_call.h"
#include "tandem/graph/graph.h"
#include "tandem/place/explanation.h"

namespace tandem {

/// What there is to know beside the graph.
struct GraphSetting {
  const Machine& machine;
  std::vector<Device*> devices = {};  // those here; one of the machine that is not here is taken to have all kernels
  const DeviceRegistry* registry = nullptr;  // knows why others are not here
  bool only_here = true;  // false: what if the machine were another? Then all its devices may be used
  std::optional<DeviceName> scope = {};  // for nodes that ask for no device themselves
  std::vector<std::string> homes = {};  // by parameter: the device that holds the argument; "" or missing: the first
  std::vector<Constraints::Slowdown> contention = {};
  std::string only = {};  // ops that ask for no device run there where they can, else on the first
  std::vector<const Decision*> ran = {};  // by node: how it has run; nothing of it is left to decide. Null: it has not
};

struct GraphPlacement {
  struct Op {
    std::optional<DeviceChoice> choice = {};  // none: asked for a device, runs nothing, or the device is not here
    double start_us = 0;
  };
  std::vector<Op> ops;  // by node of the graph
  Explanation explanation;  // of the ops that run, in the order of the graph
  std::shared_ptr<const Graph> graph = {};  // the one that was placed, where it is not the one given: it was split
};

/// Places every op that asks for no device; scopes are met as eager execution meets them. Throws out_of_memory when
/// nothing fits the machine.
GraphPlacement place(const Graph& graph, const GraphSetting& setting);

/// What an op has to do.
OpWork work_of(const OpDef& op, std::span<const TensorSpec* const> inputs, const Attrs& attrs, const Specs& outputs);

}  // namespace tandem
