// The cost model: what an op takes on a device, from its work and the device's figures, corrected by what was measured.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/place/machine.h"

namespace tandem {

/// What an op has to do, whatever the device.
struct OpWork {
  std::string op{};
  DType dtype = DType::f32;
  double flops = 0;
  double bytes = 0;  // read and written
  double depth = 0;  // steps that must follow each other inside the kernel: 1000 for a scan over 1000 elements
  double launches = 1;  // kernels that follow each other: 3000 for a loop of 1000 rounds of three
};

/// Microseconds. The compute part is the largest of three; `bound` says which.
struct CostParts {
  enum class Bound { launch, flops, bytes, depth };
  double launch = 0;
  double compute = 0;
  Bound bound = Bound::launch;  // launch: nothing to compute that would count, or a chain of launches

  double total() const { return launch + compute; }
};

/// launches × launch + max(flops / peak, bytes / bandwidth, depth × step time), blended with the machine's history.
CostParts predict(const OpWork& work, const MachineDevice& device, const CostHistory& history = {});

/// Without the history: what measurements are compared with.
CostParts predict_from_figures(const OpWork& work, const MachineDevice& device);

}  // namespace tandem
