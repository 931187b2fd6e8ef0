// An explanation: what crosses between devices, what each op costs where, and why it is where it is.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/place/schedule.h"

namespace tandem {

/// One op. What only a traced graph knows (dtype, shape, kernel) is empty for an abstract one.
struct OpRecord {
  struct Candidate {
    std::string device;
    double us = 0;
    std::string refusal;  // empty: it could run there for `us`
  };
  std::string op, dtype, shape;
  std::string requested, chosen, kernel;
  ReasonCode reason = ReasonCode::only_device;
  std::string text;
  double compute_us = 0, transfer_us = 0, launch_us = 0;
  double start_us = 0, finish_us = 0;
  std::vector<Candidate> candidates;
  std::int64_t bytes_moved = 0;
  std::string remedy;      // for a fallback: what would avoid it, and what that saves
  std::int32_t node = -1;  // of the traced graph
};

/// A value on its way to another device.
struct Crossing {
  std::string value, from, to;
  std::int64_t bytes = 0;
  double start_us = 0, us = 0;
};

struct Explanation {
  std::vector<OpRecord> ops;
  std::vector<Crossing> crossings;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;  // between ops
  std::vector<std::string> devices;
  double makespan_us = 0;
  bool optimal = false;
  bool op_by_op = false;                   // it has no plan: each op ran when its turn came
  std::string machine = {};                // its name, when it is not the one at hand
  std::string doubt = {};  // why the figures it was reckoned with may be poor; empty: nothing speaks against them
  std::optional<double> here_us = {};  // what the same takes on the one at hand
  std::shared_ptr<const Explanation> whole = {};  // without splitting ops, where they are split: what a lock keeps

  /// The totals: crossings, predicted time, devices, the five dearest ops.
  std::string summary() const;
  /// The summary, then a line for each op.
  std::string to_text() const;
  std::string to_json() const;
  /// For Graphviz: a cluster for each device, crossings in red.
  std::string to_dot() const;
};

Explanation explain(const Schedule& schedule, const PlaceGraph& graph, const Machine& machine);

/// The predicted timeline as text, a row for each device and link.
std::string timeline_text(const Explanation& explanation, std::size_t width = 72);

}  // namespace tandem
