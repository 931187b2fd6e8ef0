// Which kernel would run: every op × dtype × device, found by asking the kernels as dispatch does.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"
#include "tandem/op/op_def.h"

namespace tandem::cli {

struct Refusal {
  std::string kernel;
  std::string reason;
  bool operator==(const Refusal&) const = default;
};

/// One cell of the table. Kernels may differ with the shape: all that ran for a sample of the op are listed.
struct KernelChoice {
  const OpDef* op = nullptr;
  DType dtype = DType::f32;
  std::string device;
  std::vector<std::string> kernels;  // empty: the device has none for it
  std::vector<Refusal> refused;      // asked before them, and why not
};

/// The choices of `device` for every dtype of `op`.
std::vector<KernelChoice> kernel_choices(const OpDef& op, Device& device);

}  // namespace tandem::cli
