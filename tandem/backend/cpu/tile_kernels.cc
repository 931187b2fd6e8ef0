#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/backend/cpu/tile_kernels.cc"
// Fewer variants to compile: what these two add to AVX-512 and to the baseline is not used here.
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SSSE3)
#include <cmath>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "tandem/backend/cpu/tile_kernels.h"
#include "tandem/expr/lane_ops.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using expr::Prim;

template <class T>
using Tag = hn::CappedTag<T, kTileAlign / sizeof(T)>;

// The operation on vectors of T, applied along the tile. An operation states `run(tag, a[, b[, c]])`.
template <class T, class Op>
void unary_loop(const TileArgs& t) {
  const Tag<T> d;
  const std::size_t n = hn::Lanes(d), step = t.step_a * n;
  auto a = static_cast<const T*>(t.a);
  auto out = static_cast<T*>(t.out);
  for (std::size_t i = 0; i < t.count; i += n, a += step) hn::Store(Op::run(d, hn::Load(d, a), t.bits), d, out + i);
}

template <class T, class Op>
void binary_loop(const TileArgs& t) {
  const Tag<T> d;
  const std::size_t n = hn::Lanes(d), step_a = t.step_a * n, step_b = t.step_b * n;
  auto a = static_cast<const T*>(t.a), b = static_cast<const T*>(t.b);
  auto out = static_cast<T*>(t.out);
  for (std::size_t i = 0; i < t.count; i += n, a += step_a, b += step_b)
    hn::Store(Op::run(d, hn::Load(d, a), hn::Load(d, b)), d, out + i);
}

template <class T, class Op>
void ternary_loop(const TileArgs& t) {
  const Tag<T> d;
  const std::size_t n = hn::Lanes(d), step_a = t.step_a * n, step_b = t.step_b * n, step_c = t.step_c * n;
  auto a = static_cast<const T*>(t.a), b = static_cast<const T*>(t.b), c = static_cast<const T*>(t.c);
  auto out = static_cast<T*>(t.out);
  for (std::size_t i = 0; i < t.count; i += n, a += step_a, b += step_b, c += step_c)
    hn::Store(Op::run(d, hn::Load(d, a), hn::Load(d, b), hn::Load(d, c)), d, out + i);
}

// clang-format off: an operation is a line
struct Add { template <class D, class V> static V run(D, V a, V b) { return hn::Add(a, b); } };
struct Sub { template <class D, class V> static V run(D, V a, V b) { return hn::Sub(a, b); } };
struct Mul { template <class D, class V> static V run(D, V a, V b) { return hn::Mul(a, b); } };
struct Div { template <class D, class V> static V run(D, V a, V b) { return hn::Div(a, b); } };
struct And { template <class D, class V> static V run(D, V a, V b) { return hn::And(a, b); } };
struct Or { template <class D, class V> static V run(D, V a, V b) { return hn::Or(a, b); } };
struct Xor { template <class D, class V> static V run(D, V a, V b) { return hn::Xor(a, b); } };
// Spelt out, because the machines' own minimum treats NaN and signed zeros each in their way.
struct Min { template <class D, class V> static V run(D, V a, V b) { return hn::IfThenElse(hn::Lt(a, b), a, b); } };
struct Max { template <class D, class V> static V run(D, V a, V b) { return hn::IfThenElse(hn::Lt(b, a), a, b); } };
struct Eq { template <class D, class V> static V run(D d, V a, V b) { return hn::VecFromMask(d, hn::Eq(a, b)); } };
struct Lt { template <class D, class V> static V run(D d, V a, V b) { return hn::VecFromMask(d, hn::Lt(a, b)); } };
struct Le {
  template <class D, class V>
  static V run(D d, V a, V b) {
    if constexpr (std::is_floating_point_v<hn::TFromD<D>>) return hn::VecFromMask(d, hn::Le(a, b));
    else return hn::Not(hn::VecFromMask(d, hn::Lt(b, a)));
  }
};

struct Neg { template <class D, class V> static V run(D, V a, std::uint64_t) { return hn::Neg(a); } };
struct Not { template <class D, class V> static V run(D, V a, std::uint64_t) { return hn::Not(a); } };
struct Abs { template <class D, class V> static V run(D, V a, std::uint64_t) { return hn::Abs(a); } };
struct Sqrt { template <class D, class V> static V run(D, V a, std::uint64_t) { return hn::Sqrt(a); } };
// Highway's own rounding of single numbers is inexact just below a half and loses the sign of 0.
constexpr bool kOneLane = HWY_TARGET == HWY_SCALAR;
struct Round {
  template <class D, class V>
  static V run(D d, V a, std::uint64_t) {
    if constexpr (kOneLane) return hn::Set(d, std::nearbyint(hn::GetLane(a)));
    else return hn::Round(a);
  }
};
struct Floor {
  template <class D, class V>
  static V run(D d, V a, std::uint64_t) {
    if constexpr (kOneLane) return hn::Set(d, std::floor(hn::GetLane(a)));
    else return hn::Floor(a);
  }
};
struct Trunc { template <class D, class V> static V run(D, V a, std::uint64_t) { return hn::Trunc(a); } };
struct Fma { template <class D, class V> static V run(D, V a, V b, V c) { return hn::MulAdd(a, b, c); } };
// clang-format on
struct ShiftLeft {
  template <class D, class V>
  static V run(D, V a, std::uint64_t bits) {
    return hn::ShiftLeftSame(a, static_cast<int>(bits));
  }
};
struct ShiftRight {
  template <class D, class V>
  static V run(D, V a, std::uint64_t bits) {
    return hn::ShiftRightSame(a, static_cast<int>(bits));
  }
};
struct Select {
  template <class D, class V>
  static V run(D, V mask, V a, V b) {
    return hn::IfThenElse(hn::MaskFromVec(mask), a, b);
  }
};

// Plain loops, too, for what vectors do not do exactly or not at all.
template <class T>
void fma_loop(const TileArgs& t) {
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  auto a = static_cast<const T*>(t.a), b = static_cast<const T*>(t.b), c = static_cast<const T*>(t.c);
  auto out = static_cast<T*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i)  // rounded once, which a product and a sum are not
    out[i] = std::fma(a[i * t.step_a], b[i * t.step_b], c[i * t.step_c]);
#else
  ternary_loop<T, Fma>(t);
#endif
}

#if HWY_TARGET == HWY_SCALAR
void mul_hi_u32_loop(const TileArgs& t) {
  auto a = static_cast<const std::int32_t*>(t.a), b = static_cast<const std::int32_t*>(t.b);
  auto out = static_cast<std::int32_t*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i) out[i] = expr::lane_mul_hi_u32(a[i * t.step_a], b[i * t.step_b]);
}
#else
struct MulHighU32 {
  template <class D, class V>
  static V run(D d, V a, V b) {
    const hn::RepartitionToWide<D> wide;
    const auto even = hn::MulEven(a, b);
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))),
                                 hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, b))));
    const auto upper = hn::Set(wide, 0xFFFFFFFF00000000u);
    return hn::BitCast(d, hn::Or(hn::ShiftRight<32>(even), hn::And(odd, upper)));
  }
};
void mul_hi_u32_loop(const TileArgs& t) { binary_loop<std::uint32_t, MulHighU32>(t); }
#endif

template <class T>
void divide_integers(const TileArgs& t) {
  auto a = static_cast<const T*>(t.a), b = static_cast<const T*>(t.b);
  auto out = static_cast<T*>(t.out);
  if constexpr (sizeof(T) == 4) {
    // By way of doubles, which hold every quotient closely enough to be cut right, four at a time.
    const auto quotient = [](std::int32_t x, std::int32_t y) {
      double q = static_cast<double>(x) / static_cast<double>(y);
      q = y == 0 ? 0 : q;
      return static_cast<std::int32_t>(q > 2147483647.0 ? -2147483648.0 : q);
    };
    if (t.step_a && t.step_b)
      for (std::size_t i = 0; i < t.count; ++i) out[i] = quotient(a[i], b[i]);
    else if (t.step_a)
      for (std::size_t i = 0; i < t.count; ++i) out[i] = quotient(a[i], b[0]);
    else
      for (std::size_t i = 0; i < t.count; ++i) out[i] = quotient(a[0], b[i * t.step_b]);
  } else {
    for (std::size_t i = 0; i < t.count; ++i) out[i] = expr::lane_div(a[i * t.step_a], b[i * t.step_b]);
  }
}

template <class From, class To>
void convert_loop(const TileArgs& t) {
  auto a = static_cast<const From*>(t.a);
  auto out = static_cast<To*>(t.out);
  if (t.step_a == 0) {
    for (std::size_t i = 0; i < t.count; ++i) out[i] = expr::lane_convert<To>(a[0]);
  } else {
    for (std::size_t i = 0; i < t.count; ++i) out[i] = expr::lane_convert<To>(a[i]);
  }
}

void f32_to_i32(const TileArgs& t) {
  const Tag<float> d;
  const Tag<std::int32_t> to;
  const std::size_t n = hn::Lanes(d), step = t.step_a * n;
  auto a = static_cast<const float*>(t.a);
  auto out = static_cast<std::int32_t*>(t.out);
  const auto bound = hn::Set(d, 0x1p31f);
  for (std::size_t i = 0; i < t.count; i += n, a += step) {
    const auto value = hn::Load(d, a);
    const auto fits = hn::Lt(hn::Abs(value), bound);
    const auto converted = hn::ConvertTo(to, hn::IfThenElseZero(fits, value));
    hn::Store(hn::IfThenElse(hn::RebindMask(to, fits), converted, hn::Set(to, INT32_MIN)), to, out + i);
  }
}

template <int kShift>
void index_loop(const TileArgs& t) {
  auto out = static_cast<std::uint32_t*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i) out[i] = static_cast<std::uint32_t>((t.bits + i) >> kShift);
}

template <class T>
void load_loop(const TileArgs& t) {
  using L = expr::LaneType<T>;
  auto from = static_cast<const T*>(t.a);
  if constexpr (std::is_same_v<T, L>) {
    std::memcpy(t.out, from, t.count * sizeof(T));
  } else {
    auto to = static_cast<L*>(t.out);
    for (std::size_t i = 0; i < t.count; ++i) to[i] = static_cast<L>(from[i]);
  }
}

template <class T>
void store_loop(const TileArgs& t) {
  using L = expr::LaneType<T>;
  if constexpr (std::is_same_v<T, L>) {
    std::memcpy(t.out, t.a, t.count * sizeof(T));
  } else {
    auto from = static_cast<const L*>(t.a);
    auto to = static_cast<T*>(t.out);
    for (std::size_t i = 0; i < t.count; ++i) to[i] = static_cast<T>(from[i]);
  }
}

void load_booleans(const TileArgs& t) {
  auto from = static_cast<const unsigned char*>(t.a);
  auto to = static_cast<std::int32_t*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i) to[i] = from[i] ? -1 : 0;
}

void store_booleans(const TileArgs& t) {
  auto from = static_cast<const std::int32_t*>(t.a);
  auto to = static_cast<unsigned char*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i) to[i] = static_cast<unsigned char>(from[i] & 1);
}

// Conversion of halves in hardware, where the target has it for sure; its results are those of Half.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
void load_halves(const TileArgs& t) {
  const hn::CappedTag<float, 8> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  auto from = static_cast<const Half*>(t.a);
  auto to = static_cast<float*>(t.out);
  std::size_t i = 0;
  for (; i + 8 <= t.count; i += 8)
    hn::Store(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from + i))), d, to + i);
  for (; i < t.count; ++i) to[i] = static_cast<float>(from[i]);
}

void store_halves(const TileArgs& t) {
  const hn::CappedTag<float, 8> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> half;
  auto from = static_cast<const float*>(t.a);
  auto to = static_cast<Half*>(t.out);
  std::size_t i = 0;
  for (; i + 8 <= t.count; i += 8)
    hn::StoreU(hn::DemoteTo(half, hn::Load(d, from + i)), half, reinterpret_cast<hwy::float16_t*>(to + i));
  for (; i < t.count; ++i) to[i] = Half(from[i]);
}
#else
void load_halves(const TileArgs& t) { load_loop<Half>(t); }
void store_halves(const TileArgs& t) { store_loop<Half>(t); }
#endif

template <class T, bool kLeft>
void shift_loop(const TileArgs& t) {
  auto a = static_cast<const T*>(t.a), b = static_cast<const T*>(t.b);
  auto out = static_cast<T*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i) {
    const T value = a[i * t.step_a], bits = b[i * t.step_b];
    out[i] = kLeft ? value << bits : value >> bits;
  }
}

template <class T>
void angle_rest_loop(const TileArgs& t) {
  auto a = static_cast<const T*>(t.a);
  auto out = static_cast<T*>(t.out);
  for (std::size_t i = 0; i < t.count; ++i)
    out[i] = expr::angle_rest(a[i * t.step_a], static_cast<expr::AngleGrid>(t.bits));
}

template <class T>
void fill_numbers(TileKernels& k, int lane) {
  auto set = [&](Prim prim, TileKernel kernel) { k.prim[static_cast<int>(prim)][lane] = kernel; };
  set(Prim::add, binary_loop<T, Add>);
  set(Prim::sub, binary_loop<T, Sub>);
  set(Prim::mul, binary_loop<T, Mul>);
  set(Prim::min, binary_loop<T, Min>);
  set(Prim::max, binary_loop<T, Max>);
  set(Prim::eq, binary_loop<T, Eq>);
  set(Prim::lt, binary_loop<T, Lt>);
  set(Prim::le, binary_loop<T, Le>);
  set(Prim::neg, unary_loop<T, Neg>);
  set(Prim::abs, unary_loop<T, Abs>);
  set(Prim::select, ternary_loop<T, Select>);
}

template <class T>
void fill_floats(TileKernels& k, int lane) {
  auto set = [&](Prim prim, TileKernel kernel) { k.prim[static_cast<int>(prim)][lane] = kernel; };
  fill_numbers<T>(k, lane);
  set(Prim::div, binary_loop<T, Div>);
  set(Prim::fma, fma_loop<T>);
  set(Prim::sqrt, unary_loop<T, Sqrt>);
  set(Prim::round_even, unary_loop<T, Round>);
  set(Prim::floor, unary_loop<T, Floor>);
  set(Prim::trunc, unary_loop<T, Trunc>);
  set(Prim::angle_rest, angle_rest_loop<T>);
}

template <class T>
void fill_integers(TileKernels& k, int lane) {
  auto set = [&](Prim prim, TileKernel kernel) { k.prim[static_cast<int>(prim)][lane] = kernel; };
  using Unsigned = std::make_unsigned_t<T>;
  fill_numbers<T>(k, lane);
  set(Prim::div, divide_integers<T>);
  set(Prim::bit_and, binary_loop<T, And>);
  set(Prim::bit_or, binary_loop<T, Or>);
  set(Prim::bit_xor, binary_loop<T, Xor>);
  set(Prim::bit_not, unary_loop<T, Not>);
  set(Prim::shift_left, unary_loop<Unsigned, ShiftLeft>);
  set(Prim::shift_right, unary_loop<Unsigned, ShiftRight>);
  set(Prim::shift_left_by, shift_loop<Unsigned, true>);
  set(Prim::shift_right_by, shift_loop<Unsigned, false>);
}

template <class From>
void fill_conversions(TileKernels& k, int from) {
  k.convert[from][0] = convert_loop<From, float>;
  k.convert[from][1] = convert_loop<From, double>;
  k.convert[from][2] = convert_loop<From, std::int32_t>;
  k.convert[from][3] = convert_loop<From, std::int64_t>;
}

void fill_memory(TileKernels& k) {
  for (int i = 0; i < kDTypeCount - 1; ++i) {
    visit_dtype(static_cast<DType>(i), [&]<class T>(TypeTag<T>) {
      k.load[i] = load_loop<T>;
      k.store[i] = store_loop<T>;
    });
  }
  k.load[static_cast<int>(DType::boolean)] = load_booleans;
  k.store[static_cast<int>(DType::boolean)] = store_booleans;
  k.load[static_cast<int>(DType::f16)] = load_halves;
  k.store[static_cast<int>(DType::f16)] = store_halves;
}

TileKernels make_kernels() {
  TileKernels k;
  fill_floats<float>(k, 0);
  fill_floats<double>(k, 1);
  fill_integers<std::int32_t>(k, 2);
  fill_integers<std::int64_t>(k, 3);
  k.prim[static_cast<int>(Prim::mul_hi_u32)][2] = mul_hi_u32_loop;
  k.prim[static_cast<int>(Prim::index_lo)][2] = index_loop<0>;
  k.prim[static_cast<int>(Prim::index_hi)][2] = index_loop<32>;
  fill_conversions<float>(k, 0);
  fill_conversions<double>(k, 1);
  fill_conversions<std::int32_t>(k, 2);
  fill_conversions<std::int64_t>(k, 3);
  k.convert[0][2] = f32_to_i32;
  fill_memory(k);
  return k;
}

}  // namespace tandem::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::cpu {

HWY_EXPORT(make_kernels);

const TileKernels& tile_kernels() {
  static const TileKernels kernels = HWY_DYNAMIC_DISPATCH(make_kernels)();
  return kernels;
}

}  // namespace tandem::cpu
#endif
