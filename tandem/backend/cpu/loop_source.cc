#include "tandem/backend/cpu/loop_source.h"

#include <limits>

namespace tandem::cpu {
namespace {

using expr::Expr;

FoldProgram make_fold(DType dtype, Expr (*combine)(Expr, Expr), std::uint64_t identity) {
  const DType lane = lane_dtype(dtype);
  return {.map = program({dtype}, lane, [](auto& in) { return in[0]; }),
          .combine = program({lane, lane}, lane, [&](auto& in) { return combine(in[0], in[1]); }),
          .identity = identity};
}

std::uint64_t lowest_bits(DType lane) {
  switch (lane) {
    case DType::f32: return std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity());
    case DType::f64: return std::bit_cast<std::uint64_t>(-std::numeric_limits<double>::infinity());
    case DType::i32: return 0x80000000u;
    default: return std::uint64_t{1} << 63;
  }
}

}  // namespace

std::shared_ptr<const Loop> LoopSource::loop(const expr::Program& program, ScalarInputs scalars) {
  if (!generated_) return tile_loop(program, scalars);
  std::string why;
  auto made = jit_loop(program, scalars, why);
  if (!made && refusal_.empty()) refusal_ = why;
  return made;
}

std::shared_ptr<const Fold> LoopSource::fold(const FoldProgram& program) {
  if (!generated_) return tile_fold(program);
  std::string why;
  auto made = jit_fold(program, why);
  if (!made && refusal_.empty()) refusal_ = why;
  return made;
}

DType lane_dtype(DType dtype) {
  switch (expr::lane_of(dtype)) {
    case expr::Lane::f32: return DType::f32;
    case expr::Lane::f64: return DType::f64;
    case expr::Lane::i64: return DType::i64;
    default: return DType::i32;
  }
}

FoldProgram sum_fold(DType dtype) {
  return make_fold(dtype, [](Expr a, Expr b) { return a + b; }, 0);
}

FoldProgram max_fold(DType dtype) {
  // NaN wins, as in maximum.
  return make_fold(dtype, [](Expr a, Expr b) { return select(a != a, a, greater_of(a, b)); }, lowest_bits(lane_dtype(dtype)));
}

}  // namespace tandem::cpu
