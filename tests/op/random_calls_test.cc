// Ops called with random shapes and attributes: each call is refused with an Error, or every kernel agrees with the
// reference. Seeded, so that a failure comes again.
#include <gtest/gtest.h>

#include <algorithm>

#include "tandem/kernel/kernel.h"
#include "tandem/runtime/runtime.h"
#include "tests/op/compare.h"

namespace tandem {
namespace {

constexpr int kCallsAnOp = 100;
constexpr std::int64_t kMostElements = 20'000;

class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  std::int64_t below(std::int64_t limit) { return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(engine_); }
  bool one_in(int n) { return below(n) == 0; }
  const auto& one_of(const auto& values) { return values[static_cast<std::size_t>(below(std::ssize(values)))]; }

 private:
  std::mt19937 engine_;
};

/// Sizes changed, axes added and taken away, now and then; the others stay, or nothing would fit.
Shape changed(Chance& chance, const Shape& shape) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  for (std::int64_t& size : sizes)
    if (chance.one_in(3)) size = chance.below(7);
  if (!sizes.empty() && chance.one_in(8)) sizes.pop_back();
  if (sizes.size() < kMaxRank && chance.one_in(8)) sizes.push_back(1 + chance.below(3));
  return Shape(std::span<const std::int64_t>(sizes));
}

/// Integers, lists of them and bools changed a little; lists become shorter and longer too.
Attrs changed(Chance& chance, const OpDef& op, const Attrs& attrs) {
  const AttrView view(op, attrs);
  AttrWriter writer(op);
  const auto near = [&](std::int64_t value) { return chance.one_in(4) ? value + chance.below(5) - 2 : value; };
  for (const AttrDef& def : op.attrs) {
    switch (def.kind) {
      case AttrKind::integer: writer.put(near(view.integer(def.name))); break;
      case AttrKind::boolean: writer.put(view.boolean(def.name) != chance.one_in(4)); break;
      case AttrKind::real: writer.put(view.real(def.name)); break;
      case AttrKind::dtype: writer.put(view.dtype(def.name)); break;
      case AttrKind::choice: writer.put(view.choice(def.name)); break;
      case AttrKind::ints: {
        std::vector<std::int64_t> values;
        for (std::int64_t value : view.ints(def.name)) values.push_back(near(value));
        if (!values.empty() && chance.one_in(10)) values.pop_back();
        if (chance.one_in(10)) values.push_back(chance.below(3));
        writer.put(values);
      }
    }
  }
  return writer.done();
}

/// `from` becomes `to` wherever it stands: what belonged together still fits.
Shape renamed(const Shape& shape, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  std::ranges::replace(sizes, from, to);
  return Shape(std::span<const std::int64_t>(sizes));
}

OpSample changed(Chance& chance, const OpDef& op, const OpSample& sample) {
  OpSample made = sample;
  const std::int64_t shapes = chance.below(3), from = 1 + chance.below(6), to = chance.below(9);
  for (SampleInput& input : made.inputs) {
    if (shapes == 1) input.spec = TensorSpec(input.spec.dtype(), renamed(input.spec.shape(), from, to));
    if (shapes == 2) input.spec = TensorSpec(input.spec.dtype(), changed(chance, input.spec.shape()));
  }
  if (chance.one_in(2)) made.attrs = changed(chance, op, sample.attrs);
  return made;
}

Tensors run(const Kernel& kernel, const KernelCall& call, const Tensors& inputs) {
  Tensors outputs;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const Tensor& input : inputs) from.push_back(input.raw_data());
  for (const Operand& output : call.outputs) {
    outputs.push_back(Tensor::uninitialized(output.spec, host_memory(), nullptr));
    to.push_back(outputs.back().impl()->storage->address());
  }
  kernel.prepare(call)->run({from.data(), to.data(), call.attrs.run_time()});
  return outputs;
}

/// True when the call was accepted.
bool call_agrees(const OpDef& op, const OpSample& sample) {
  std::vector<const TensorSpec*> specs;
  std::int64_t elements = 0;
  for (const SampleInput& input : sample.inputs) {
    specs.push_back(&input.spec);
    elements += input.spec.shape().elements();
  }
  const Specs results = infer(op, specs, sample.attrs);
  for (const TensorSpec& spec : results) elements += spec.shape().elements();
  if (elements > kMostElements) return false;
  const Tensors inputs = random_inputs(sample, 5);
  std::vector<Operand> in, out;
  for (const Tensor& input : inputs) in.emplace_back(input.spec());
  for (const TensorSpec& spec : results) out.emplace_back(spec);
  const KernelCall call{op, sample.attrs, in, out};
  const auto kernels = default_runtime().devices()[0]->kernels().of(op);
  const Tensors expected = run(kernels.back(), call, inputs);
  for (std::size_t k = 0; k + 1 < kernels.size(); ++k) {
    if (kernels[k].supports && !kernels[k].supports(call)) continue;
    const Tensors got = run(kernels[k], call, inputs);
    for (std::size_t i = 0; i < got.size() && !op.random; ++i)
      expect_close(got[i], expected[i], 50 * tolerance(got[i].dtype()), describe(op, sample, kernels[k].name), 1);
  }
  return true;
}

class RandomCalls : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(RandomCalls, AreRefusedWithAnErrorOrAgreeWithTheReference) {
  const OpDef& op = *GetParam();
  std::vector<std::vector<OpSample>> known;  // by dtype
  for (DType dtype : sample_dtypes(op)) known.push_back(samples(op, dtype));
  Chance chance(17);
  int accepted = 0;
  for (int i = 0; i < kCallsAnOp; ++i) {
    const OpSample sample = changed(chance, op, chance.one_of(chance.one_of(known)));
    try {
      accepted += call_agrees(op, sample);
    } catch (const Error& error) {  // refused, with a reason; what only we can have caused is none
      ASSERT_NE(error.code(), ErrorCode::internal) << error.what() << "\n" << describe(op, sample, "");
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, 0) << "no call of " << op.name << " fitted";
}

std::vector<const OpDef*> ops_with_kernels() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : op_list())
    if (!op->view && !op->data_dependent_shape && !sample_dtypes(*op).empty()) ops.push_back(op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Ops, RandomCalls, ::testing::ValuesIn(ops_with_kernels()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tandem
