// Every op × kernel × dtype against the reference kernel, and every gradient against finite differences. Generated
// from the list of ops: a new op is tested because it is in the list.
#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/autodiff/tape.h"
#include "tandem/base/cores.h"
#include "tandem/kernel/kernel.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"
#include "tandem/runtime/runtime.h"
#include "tests/op/compare.h"
#include "tests/op/sample_data.h"

namespace tandem {
namespace {

std::vector<const OpDef*> runnable_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : op_list())
    if (!op->view) ops.push_back(op);
  return ops;
}

std::string op_name(const ::testing::TestParamInfo<const OpDef*>& info) { return std::string(info.param->name); }

struct Call {
  Tensors inputs;
  std::vector<Operand> in, out;
  Specs specs;

  Call(const OpDef& op, const OpSample& sample) : inputs(random_inputs(sample)) {
    std::vector<const TensorSpec*> pointers;
    for (const Tensor& input : inputs) {
      pointers.push_back(&input.spec());
      in.emplace_back(input.spec());
    }
    specs = infer(op, pointers, sample.attrs);
    for (const TensorSpec& spec : specs) out.emplace_back(spec);
  }

  Tensors run(const Kernel& kernel, const OpDef& op, const Attrs& attrs) const {
    Tensors outputs;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Tensor& input : inputs) from.push_back(input.raw_data());
    for (const TensorSpec& spec : specs) {
      outputs.push_back(Tensor::uninitialized(spec, host_memory(), nullptr));
      to.push_back(outputs.back().impl()->storage->address());
      std::memset(to.back(), 0x5A, spec.bytes());
    }
    kernel.prepare({op, attrs, in, out})->run({from.data(), to.data(), attrs.run_time()});
    return outputs;
  }
};

class Conformance : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Conformance, EveryKernelAgreesWithTheReference) {
  const OpDef& op = *GetParam();
  const auto kernels = default_runtime().devices()[0]->kernels().of(op);
  ASSERT_FALSE(kernels.empty()) << op.name << " has no kernels";
  int compared = 0;
  for (DType dtype : sample_dtypes(op))
    for (const OpSample& sample : samples(op, dtype)) {
      const Call call(op, sample);
      const Tensors expected = call.run(kernels.back(), op, sample.attrs);
      for (const Kernel& kernel : kernels.first(kernels.size() - 1)) {
        const Support support = kernel.supports ? kernel.supports({op, sample.attrs, call.in, call.out}) : yes();
        if (!support) {
          EXPECT_FALSE(support.reason.empty()) << kernel.name << " refuses " << op.name << " without a reason";
          continue;
        }
        const Tensors got = call.run(kernel, op, sample.attrs);
        ++compared;
        for (std::size_t k = 0; k < got.size(); ++k)
          expect_close(got[k], expected[k], op.random ? 0 : tolerance(got[k].dtype()), describe(op, sample, kernel.name));
        if (HasFatalFailure()) return;
      }
    }
  EXPECT_TRUE(compared > 0 || kernels.size() == 1) << op.name << ": no kernel but the reference ran";
}

TEST_P(Conformance, TheBitsAreTheSameForAnyNumberOfThreads) {
  const OpDef& op = *GetParam();
  for (DType dtype : sample_dtypes(op))
    for (const OpSample& sample : samples(op, dtype)) {
      const Call call(op, sample);
      for (const Kernel& kernel : default_runtime().devices()[0]->kernels().of(op)) {
        if (kernel.supports && !kernel.supports({op, sample.attrs, call.in, call.out})) continue;
        Cores::process().set_threads(1);
        const Tensors one = call.run(kernel, op, sample.attrs);
        Cores::process().set_threads(3);
        const Tensors three = call.run(kernel, op, sample.attrs);
        Cores::process().set_threads(usable_cores());
        for (std::size_t k = 0; k < one.size(); ++k)
          ASSERT_EQ(std::memcmp(one[k].raw_data(), three[k].raw_data(), one[k].spec().bytes()), 0)
              << describe(op, sample, kernel.name);
        break;  // the kernel that would be chosen
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, Conformance, ::testing::ValuesIn(runnable_ops()), op_name);

// --- Gradients, in f64, against central differences of the weighted sum of the outputs. ---

std::vector<const OpDef*> differentiable_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : op_list())
    if (op->grad && op->name != "stop_gradient") ops.push_back(op);  // whose gradient is not its derivative
  return ops;
}

class Gradients : public ::testing::TestWithParam<const OpDef*> {};

Tensor run_op(const OpDef& op, const Tensors& inputs, const Attrs& attrs) {
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  return apply_all(op, refs, attrs)[0];
}

double weighted_sum(const Tensor& output, const Tensor& weights) {
  double sum = 0;
  for (std::int64_t i = 0; i < output.size(); ++i) sum += value_at(output, i) * value_at(weights, i);
  return sum;
}

/// A copy of `tensor` with element i moved by `delta`.
Tensor moved(const Tensor& tensor, std::int64_t i, double delta) {
  auto values = tensor.to_vector<double>();
  values[static_cast<std::size_t>(i)] += delta;
  return Tensor::from(values, tensor.shape());
}

void check_input(const OpDef& op, const OpSample& sample, Tensors inputs, std::size_t which, const Tensor& weights,
                 const Tensor& grad) {
  constexpr double kStep = 1e-6;
  const Tensor original = inputs[which];
  for (std::int64_t i = 0; i < original.size(); i += 1 + original.size() / 40) {
    inputs[which] = moved(original, i, kStep);
    const double above = weighted_sum(run_op(op, inputs, sample.attrs), weights);
    inputs[which] = moved(original, i, -kStep);
    const double below = weighted_sum(run_op(op, inputs, sample.attrs), weights);
    const double expected = (above - below) / (2 * kStep);
    const double got = grad.defined() ? value_at(grad, i) : 0;
    ASSERT_NEAR(got, expected, 2e-5 * std::max(1.0, std::abs(expected)))
        << describe(op, sample, "gradient") << ", input " << which << ", element " << i;
  }
}

/// max_pool2d_grad and friends take outputs of another op as inputs; gradients are checked where inputs are free.
void check_gradients(const OpDef& op) {
  for (const OpSample& sample : samples(op, DType::f64)) {
    const Tensors inputs = random_inputs(sample, 7);
    std::int64_t elements = 0;
    for (const Tensor& input : inputs) elements += input.size();
    if (elements > 300) continue;  // the large samples are for the kernels
    if (&op == find_op("cast") && sample.attrs.key()[0] != static_cast<std::int64_t>(DType::f64)) continue;
    GradientTape tape({.persistent = true});
    Tensors sources;
    for (const Tensor& input : inputs)
      if (is_floating(input.dtype())) {
        tape.watch(input);
        sources.push_back(input);
      }
    const Tensor output = run_op(op, inputs, sample.attrs);
    std::mt19937 engine(3);
    const Tensor weights = random_tensor({output.spec(), {0.5, 1.5}}, engine);
    const Tensors grads = tape.gradient(output, sources, Unconnected::none, weights);
    for (std::size_t i = 0, s = 0; i < inputs.size(); ++i) {
      if (!is_floating(inputs[i].dtype())) continue;
      check_input(op, sample, inputs, i, weights, grads[s++]);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(Gradients, AgreeWithFiniteDifferences) { check_gradients(*GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ops, Gradients, ::testing::ValuesIn(differentiable_ops()), op_name);

}  // namespace
}  // namespace tandem
