#include "tandem/place/cost.h"

#include <algorithm>

namespace tandem {

CostParts predict_from_figures(const OpWork& work, const MachineDevice& device) {
  const double gflops = device.gflops(work.dtype);
  const double flops_us = gflops > 0 ? work.flops / (gflops * 1e3) : 0;
  const double bytes_us = device.gb_per_s > 0 ? work.bytes / (device.gb_per_s * 1e3) : 0;
  const double depth_us = work.depth * device.step_us;

  CostParts parts{.launch = work.launches * device.launch_us, .compute = std::max({flops_us, bytes_us, depth_us})};
  if (parts.compute == 0 || (work.launches > 1 && parts.launch > parts.compute)) parts.bound = CostParts::Bound::launch;
  else if (parts.compute == depth_us) parts.bound = CostParts::Bound::depth;
  else if (parts.compute == bytes_us) parts.bound = CostParts::Bound::bytes;
  else parts.bound = CostParts::Bound::flops;
  return parts;
}

CostParts predict(const OpWork& work, const MachineDevice& device, const CostHistory& history) {
  CostParts parts = predict_from_figures(work, device);
  if (history.entries().empty()) return parts;
  const Measured* measured = history.find({work.op, work.dtype, size_bucket(work.flops, work.bytes), device.name});
  if (!measured) return parts;
  // The history corrects the whole; what lies beyond the launch is compute.
  parts.measured_weight = measured->weight();
  const double total = parts.total() * (1 + parts.measured_weight * (measured->ratio - 1));
  parts.launch = std::min(parts.launch, total);
  parts.compute = total - parts.launch;
  return parts;
}

}  // namespace tandem
