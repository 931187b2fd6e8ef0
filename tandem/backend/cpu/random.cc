// Random numbers: sample i is a function of key, counter and i, so slices can be made by any thread.
#include <array>

#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/loop_nest.h"
#include "tandem/backend/cpu/loop_source.h"
#include "tandem/expr/random.h"
#include "tandem/op/records.h"

namespace tandem::cpu {
namespace {

using expr::Expr;
using expr::Lane;

/// Inputs of the program, all scalars: four words of key and counter (i32), then two numbers of the lane type.
constexpr int kWords = 4;
constexpr ScalarInputs kAllScalars = 0b111111;

std::vector<DType> program_inputs(DType number) {
  return {DType::i32, DType::i32, DType::i32, DType::i32, number, number};
}

/// Integers in [low, low + range): the upper half of word * range. Of 2^32 words some values get one more than
/// others, a bias below range / 2^32.
Expr random_integer(const std::array<Expr, 4>& words, Expr low, Expr range_word) {
  if (low.lane() == Lane::i32) return low + mul_hi_u32(words[0], range_word);
  const Expr drawn = convert(mul_hi_u32(words[0], convert(range_word, Lane::i32)), Lane::i64);
  return low + (drawn & low.graph().constant_bits(Lane::i64, 0xFFFFFFFFull));  // the word is unsigned
}

expr::Program random_program(const OpDef& op, DType dtype) {
  const DType number = lane_dtype(dtype);
  expr::Graph graph;
  std::vector<Expr> in;
  for (DType input : program_inputs(number)) in.push_back(graph.input(static_cast<int>(in.size()), expr::lane_of(input)));
  const auto words = expr::philox(graph.index_lo(), graph.index_hi(), {in[0], in[1], in[2], in[3]});
  const bool wide = number == DType::f64;
  Expr result;
  if (!is_floating(dtype)) result = random_integer(words, in[4], in[5]);
  else if (&op == &random_normal_op) result = fma(wide ? normal_f64(words) : normal(words[0], words[1]), in[5], in[4]);
  else result = fma(wide ? uniform01_f64(words[0], words[1]) : uniform01(words[0]), in[5], in[4]);
  return expr::make_program(graph, program_inputs(number), {result}, {dtype});
}

/// The scalars of one run, from the op's run-time words: two numbers, key, counter.
struct Scalars {
  std::int32_t words[kWords];
  ScalarValue numbers[2];

  Scalars(std::span<const std::int64_t> run_time, bool uniform, DType lane) {
    const double first = std::bit_cast<double>(run_time[0]), second = std::bit_cast<double>(run_time[1]);
    const double scale = uniform ? second - first : second;  // maxval - minval, or stddev
    for (int i = 0; i < 2; ++i) {
      const auto word = static_cast<std::uint64_t>(run_time[static_cast<std::size_t>(2 + i)]);
      words[2 * i] = static_cast<std::int32_t>(word);
      words[2 * i + 1] = static_cast<std::int32_t>(word >> 32);
    }
    set(numbers[0], first, lane);
    set(numbers[1], scale, lane);
  }

 private:
  static void set(ScalarValue& value, double number, DType lane) {
    if (lane == DType::f32) value.f32 = static_cast<float>(number);
    else if (lane == DType::f64) value.f64 = number;
    else if (lane == DType::i32) value.i32 = static_cast<std::int32_t>(static_cast<std::int64_t>(number));
    else value.i64 = static_cast<std::int64_t>(number);
  }
};

class RandomKernel final : public PreparedKernel {
 public:
  RandomKernel(const KernelCall& call, std::shared_ptr<const Loop> loop)
      : lane_(lane_dtype(call.outputs[0].dtype())),
        uniform_(&call.op == &random_uniform_op),
        nest_(Shape{call.outputs[0].shape().elements()}, scalar_operands(lane_),
              std::array{Operand({call.outputs[0].dtype(), Shape{call.outputs[0].shape().elements()}})},
              call.op.flops_per_element),
        loop_(std::move(loop)) {}

  void run(const KernelArgs& args) const override {
    const Scalars scalars(args.run_time, uniform_, lane_);
    const void* inputs[kWords + 2];
    for (int i = 0; i < kWords; ++i) inputs[i] = &scalars.words[i];
    for (int i = 0; i < 2; ++i) inputs[kWords + i] = &scalars.numbers[i];
    nest_.run(*loop_, {inputs, args.outputs, {}});
  }

 private:
  static std::vector<Operand> scalar_operands(DType lane) {
    std::vector<Operand> operands;
    for (DType dtype : program_inputs(lane)) operands.emplace_back(TensorSpec(dtype, Shape{}));
    return operands;
  }
  DType lane_;
  bool uniform_;
  LoopNest nest_;
  std::shared_ptr<const Loop> loop_;
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
  return std::make_unique<RandomKernel>(call, source.loop(random_program(call.op, call.outputs[0].dtype()), kAllScalars));
}

/// One element at a time by the meaning of the program itself.
Prepared prepare_reference(const KernelCall& call) {
  const DType dtype = call.outputs[0].dtype();
  return prepared([program = random_program(call.op, dtype), dtype, lane = lane_dtype(dtype),
                   uniform = &call.op == &random_uniform_op, count = call.outputs[0].shape().elements()](const KernelArgs& args) {
    const Scalars scalars(args.run_time, uniform, lane);
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
