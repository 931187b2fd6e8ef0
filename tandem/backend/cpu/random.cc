// Random numbers: sample i is a function of key, counter and i, so slices can be made by any thread.
#include <array>

#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/loop_nest.h"
#include "tandem/backend/cpu/loop_source.h"
#include "tandem/kernel/random_program.h"
#include "tandem/op/records.h"

namespace tandem::cpu {
namespace {

constexpr int kWords = kRandomWords;
constexpr ScalarInputs kAllScalars = 0b111111;

class RandomKernel final : public PreparedKernel, public RowKernel {
 public:
  RandomKernel(const KernelCall& call, std::shared_ptr<const Loop> loop)
      : lane_(lane_dtype(call.outputs[0].dtype())),
        op_(call.op),
        nest_(Shape{call.outputs[0].shape().elements()}, scalar_operands(lane_),
              std::array{Operand({call.outputs[0].dtype(), Shape{call.outputs[0].shape().elements()}})},
              call.op.flops_per_element),
        loop_(std::move(loop)),
        rows_(call.outputs[0].shape().rank() > 0 ? call.outputs[0].shape()[0] : 1),
        elements_(call.outputs[0].shape().elements()) {}

  void run(const KernelArgs& args) const override {
    with_inputs(args, [&](const KernelArgs& all) { nest_.run(*loop_, all); });
  }

  std::int64_t rows() const override { return rows_; }
  bool reads_by_row(std::size_t) const override { return false; }
  std::unique_ptr<const CutKernel> cut(std::span<const RowRange>) const override {
    return elements_ ? cut_anywhere(*this) : nullptr;
  }
  void run_rows(const KernelArgs& args, RowRange rows) const {
    const std::int64_t each = elements_ / rows_;
    with_inputs(args,
                [&](const KernelArgs& all) { nest_.run_part(*loop_, all, {rows.begin * each, rows.end * each}); });
  }

 private:
  template <class F>
  void with_inputs(const KernelArgs& args, const F& run) const {
    const RandomScalars scalars(op_, args.run_time, lane_);
    const void* inputs[kWords + 2];
    for (int i = 0; i < kWords; ++i) inputs[i] = &scalars.words[i];
    for (int i = 0; i < 2; ++i) inputs[kWords + i] = &scalars.numbers[i];
    run({inputs, args.outputs, {}});
  }
  static std::vector<Operand> scalar_operands(DType lane) {
    std::vector<Operand> operands;
    for (int i = 0; i < kWords; ++i) operands.emplace_back(TensorSpec(DType::i32, Shape{}));
    for (int i = 0; i < 2; ++i) operands.emplace_back(TensorSpec(lane, Shape{}));
    return operands;
  }
  DType lane_;
  const OpDef& op_;
  LoopNest nest_;
  std::shared_ptr<const Loop> loop_;
  std::int64_t rows_, elements_;
};

template <bool kGenerated>
Support supports(const KernelCall& call) {
  LoopSource source(kGenerated);
  source.loop(random_program(call.op, call.outputs[0].dtype()), kAllScalars);
  return source.refusal().empty() ? yes() : no(source.refusal());
}

template <bool kGenerated>
Prepared prepare(const KernelCall& call) {
  LoopSource source(kGenerated);
  return std::make_unique<RandomKernel>(call,
                                        source.loop(random_program(call.op, call.outputs[0].dtype()), kAllScalars));
}

/// One element at a time by the meaning of the program itself.
Prepared prepare_reference(const KernelCall& call) {
  const DType dtype = call.outputs[0].dtype();
  return prepared([program = random_program(call.op, dtype), dtype, lane = lane_dtype(dtype), op = &call.op,
                   count = call.outputs[0].shape().elements()](const KernelArgs& args) {
    const RandomScalars scalars(*op, args.run_time, lane);
    ScalarValue in[kWords + 2], out;
    for (int i = 0; i < kWords; ++i) in[i].i32 = scalars.words[i];
    for (int i = 0; i < 2; ++i) in[kWords + i] = scalars.numbers[i];
    for (std::int64_t i = 0; i < count; ++i) {
      expr::evaluate(program, in, &out, static_cast<std::uint64_t>(i));
      visit_dtype(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) args.output<T>()[i] = T(out.f32);
        else args.output<T>()[i] = out.get<T>();
      });
    }
  });
}

}  // namespace

KernelList random_kernels() {
  return {{.name = "jit", .supports = supports<true>, .prepare = prepare<true>},
          {.name = "tiles", .supports = supports<false>, .prepare = prepare<false>},
          {.name = "reference", .prepare = prepare_reference}};
}

}  // namespace tandem::cpu
