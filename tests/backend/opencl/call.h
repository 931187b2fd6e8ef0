// Devices of the tests, and one call of an op on one of them, without the runtime above it.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/ops.h"
#include "tandem/runtime/runtime.h"
#include "tests/op/sample_data.h"

namespace tandem::opencl {

/// The tests keep no programs, unless a folder is given: keeping them costs more than making them.
inline bool without_cache() {
  if (!std::getenv("TANDEM_CACHE_DIR")) setenv("TANDEM_PROGRAM_CACHE", "0", 1);
  return true;
}

inline std::vector<std::unique_ptr<Device>> devices(const Options& options) {
  [[maybe_unused]] static const bool set = without_cache();
  Options here = options;
  const Options told = options_from_environment();  // scripts/test --oclgrind tries all styles
  here.cpu_style = told.cpu_style;
  if (!here.wide_vectors) here.wide_vectors = told.wide_vectors;
  return make_devices(here);
}

/// One call of an op on a device: inputs copied over, run, results copied back.
struct Call {
  const OpDef& op;
  const Attrs& attrs;
  Tensors inputs;
  std::vector<Operand> in, out;
  Specs specs;

  Call(const OpDef& op, const Attrs& attrs, Tensors values) : op(op), attrs(attrs), inputs(std::move(values)) {
    std::vector<const TensorSpec*> pointers;
    for (const Tensor& input : inputs) {
      pointers.push_back(&input.spec());
      in.emplace_back(input.spec());
    }
    specs = infer(op, pointers, attrs);
    for (const TensorSpec& spec : specs) out.emplace_back(spec);
  }

  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const Operand& operand : in) sum += operand.shape().elements();
    for (const TensorSpec& spec : specs) sum += spec.shape().elements();
    return sum;
  }

  KernelCall kernel_call(Device* device) const { return {op, attrs, in, out, device}; }

  Tensors run_reference() const {
    Tensors outputs;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Tensor& input : inputs) from.push_back(input.raw_data());
    for (const TensorSpec& spec : specs) {
      outputs.push_back(Tensor::uninitialized(spec, host_memory(), nullptr));
      to.push_back(outputs.back().impl()->storage->address());
    }
    const Kernel& kernel = default_runtime().devices()[0]->kernels().of(op).back();
    kernel.prepare(kernel_call(nullptr))->run({from.data(), to.data(), attrs.run_time()});
    return outputs;
  }

  Tensors run(Device& device, const Kernel& kernel) const {
    MemorySpace& memory = device.memory();
    std::vector<Allocation> blocks;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Tensor& input : inputs) {
      blocks.emplace_back(memory, input.spec().bytes());
      wait(memory.copy_from_host(blocks.back().address(), input.raw_data(), input.spec().bytes()));
      from.push_back(blocks.back().address());
    }
    for (const TensorSpec& spec : specs) {
      blocks.emplace_back(memory, spec.bytes());
      to.push_back(blocks.back().address());
      const std::vector<char> junk(spec.bytes(), 0x5A);
      wait(memory.copy_from_host(to.back(), junk.data(), junk.size()));
    }
    kernel.prepare(kernel_call(&device))->run({from.data(), to.data(), attrs.run_time()});
    Tensors outputs;
    for (std::size_t k = 0; k < specs.size(); ++k) {
      outputs.push_back(Tensor::uninitialized(specs[k], host_memory(), nullptr));
      wait(memory.copy_to_host(outputs.back().impl()->storage->address(), to[k], specs[k].bytes()));
    }
    return outputs;
  }
  bool runs_with(const Kernel& kernel, Device& device) const {
    return !kernel.supports || kernel.supports(kernel_call(&device));
  }
  /// By the first kernel that takes it.
  Tensor run(Device& device) const {
    const auto kernels = device.kernels().of(op);
    const auto first = std::ranges::find_if(kernels, [&](const Kernel& kernel) { return runs_with(kernel, device); });
    TANDEM_CHECK(first != kernels.end(), op.name, " has no kernel for this");
    return run(device, *first)[0];
  }
};

inline Tensor random_f32(const Shape& shape, unsigned seed = 1) {
  std::mt19937 engine(seed);
  return random_tensor({{DType::f32, shape}, {-1, 1}}, engine);
}

}  // namespace tandem::opencl
