// Every op and its gradient, traced once with an axis left open and run for several sizes, beside eager execution.
// Generated from the list of ops. A trace may refuse to serve a size, as many do; what must not happen is another
// result.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "tandem/autodiff/function.h"
#include "tandem/autodiff/tape.h"
#include "tandem/op/ops.h"
#include "tandem/op/random_state.h"
#include "tests/op/compare.h"

namespace tandem {
namespace {

constexpr std::size_t kMostSamples = 6;
constexpr double kFused = 2e-2;  // fused ops keep what is rounded between them, and cancel otherwise

/// Which axis of which inputs is open.
struct Opened {
  int axis;
  std::int64_t size;           // in the sample
  std::vector<bool> inputs;
};

/// The results of the op, then the gradients of a scalar made of them.
class Call {
 public:
  Call(const OpDef& op, const OpSample& sample, std::int64_t follows) : op_(op), sample_(sample), follows_(follows) {}

  /// Attributes that are `follows` in the sample are the size of the first open input here, if it is given.
  Tensors operator()(const Tensors& inputs, int first, int axis) const {
    const DeviceScope scope(
        "/CPU:0");  // where the placer would run an op changes with what it has learnt, and with it the rounding
    const Attrs attrs = attrs_for(inputs[static_cast<std::size_t>(first)].shape()[axis]);
    const std::vector<TensorRef> refs(inputs.begin(), inputs.end());
    if (!op_.grad) return apply_all(op_, refs, attrs);
    GradientTape tape;
    Tensors sources;
    for (const Tensor& input : inputs)
      if (is_floating(input.dtype())) tape.watch(input), sources.push_back(input);
    Tensors results = apply_all(op_, refs, attrs);
    Tensor loss(0.0f);
    for (const Tensor& result : results)
      if (is_floating(result.dtype())) loss = loss + reduce_sum(square(cast(result, DType::f32)));
    for (const Tensor& gradient : tape.gradient(loss, sources))
      if (gradient.defined()) results.push_back(gradient);
    return results;
  }

 private:
  Attrs attrs_for(std::int64_t size) const {
    if (follows_ < 0) return sample_.attrs;
    Attrs out;
    std::size_t at[2] = {0, 0};
    for (const AttrDef& def : op_.attrs) {
      const auto words = def.at_run_time ? sample_.attrs.run_time() : sample_.attrs.key();
      std::size_t& here = at[def.at_run_time];
      std::int64_t count = 1;
      if (def.kind == AttrKind::ints) out.push(def.at_run_time, count = words[here++]);
      for (; count > 0; --count, ++here)
        out.push(def.at_run_time, def.kind == AttrKind::ints && words[here] == follows_ ? size : words[here]);
    }
    return out;
  }
  const OpDef& op_;
  const OpSample& sample_;
  std::int64_t follows_;
};

struct Outcome {
  std::optional<Tensors> results;
  std::string error;
};

template <class F>
Outcome outcome_of(F call) {
  random_state().set_seed(7);
  try {
    return {call(), ""};
  } catch (const Error& error) {
    return {std::nullopt, error.what()};
  }
}

class OpenOps : public ::testing::TestWithParam<const OpDef*> {
 protected:
  static inline int served = 0, fell_back = 0;
  static inline std::set<std::string_view> ops_served, ops_met;

  static void TearDownTestSuite() {
    std::printf("open sizes: %zu of %zu ops were served by a trace with an open axis; %d calls, %d fell back\n",
                ops_served.size(), ops_met.size(), served, fell_back);
  }

  void check(const OpDef& op, const OpSample& sample, const Opened& opened, bool follow,
             const std::vector<std::vector<std::int64_t>>& calls) {
    const Call body(op, sample, follow ? opened.size : -1);
    const int first =
        static_cast<int>(std::find(opened.inputs.begin(), opened.inputs.end(), true) - opened.inputs.begin());
    const Function f([&](const Tensors& inputs) { return body(inputs, first, opened.axis); });
    OpenAxes axes;
    for (const bool open : opened.inputs) axes.push_back(open ? 1u << opened.axis : 0);
    ops_met.insert(op.name);
    for (const auto& sizes : calls) {
      const Tensors inputs = inputs_for(sample, opened, sizes);
      const Outcome expected = outcome_of([&] { return body(inputs, first, opened.axis); });
      const Function fresh([&](const Tensors& arguments) { return body(arguments, first, opened.axis); });
      const Outcome traced = outcome_of([&] { return (*fresh.concrete(inputs))(inputs); });
      std::shared_ptr<const GraphFunction> function;
      const Outcome got = outcome_of([&] {
        function = f.concrete(inputs, "", axes);
        return (*function)(inputs);
      });
      const std::string what =
          text(describe(op, sample, "open"), " axis ", opened.axis, " sizes ", join(sizes), follow ? " followed" : "");
      ASSERT_EQ(expected.results.has_value(), got.results.has_value())
          << what << ": " << expected.error << " / " << got.error;
      if (!expected.results) continue;
      function->origin().open ? ++served : ++fell_back;
      if (function->origin().open) ops_served.insert(op.name);
      ASSERT_EQ(expected.results->size(), got.results->size()) << what;
      // The gradient of one number that is added to all scores of a softmax is 0: what is left is the rounding of the
      // others.
      double largest = 0;
      for (const Tensor& result : *expected.results) largest = std::max(largest, scale_of(result));
      const double least = std::max(1e-3, 2e-3 * largest);
      for (std::size_t k = 0; k < expected.results->size(); ++k) {
        const double rounding =
            20 * tolerance((*got.results)[k].dtype());  // some gradients have formulas of their own for square matrices
        expect_close((*got.results)[k], (*traced.results)[k], rounding,
                     text(what, " result ", k, " beside a trace for the size"));
        expect_close((*got.results)[k], (*expected.results)[k], kFused,
                     text(what, " result ", k, " beside ops run one by one"), least);
        if (HasFatalFailure()) return;
      }
    }
  }

 private:
  static Tensors inputs_for(const OpSample& sample, const Opened& opened, const std::vector<std::int64_t>& sizes) {
    OpSample resized = sample;
    std::size_t next = 0;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!opened.inputs[i]) continue;
      const Shape& shape = sample.inputs[i].spec.shape();
      std::vector<std::int64_t> axes(shape.begin(), shape.end());
      axes[static_cast<std::size_t>(opened.axis)] = sizes[std::min(next++, sizes.size() - 1)];
      resized.inputs[i].spec = {sample.inputs[i].spec.dtype(), Shape(std::span<const std::int64_t>(axes))};
    }
    return random_inputs(resized);
  }
};

/// The inputs that have the axis in the size that input `of` has there.
Opened opened_with(const OpSample& sample, int of, int axis) {
  Opened opened{axis, sample.inputs[static_cast<std::size_t>(of)].spec.shape()[axis], {}};
  for (const SampleInput& input : sample.inputs)
    opened.inputs.push_back(input.spec.shape().rank() > axis && input.spec.shape()[axis] == opened.size);
  return opened;
}

TEST_P(OpenOps, GiveForAnySizeWhatTheyGiveEagerly) {
  const OpDef& op = *GetParam();
  const auto dtypes = sample_dtypes(op);
  const DType dtype = std::ranges::count(dtypes, DType::f32) || dtypes.empty() ? DType::f32 : dtypes[0];
  std::vector<OpSample> some = samples(op, dtype);
  const auto is_empty = [](const SampleInput& input) { return input.spec.shape().elements() == 0; };
  std::erase_if(some, [&](const OpSample& sample) {
    return sample.inputs.empty() || std::ranges::any_of(sample.inputs, is_empty);
  });
  if (some.size() > kMostSamples) some.resize(kMostSamples);
  for (const OpSample& sample : some)
    for (int axis = 0; axis < sample.inputs[0].spec.shape().rank(); ++axis) {
      const Opened opened = opened_with(sample, 0, axis);
      for (const bool follow : {false, true}) {
        check(op, sample, opened, follow, {{3}, {1}, {2}, {5}, {8}, {opened.size}});
        if (HasFatalFailure()) return;
      }
      check(op, sample, opened, true, {{1}, {4}, {0}, {2}});  // the first call is the one that could mislead
      if (HasFatalFailure()) return;
      if (std::ranges::count(opened.inputs, true) < 2) continue;
      check(op, sample, opened, false, {{5, 5}, {1, 5}, {5, 1}, {4, 3}, {1, 1}, {2, 2}});
      if (HasFatalFailure()) return;
    }
}

std::vector<const OpDef*> traceable_ops() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : op_list())
    if (!op->data_dependent_shape) ops.push_back(op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, OpenOps, ::testing::ValuesIn(traceable_ops()),
                         [](const ::testing::TestParamInfo<const OpDef*>& info) {
                           return std::string(info.param->name);
                         });

}  // namespace
}  // namespace tandem
