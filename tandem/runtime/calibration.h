// Measures the devices at hand: the machine description that the placer reckons with.
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/place/machine.h"

namespace tandem {

struct CalibrationOptions {
  double seconds = 0.036;  // for each device; programs that must be compiled first take longer
  bool full = false;      // also other dtypes, and ops one by one (the machine's history)
  std::function<void(const std::string& what)> progress = {};
};

/// Peak, bandwidth, launch and step of each device, and the links between them, as they are now. The devices are those
/// of the default runtime. Where others were at work meanwhile, the machine's `doubt` says so, and no history is given.
Machine calibrate(std::span<Device* const> devices, const CalibrationOptions& options = {});

/// One op as predicted by the machine, as predicted once 50 runs of it are in the history, and as it was measured then.
struct CalibrationCheck {
  std::string op, shape, device;
  double predicted_us = 0, learnt_us = 0, measured_us = 0;
};
/// Runs the ops that `full` measures. What is learnt stays in the copy of the machine.
std::vector<CalibrationCheck> check_calibration(std::span<Device* const> devices, Machine machine);

/// The file in which what was measured on this host, with these devices and drivers, is kept.
std::filesystem::path machine_file(std::span<Device* const> devices);

}  // namespace tandem
