#include "tandem/backend/cpu/loop_source.h"

#include <limits>

namespace tandem::cpu {
namespace {

using expr::Expr;

/// What changes nothing: the lowest value for a maximum, the highest for a minimum.
std::uint64_t identity_bits(FoldKind kind, DType dtype) {
  const DType lane = lane_dtype(dtype);
  if (kind == FoldKind::sum || kind == FoldKind::mean) return 0;
  if (kind == FoldKind::prod)
    return lane == DType::f32   ? std::bit_cast<std::uint32_t>(1.0f)
           : lane == DType::f64 ? std::bit_cast<std::uint64_t>(1.0)
                                : 1;
  const bool lowest = kind == FoldKind::max;
  if (dtype == DType::boolean) return lowest ? 0 : 1;
  if (lane == DType::f32)
    return std::bit_cast<std::uint32_t>((lowest ? -1 : 1) * std::numeric_limits<float>::infinity());
  if (lane == DType::f64)
    return std::bit_cast<std::uint64_t>((lowest ? -1 : 1) * std::numeric_limits<double>::infinity());
  // The dtype's own, not the lane's: it is also the answer where there is nothing to reduce.
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> std::uint64_t {
    if constexpr (!std::is_integral_v<T>) return 0;
    else {
      const auto value =
          static_cast<std::int64_t>(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
      return lane == DType::i32 ? static_cast<std::uint32_t>(value) : static_cast<std::uint64_t>(value);
    }
  });
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
  if (dtype == DType::u64) return dtype;  // what is combined must be known to be unsigned
  switch (expr::lane_of(dtype)) {
    case expr::Lane::f32: return DType::f32;
    case expr::Lane::f64: return DType::f64;
    case expr::Lane::i64: return DType::i64;
    default: return DType::i32;
  }
}

Expr fold_combine(FoldKind kind, Expr a, Expr b) {
  switch (kind) {
    case FoldKind::max: return select(a != a, a, greater_of(a, b));  // NaN wins, as in maximum
    case FoldKind::min: return select(a != a, a, lesser(a, b));
    case FoldKind::prod: return a * b;
    default: return a + b;
  }
}

DType fold_lane(FoldKind kind, DType dtype) {
  const DType lane = lane_dtype(dtype);
  return kind == FoldKind::mean && lane == DType::i32 ? DType::i64 : lane;
}

FoldProgram fold_of(FoldKind kind, DType dtype) {
  const DType lane = fold_lane(kind, dtype);
  return {.map = program({dtype}, lane, [](auto& in) { return in[0]; }),
          .combine = program({lane, lane}, lane, [&](auto& in) { return fold_combine(kind, in[0], in[1]); }),
          .identity = identity_bits(kind, dtype)};
}

FoldProgram sum_fold(DType dtype) { return fold_of(FoldKind::sum, dtype); }
FoldProgram max_fold(DType dtype) { return fold_of(FoldKind::max, dtype); }

}  // namespace tandem::cpu
