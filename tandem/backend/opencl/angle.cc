#include "tandem/backend/opencl/angle.h"

#include <cstdio>

#include "tandem/base/text.h"

namespace tandem::opencl {
namespace {

/// As tandem/expr/angle.cc does it, whose comments hold here. Lanes are looked at together: large angles are rare.
constexpr std::string_view kAngleRest = R"(
static REAL ANGLE_REST_ONE(REAL x, int grid) {
  if (!(fabs(x) > LARGE_ANGLE)) return x;
  const WORD word = AS_WORD(fabs(x)), one = (WORD)1 << MANTISSA;
  if (word >> MANTISSA == 2 * BIAS + 1) return AS_REAL(word | one >> 1);
  const ulong mantissa = (word & (one - 1)) | one;
  const int at = (int)(word >> MANTISSA) - BIAS - MANTISSA + 64, shift = at % 64, first = at / 64;
  ulong digits[3];
  for (int i = 0; i < 3; ++i)
    digits[i] = shift ? inverse_turn[first + i] << shift | inverse_turn[first + i + 1] >> (64 - shift) : inverse_turn[first + i];
  const ulong middle = mantissa * digits[1], low = middle + mul_hi(mantissa, digits[2]);
  const ulong high = mantissa * digits[0] + mul_hi(mantissa, digits[1]) + (low < middle ? 1 : 0);
  const int steps = grid == 2 ? 2 : 1;
  ulong rest = high << steps | low >> (64 - steps), rest_low = low << steps;
  int odd = (int)(high >> (64 - steps) & 1);
  if (grid == 1) {
    odd ^= 1;
    rest ^= 1ul << 63;
  } else {
    odd ^= (int)(rest >> 63);
  }
  int negative = (int)(rest >> 63);
  if (negative) {
    rest = ~rest + (rest_low == 0 ? 1 : 0);
    rest_low = 0 - rest_low;
  }
  const int zeros = rest ? (int)clz(rest) : 64 + (int)clz(rest_low), z = zeros % 64;
  if (zeros >= 64) rest = rest_low, rest_low = 0;
  const ulong top = z ? rest << z | rest_low >> (64 - z) : rest;
  const REAL scale = AS_REAL((WORD)(BIAS - 61 - steps - zeros) << MANTISSA);
  const WORD magnitude = AS_WORD((REAL)mul_hi(top, PI_BITS) * scale);
  if (grid != 1) negative ^= x < 0;
  if (grid == 0) negative ^= odd;
  const WORD marked = grid == 0 ? magnitude : (magnitude & ~(WORD)1) | (WORD)odd;
  return AS_REAL(marked | (WORD)negative << (8 * sizeof(WORD) - 1));
}
static REAL8 ANGLE_REST(REAL8 x, int grid) {
  if (!any_of(fabs(x) > (REAL8)(LARGE_ANGLE))) return x;
  REAL v[8];
  vstore8(x, 0, v);
#pragma unroll 1
  for (int k = 0; k < 8; ++k) v[k] = ANGLE_REST_ONE(v[k], grid);
  return vload8(0, v);
}
)";

/// Vectors of sixteen are floats.
constexpr std::string_view kAngleRest16 = R"(
static float16 angle_rest_float16(float16 x, int grid) {
  if (!any_of(fabs(x) > (float16)(LARGE_ANGLE))) return x;
  return JOIN(float16, angle_rest_float8(x.lo, grid), angle_rest_float8(x.hi, grid));
}
)";

constexpr std::string_view kFloat = R"(
#define REAL float
#define REAL8 float8
#define WORD uint
#define AS_WORD as_uint
#define AS_REAL as_float
#define MANTISSA 23
#define BIAS 127
#define LARGE_ANGLE 0x1p18f
#define ANGLE_REST_ONE angle_rest_float
#define ANGLE_REST angle_rest_float8
)";
constexpr std::string_view kDouble = R"(
#define REAL double
#define REAL8 double8
#define WORD ulong
#define AS_WORD as_ulong
#define AS_REAL as_double
#define MANTISSA 52
#define BIAS 1023
#define LARGE_ANGLE 0x1p42
#define ANGLE_REST_ONE angle_rest_double
#define ANGLE_REST angle_rest_double8
)";
constexpr std::string_view kUndefine = R"(
#undef REAL
#undef REAL8
#undef WORD
#undef AS_WORD
#undef AS_REAL
#undef MANTISSA
#undef BIAS
#undef LARGE_ANGLE
#undef ANGLE_REST_ONE
#undef ANGLE_REST
)";
static_assert(expr::kLargeAngle32 == 0x1p18 && expr::kLargeAngle64 == 0x1p42);

std::string hex(std::uint64_t bits) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "0x%llxul", static_cast<unsigned long long>(bits));
  return buffer;
}

}  // namespace

std::string define_angle_rest(const expr::Program& program) {
  bool f32 = false, f64 = false;
  for (const expr::Node& node : program.nodes)
    if (node.prim == expr::Prim::angle_rest) (node.lane == expr::Lane::f32 ? f32 : f64) = true;
  if (!f32 && !f64) return {};
  std::string words;
  for (std::uint64_t word : expr::inverse_turn_words()) words += text(words.empty() ? "" : ", ", hex(word));
  std::string out =
      text("__constant ulong inverse_turn[] = {", words, "};\n#define PI_BITS ", hex(expr::kPiBits), "\n");
  if (f32) out += text(kFloat, kAngleRest, kAngleRest16);
  if (f64) out += text(f32 ? kUndefine : std::string_view(), kDouble, kAngleRest);
  return out;
}

}  // namespace tandem::opencl
