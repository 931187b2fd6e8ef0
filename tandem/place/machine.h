// A machine as a plain value: devices, links and measured costs. The placer needs nothing else of the hardware.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/dtype.h"
#include "tandem/place/bandwidth.h"
#include "tandem/place/history.h"

namespace tandem {

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
inline constexpr int kMostDevices = 64;

struct MachineDevice {
  std::string name;                       // "/GPU:0"
  std::string description;                // "NVIDIA GeForce RTX 3080 10GB"
  std::int64_t memory = kUnlimited;       // bytes
  std::map<DType, double> peak_gflops{};  // per dtype; a dtype that is missing runs at the rate of float32
  double gb_per_s = 0;                    // memory bandwidth; 0: unknown, does not count
  CacheFigures cache{};                   // what an op reads and writes of these bytes moves faster
  double launch_us = 0;                   // price of starting a kernel
  double step_us = 0;                     // one step of work that cannot be done side by side
  std::vector<int> cores{};               // host cores it computes on; devices that share one exclude each other
  bool operator==(const MachineDevice&) const = default;

  /// Billions of operations a second for `dtype`; 0 when nothing is known.
  double gflops(DType dtype) const;
};

/// One direction. A direction that is not listed does not exist.
struct MachineLink {
  std::string from, to;
  double latency_us = 0;
  double gb_per_s = 0;
  CacheFigures cache{};
  bool operator==(const MachineLink&) const = default;

  MoveTime<double> move_time() const { return tandem::move_time(latency_us, gb_per_s, cache); }
  double microseconds(std::int64_t bytes) const { return move_time().microseconds(static_cast<double>(bytes)); }
};

/// Why the figures may be poorer than the machine is.
struct MachineDoubt {
  std::string why;          // "other programs had 43 % of the time"
  std::int64_t unix_s = 0;  // when they were measured
  bool operator==(const MachineDoubt&) const = default;
};

struct Machine {
  std::string name{};
  std::vector<std::string> sources{};  // where the figures come from
  std::vector<MachineDevice> devices{};
  std::vector<MachineLink> links{};
  CostHistory measured{};
  std::optional<MachineDoubt> doubt{};  // none: measured in quiet, or given
  bool operator==(const Machine&) const = default;

  /// Is what a history is relative to the same?
  bool same_figures(const Machine& other) const { return devices == other.devices; }

  std::optional<int> find(std::string_view device) const;
  const MachineLink* link(std::string_view from, std::string_view to) const;
  /// "/CPU:0, /GPU:0", for messages.
  std::string device_names() const;
};

/// Throws bad_file with the place when `json` is no machine; `source` is the name for messages.
Machine parse_machine(std::string_view json, std::string_view source);
/// Throws file_error when the file cannot be read.
Machine read_machine(const std::string& path);
std::string to_json(const Machine& machine);
void write_machine(const Machine& machine, const std::string& path);

}  // namespace tandem
