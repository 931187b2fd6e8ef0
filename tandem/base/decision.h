// A decision: where an op ran, with which kernel, why, and what else was considered.
// Interned: tensors and event rings hold a pointer, the text is built when somebody reads it.
#pragma once
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

enum class ReasonCode {
  only_device,     // no other device is there
  requested,       // a scope, an argument or the placement policy asked for it
  device_missing,  // the requested device does not exist
  not_visible,     // the requested device exists but may not be used: the user or the environment hid it
  device_lost,     // the requested device has disappeared since it was found
  no_kernel,       // the device it should have run on, or every other one, has no kernel for it
  cheaper_here,    // it finishes first here
  near_its_data,   // its operands lie here; copies elsewhere would cost more than they save
  too_small,       // too little work to pay for a launch or a crossing elsewhere
  sequential,      // its steps follow each other, and this device does a step fastest
  memory,          // the device it should have run on cannot hold its operands and results
  contention,      // where it would be faster others are at work
  colocated,       // must be where another op is
  host_value,      // made from host data
};
std::string_view reason_name(ReasonCode code);
/// Does it explain why an op ran elsewhere than it should have?
bool is_fallback(ReasonCode code);

/// A kernel that was looked at, on the way to the chosen one.
struct Candidate {
  std::string device;
  std::string kernel;
  bool accepted = false;
  std::string refusal;  // why not; empty when accepted
  bool operator==(const Candidate&) const = default;
};

struct Decision {
  std::string op;
  std::string signature;  // dtypes of the operands: "float32, float32"
  std::string requested;  // device asked for; empty when nobody asked
  std::string device;     // device chosen
  std::string kernel;
  ReasonCode reason = ReasonCode::only_device;
  std::vector<Candidate> candidates;
  bool operator==(const Decision&) const = default;

  /// One sentence for people.
  std::string text() const;
  /// What the user can do when this is not what was asked for; empty when it is.
  std::string remedy() const;
  std::string to_json() const;
};
std::ostream& operator<<(std::ostream& out, const Decision& decision);

/// The one copy of an equal decision; lives as long as the process. Decisions name dtypes, not shapes,
/// so there are only as many as op × dtypes × kernels.
const Decision* intern(const Decision& decision);

}  // namespace tandem
