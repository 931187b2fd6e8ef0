// Every op × kernel × dtype against the reference kernel, and every gradient against finite differences. Generated
// from the list of ops: a new op is tested because it is in the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

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
          expect_close(got[k], expected[k], op.random ? 0 : tolerance(got[k].dtype()),
                       describe(op, sample, kernel.name));
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

// --- Gradients and gradients of gradients, in f64, against central differences. ---

/// Whose gradient is not the derivative by each input: stop_gradient's is none, and these take what the forward op kept
/// beside what it follows from. They are checked as gradients of the forward op's gradient.
bool has_derivative(const OpDef& op) {
  static constexpr std::string_view kOthers[] = {"stop_gradient", "dot_product_attention_grad", "gru_grad",
                                                 "simple_rnn_grad", "max_pool2d_grad"};
  return op.grad && std::ranges::find(kOthers, op.name) == std::end(kOthers);
}

std::vector<const OpDef*> differentiable_ops() {
  std::vector<const OpDef*> ops;
  std::ranges::copy_if(op_list(), std::back_inserter(ops), [](const OpDef* op) { return has_derivative(*op); });
  return ops;
}

class Gradients : public ::testing::TestWithParam<const OpDef*> {};

/// Whose gradient is that of a symmetric matrix, though only a triangle of it is read.
Tensor symmetric(const Tensor& matrix) {
  Ints perm(static_cast<std::size_t>(matrix.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return (matrix + transpose(matrix, perm)) * 0.5;
}

Tensors floating(const Tensors& inputs) {
  Tensors sources;
  std::ranges::copy_if(inputs, std::back_inserter(sources), [](const Tensor& t) { return is_floating(t.dtype()); });
  return sources;
}

/// The outputs that a gradient can begin with: without those that only the op's own gradient reads.
Tensors run_op(const OpDef& op, Tensors inputs, const Attrs& attrs) {
  if (op.name == "cholesky") inputs[0] = symmetric(inputs[0]);
  if (op.name.starts_with("softmax_cross_entropy")) inputs[0] = softmax(inputs[0]);  // labels that add up to 1
  const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  Tensors outputs = apply_all(op, refs, attrs);
  if (op.name == "lstm" || op.name == "gru" || op.name == "dot_product_attention") outputs.pop_back();
  return floating(outputs);
}

/// A scalar made from some tensors; the gradient checks differentiate it.
using ScalarFunction = std::function<Tensor(const Tensors&)>;

/// A copy of `tensor` with element i moved by `delta`.
Tensor moved(const Tensor& tensor, std::int64_t i, double delta) {
  auto values = tensor.to_vector<double>();
  values[static_cast<std::size_t>(i)] += delta;
  return Tensor::from(values, tensor.shape());
}

/// Compares the tape's gradient of f with central differences, at up to forty elements of each input.
void check_gradient(const ScalarFunction& f, Tensors inputs, const std::string& what) {
  constexpr double kStep = 1e-6;
  if (std::isnan(f(inputs).item<double>())) return;  // the mean of nothing
  Tensors grads;
  {
    GradientTape tape;
    for (const Tensor& source : floating(inputs)) tape.watch(source);
    grads = tape.gradient(f(inputs), floating(inputs), Unconnected::zero);
  }
  std::size_t source = 0;
  for (Tensor& input : inputs) {
    if (!is_floating(input.dtype())) continue;
    const Tensor original = input, grad = grads[source++];
    for (std::int64_t i = 0; i < original.size(); i += 1 + original.size() / 40) {
      input = moved(original, i, kStep);
      const double above = f(inputs).item<double>();
      input = moved(original, i, -kStep);
      const double below = f(inputs).item<double>();
      input = original;
      const double expected = (above - below) / (2 * kStep);
      ASSERT_NEAR(value_at(grad, i), expected, 2e-5 * std::max(1.0, std::abs(expected)))
          << what << ", input " << source - 1 << ", element " << i;
    }
  }
}

/// The samples whose gradients are checked: f64, small, and without a cast to another dtype.
std::vector<OpSample> gradient_samples(const OpDef& op) {
  std::vector<OpSample> small;
  for (OpSample& sample : samples(op, DType::f64)) {
    std::int64_t elements = 0;
    for (const SampleInput& input : sample.inputs) elements += input.spec.shape().elements();
    const bool cast_away = op.name == "cast" && sample.attrs.key()[0] != static_cast<std::int64_t>(DType::f64);
    if (elements <= 300 && !cast_away) small.push_back(std::move(sample));
  }
  return small;
}

/// Random weights turn a tensor into a scalar that depends on each element differently.
Tensor weighted_sum(const Tensor& tensor, unsigned seed) {
  std::mt19937 engine(seed);
  return reduce_sum(tensor * random_tensor({tensor.spec(), {0.5, 1.5}}, engine));
}

/// The sum of all; nothing where one is undefined.
Tensor weighted_sums(const Tensors& tensors, unsigned seed) {
  Tensor total = Tensor::scalar(0.0, DType::f64);
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) total = total + weighted_sum(tensor, seed++);
  return total;
}

ScalarFunction first_order(const OpDef& op, const OpSample& sample) {
  return [&](const Tensors& inputs) { return weighted_sums(run_op(op, inputs, sample.attrs), 3); };
}

/// The gradient of first_order, made a scalar again.
ScalarFunction second_order(const OpDef& op, const OpSample& sample) {
  return [&, f = first_order(op, sample)](const Tensors& inputs) {
    GradientTape tape;
    for (const Tensor& source : floating(inputs)) tape.watch(source);
    return weighted_sums(tape.gradient(f(inputs), floating(inputs)), 11);
  };
}

TEST_P(Gradients, AgreeWithFiniteDifferences) {
  const OpDef& op = *GetParam();
  for (const OpSample& sample : gradient_samples(op)) {
    check_gradient(first_order(op, sample), random_inputs(sample, 7), describe(op, sample, "gradient"));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Gradients, OfGradientsAgreeWithFiniteDifferences) {
  const OpDef& op = *GetParam();
  for (const OpSample& sample : gradient_samples(op)) {
    check_gradient(second_order(op, sample), random_inputs(sample, 7), describe(op, sample, "second gradient"));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradients, ::testing::ValuesIn(differentiable_ops()), op_name);

}  // namespace
}  // namespace tandem
