#include "tandem/kernel/random_program.h"

#include <array>

#include "tandem/expr/random.h"
#include "tandem/op/records.h"

namespace tandem {
namespace {

using expr::Expr;
using expr::Lane;

DType number_dtype(DType dtype) {
  switch (expr::lane_of(dtype)) {
    case Lane::f32: return DType::f32;
    case Lane::f64: return DType::f64;
    case Lane::i64: return DType::i64;
    default: return DType::i32;
  }
}

/// Integers in [low, low + range): the upper half of word * range. Of 2^32 words some values get one more than
/// others, a bias below range / 2^32.
Expr random_integer(const std::array<Expr, 4>& words, Expr low, Expr range_word) {
  if (low.lane() == Lane::i32) return low + mul_hi_u32(words[0], range_word);
  const Expr drawn = convert(mul_hi_u32(words[0], convert(range_word, Lane::i32)), Lane::i64);
  return low + (drawn & low.graph().constant_bits(Lane::i64, 0xFFFFFFFFull));  // the word is unsigned
}

void set(ScalarValue& value, double number, DType lane) {
  if (lane == DType::f32) value.f32 = static_cast<float>(number);
  else if (lane == DType::f64) value.f64 = number;
  else if (lane == DType::i32) value.i32 = static_cast<std::int32_t>(static_cast<std::int64_t>(number));
  else value.i64 = static_cast<std::int64_t>(number);
}

}  // namespace

expr::Program random_program(const OpDef& op, DType dtype) {
  const DType number = number_dtype(dtype);
  const std::vector<DType> inputs{DType::i32, DType::i32, DType::i32, DType::i32, number, number};
  expr::Graph graph;
  std::vector<Expr> in;
  for (DType input : inputs) in.push_back(graph.input(static_cast<int>(in.size()), expr::lane_of(input)));
  const auto words = expr::philox(graph.index_lo(), graph.index_hi(), {in[0], in[1], in[2], in[3]});
  const bool wide = number == DType::f64;
  Expr result;
  if (!is_floating(dtype)) result = random_integer(words, in[4], in[5]);
  else if (&op == &random_normal_op) result = fma(wide ? normal_f64(words) : normal(words[0], words[1]), in[5], in[4]);
  else result = fma(wide ? uniform01_f64(words[0], words[1]) : uniform01(words[0]), in[5], in[4]);
  return expr::make_program(graph, inputs, {result}, {dtype});
}

RandomScalars::RandomScalars(const OpDef& op, std::span<const std::int64_t> run_time, DType lane) {
  const double first = std::bit_cast<double>(run_time[0]), second = std::bit_cast<double>(run_time[1]);
  const double scale = &op == &random_uniform_op ? second - first : second;  // maxval - minval, or stddev
  for (int i = 0; i < 2; ++i) {
    const auto word = static_cast<std::uint64_t>(run_time[static_cast<std::size_t>(2 + i)]);
    words[2 * i] = static_cast<std::int32_t>(word);
    words[2 * i + 1] = static_cast<std::int32_t>(word >> 32);
  }
  set(numbers[0], first, lane);
  set(numbers[1], scale, lane);
}

}  // namespace tandem
