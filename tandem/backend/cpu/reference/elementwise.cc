#include <algorithm>

#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/expr/lane_ops.h"
#include "tandem/kernel/elementwise_program.h"

namespace tandem::cpu {
namespace {

using expr::Lane;

/// Float to integer as the lanes do it: towards zero, and what does not fit gives the smallest integer.
template <class I, class F>
I cut(F value) {
  constexpr auto kLimit = static_cast<F>(sizeof(I) == 4 ? 0x1p31 : 0x1p63);
  return value >= -kLimit && value < kLimit ? static_cast<I>(value) : std::numeric_limits<I>::min();
}

template <class To, class From>
To to_lane(From value) {
  if constexpr (std::is_same_v<To, bool>) return value != 0;
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) return cut<To>(value);
  else return static_cast<To>(value);
}

/// Calls f with `value` as its lane's C++ type.
template <class F>
void with_lane(const ScalarValue& value, Lane lane, F f) {
  switch (lane) {
    case Lane::f32: return f(value.f32);
    case Lane::f64: return f(value.f64);
    case Lane::i32: return f(value.i32);
    case Lane::i64: return f(value.i64);
    case Lane::mask: return f(value.mask);
  }
}

ScalarValue convert(const ScalarValue& value, Lane from, Lane to) {
  ScalarValue out{};
  with_lane(value, from,
            [&](auto v) { with_lane(out, to, [&](auto sample) { out.set(to_lane<decltype(sample)>(v)); }); });
  return out;
}

ScalarValue load(const void* data, DType dtype, std::int64_t at) {
  ScalarValue value{};
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element = static_cast<const T*>(data)[at];
    value.set(static_cast<expr::LaneType<T>>(element));
  });
  return value;
}

void store(void* data, DType dtype, std::int64_t at, const ScalarValue& value) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T& element = static_cast<T*>(data)[at];
    element = static_cast<T>(value.get<expr::LaneType<T>>());
  });
}

/// The lane in which the formula's result k comes: a comparison gives a mask whatever it compares.
Lane result_lane(const Formula& formula, Lane compute, int k) {
  expr::Graph graph;
  expr::Expr in[10], out[10];
  for (int i = 0; i < formula.arity; ++i) in[i] = graph.input(i, formula.masks >> i & 1 ? Lane::mask : compute);
  formula.tree(in, out);
  return out[k].lane();
}

/// Integers whose lanes are wider, or signed where they are not: the formula's tree says what they do there.
class ReferenceIntegers final : public PreparedKernel {
 public:
  explicit ReferenceIntegers(const KernelCall& call)
      : program_(elementwise_program(call)),
        shape_(call.outputs[0].shape()) {
    for (const Operand& input : call.inputs) strides_.push_back(broadcast_strides(input, shape_));
  }

  void run(const KernelArgs& args) const override {
    std::size_t at = 0;
    for_each_position(shape_, [&](const Position& position) {
      ScalarValue in[10], out[10];
      for (std::size_t i = 0; i < program_.inputs.size(); ++i)
        in[i] = load(args.inputs[i], program_.inputs[i], offset(strides_[i], position, shape_.rank()));
      expr::evaluate(program_, in, out);
      for (std::size_t k = 0; k < program_.outputs.size(); ++k)
        store(args.outputs[k], program_.outputs[k].dtype, static_cast<std::int64_t>(at), out[k]);
      ++at;
    });
  }

 private:
  expr::Program program_;
  Shape shape_;
  std::vector<Strides> strides_;
};

bool has_other_lanes(const KernelCall& call) {
  const auto other = [](const Operand& operand) {
    return is_integer(operand.dtype()) && operand.dtype() != DType::i32 && operand.dtype() != DType::i64;
  };
  return std::ranges::any_of(call.inputs, other) || std::ranges::any_of(call.outputs, other);
}

class ReferenceElementwise final : public PreparedKernel {
 public:
  explicit ReferenceElementwise(const KernelCall& call)
      : formula_(call.op.scalar),
        shape_(call.outputs[0].shape()),
        outputs_(call.outputs.begin(), call.outputs.end()) {
    for (const Operand& input : call.inputs) {
      inputs_.push_back(input);
      strides_.push_back(broadcast_strides(input, shape_));
    }
    const DType dtype = call.inputs.back().dtype();
    compute_ = expr::lane_of(call.op.compute_dtype ? call.op.compute_dtype(dtype) : dtype);
    for (int k = 0; k < formula_.results; ++k) result_lanes_.push_back(result_lane(formula_, compute_, k));
  }

  void run(const KernelArgs& args) const override {
    const int function = compute_ == Lane::mask ? 2 : static_cast<int>(compute_);
    std::int64_t at = 0;
    for_each_position(shape_, [&](const Position& position) {
      ScalarValue in[10], out[10];
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const DType dtype = inputs_[i].dtype();
        in[i] = load(args.inputs[i], dtype, offset(strides_[i], position, shape_.rank()));
        const Lane wanted = formula_.masks >> i & 1 ? Lane::mask : compute_;
        in[i] = convert(in[i], expr::lane_of(dtype), wanted);
      }
      formula_.reference[function](in, out);
      for (std::size_t k = 0; k < outputs_.size(); ++k) {
        const DType dtype = outputs_[k].dtype();
        store(args.outputs[k], dtype, at, convert(out[k], result_lanes_[k], expr::lane_of(dtype)));
      }
      ++at;
    });
  }

 private:
  Formula formula_;
  Shape shape_;
  std::vector<Operand> inputs_, outputs_;
  std::vector<Strides> strides_;
  Lane compute_;
  std::vector<Lane> result_lanes_;
};

}  // namespace

Kernel reference_elementwise() {
  return {.name = "reference", .prepare = [](const KernelCall& call) -> Prepared {
            if (has_other_lanes(call)) return std::make_unique<ReferenceIntegers>(call);
            return std::make_unique<ReferenceElementwise>(call);
          }};
}

}  // namespace tandem::cpu
