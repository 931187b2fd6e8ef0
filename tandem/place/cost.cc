#include "tandem/place/cost.h"

#include <algorithm>

namespace tandem {

CostParts predict_from_figures(const OpWork& work, const MachineDevice& device) {
  const double gflops = device.gflops(work.dtype);
  const double flops_us = gflops > 0 ? work.flops / (gflops * 1e3) : 0;
  const double bytes_us =
      device.gb_per_s > 0 ? move_time(0, device.gb_per_s, device.cache).microseconds(work.bytes) : 0;
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
  const HistoryKey key{work.op, work.dtype, size_bucket(work.flops, work.bytes), device.name};
  const Measured* measured = history.find(key);
  const Nearby nearby = history.nearby(key);
  const double own_weight = measured ? measured->weight() : 0;
  // What is not known of this size is taken from its neighbours', and what they do not know from the figures.
  const double reckoned = 1 + nearby.weight * (nearby.ratio - 1);
  const double ratio = measured ? reckoned + own_weight * (measured->ratio - reckoned) : reckoned;
  // The history corrects the whole; what lies beyond the launch is compute.
  const double total = parts.total() * ratio;
  parts.launch = std::min(parts.launch, total);
  parts.compute = total - parts.launch;
  return parts;
}

}  // namespace tandem
