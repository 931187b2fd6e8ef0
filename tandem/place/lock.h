// A placement lock: where the ops of functions were placed, in a file. A run with it uses exactly that placement, and
// what the placer would do otherwise now is drift.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "tandem/place/explanation.h"

namespace tandem {

struct LockedOp {
  std::int32_t node = 0;  // of the graph
  std::string op, dtype, shape, device;
  bool operator==(const LockedOp&) const = default;
};

struct LockedFunction {
  std::string name;
  std::string graph;        // its fingerprint
  double predicted_us = 0;  // of a step
  bool scopes = true;       // the placer kept to what the function's scopes ask for
  std::vector<LockedOp> ops;
  bool operator==(const LockedFunction&) const = default;
};

struct PlacementLock {
  double threshold = 0.2;  // by how much the predicted time may change
  std::vector<LockedFunction> functions;
  bool operator==(const PlacementLock&) const = default;

  /// By fingerprint; null when it has none such.
  const LockedFunction* find(std::string_view graph) const;
  /// In place of the one of this name, if there is one.
  void put(LockedFunction function);
};

LockedFunction locked(const Explanation& explanation, std::string name, std::string graph);

/// What has changed since, a sentence each: another graph, ops that would be placed elsewhere now, devices that are
/// gone, a predicted time off by more than the threshold. `now` is the placer's answer without the lock. Empty:
/// nothing.
std::vector<std::string> drift(const PlacementLock& lock, const LockedFunction& now);

/// Throws bad_file with the place when `json` is no lock; `source` is the name for messages.
PlacementLock parse_lock(std::string_view json, std::string_view source);
/// Throws file_error when the file cannot be read.
PlacementLock read_lock(const std::string& path);
std::string to_json(const PlacementLock& lock);
/// Atomically.
void write_lock(const PlacementLock& lock, const std::string& path);
/// Others in the file stay; throws bad_file when it is there and is no lock.
void add_to_lock(LockedFunction function, const std::string& path);

}  // namespace tandem
