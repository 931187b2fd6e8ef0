// What the kernels of attention share: its sizes as arguments of a launch.
#pragma once
#include "tandem/backend/opencl/kernels.h"
#include "tandem/kernel/attention_sizes.h"

namespace tandem::opencl {

struct AttentionPlan {
  Context* context;
  AttentionSizes s;
  bool wide;  // lanes are float64

  /// `first`: which input the query is.
  AttentionPlan(const KernelCall& call, int first);
  /// The struct Sizes.
  void add_sizes(Launch& launch) const;
  void add_scale(Launch& launch) const;
};

Support attention_supported(const KernelCall& call);

/// For CPU-type devices.
Kernel tiled_attention();
Kernel tiled_attention_grad();

}  // namespace tandem::opencl
