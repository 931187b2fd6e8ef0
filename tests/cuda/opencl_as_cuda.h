// The OpenCL C that our kernels are written in, as CUDA C++: put in front of a kernel's text, NVRTC compiles it.
#pragma once
// clang-format off: a function of OpenCL is a line
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define INFINITY __int_as_float(0x7f800000)
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define HERE static __device__ __forceinline__

// --- Vectors: lanes, and halves by name. ---
template <class T, int N> struct Vec;
template <class T> struct Vec<T, 2> {
  T x, y;
  HERE Vec<T, 2> make(const T* p) { return {p[0], p[1]}; }
};
template <class T> __device__ Vec<T, 2> operator+(Vec<T, 2> a, Vec<T, 2> b) { return {a.x + b.x, a.y + b.y}; }
template <class T> struct Vec<T, 4> { Vec<T, 2> lo, hi; };
template <class T> __device__ Vec<T, 4> operator+(Vec<T, 4> a, Vec<T, 4> b) { return {a.lo + b.lo, a.hi + b.hi}; }

template <int> struct MaskLane { typedef int type; };
template <> struct MaskLane<1> { typedef char type; };
template <> struct MaskLane<2> { typedef short type; };
template <> struct MaskLane<8> { typedef long type; };

#define EACH_LANE for (int i = 0; i < N; ++i)
#define INFIX(op) \
  friend __device__ Vec operator op(const Vec& a, const Vec& b) { Vec r; EACH_LANE r.s[i] = (T)(a.s[i] op b.s[i]); return r; }
#define BITWISE(op) \
  friend __device__ Vec operator op(const Vec& a, const Vec& b) { Vec r; EACH_LANE r.s[i] = (T)(a.s[i] op b.s[i]); return r; }
#define COMPARE(op) \
  friend __device__ Mask operator op(const Vec& a, const Vec& b) { Mask r; EACH_LANE r.s[i] = a.s[i] op b.s[i] ? -1 : 0; return r; }
template <class T, int N> struct Vec {  // of 8 or 16
  typedef Vec<typename MaskLane<sizeof(T)>::type, N> Mask;
  union {
    T s[N];
    struct { Vec<T, N / 2> lo, hi; };
    struct { T s0, s1, s2, s3, s4, s5, s6, s7; };
  };
  Vec() = default;
  template <class S> __device__ Vec(S value) { EACH_LANE s[i] = (T)value; }
  explicit operator bool() const = delete;  // a vector decides nothing by itself: PICK does
  INFIX(+) INFIX(-) INFIX(*) INFIX(/)
  BITWISE(&) BITWISE(|) BITWISE(^) BITWISE(<<) BITWISE(>>) BITWISE(%)
  COMPARE(<) COMPARE(<=) COMPARE(>) COMPARE(>=) COMPARE(==) COMPARE(!=)
  __device__ Vec operator-() const { Vec r; EACH_LANE r.s[i] = -s[i]; return r; }
  __device__ Vec operator~() const { Vec r; EACH_LANE r.s[i] = ~s[i]; return r; }
  __device__ Vec& operator|=(const Vec& b) { return *this = *this | b; }
  __device__ Vec& operator+=(const Vec& b) { return *this = *this + b; }
  __device__ Vec& operator-=(const Vec& b) { return *this = *this - b; }
  __device__ Vec& operator*=(const Vec& b) { return *this = *this * b; }
};
// Floats have no bits to combine; an instance that nobody calls is not compiled, but a friend's return type is: so the
// operators above stand for all lanes, and these two say what a float would do.
template <class To, class T, int N> __device__ Vec<To, N> converted(const Vec<T, N>& v) { Vec<To, N> r; EACH_LANE r.s[i] = (To)v.s[i]; return r; }
template <class To, class T> __device__ To bits_as(const T& v) {
  static_assert(sizeof(To) == sizeof(T), "as_ keeps the size");
  To r;
  memcpy(&r, &v, sizeof(To));
  return r;
}
#define TYPE8(type) \
  typedef Vec<type, 16> type##16; \
  typedef Vec<type, 8> type##8; \
  typedef Vec<type, 4> type##4; \
  typedef Vec<type, 2> type##2; \
  template <class T> HERE type##8 convert_##type##8(const Vec<T, 8>& v) { return converted<type>(v); } \
  template <class T> HERE type##8 as_##type##8(const T& v) { return bits_as<type##8>(v); } \
  template <class T> HERE type##16 convert_##type##16(const Vec<T, 16>& v) { return converted<type>(v); } \
  template <class T> HERE type##16 as_##type##16(const T& v) { return bits_as<type##16>(v); } \
  template <class T> HERE type as_##type(const T& v) { return bits_as<type>(v); }
#define char2 opencl_char2
#define char4 opencl_char4
#define uchar2 opencl_uchar2
#define uchar4 opencl_uchar4
#define short2 opencl_short2
#define short4 opencl_short4
#define ushort2 opencl_ushort2
#define ushort4 opencl_ushort4
#define int2 opencl_int2
#define int4 opencl_int4
#define uint2 opencl_uint2
#define uint4 opencl_uint4
#define long2 opencl_long2
#define long4 opencl_long4
#define ulong2 opencl_ulong2
#define ulong4 opencl_ulong4
#define float2 opencl_float2
#define float4 opencl_float4
#define double2 opencl_double2
#define double4 opencl_double4
TYPE8(char) TYPE8(uchar) TYPE8(short) TYPE8(ushort) TYPE8(int) TYPE8(uint) TYPE8(long) TYPE8(ulong) TYPE8(float) TYPE8(double)

template <int N, class T> HERE Vec<T, N> vload(long at, const T* p) { Vec<T, N> r; EACH_LANE r.s[i] = p[at * N + i]; return r; }
template <class T, int N, class P> HERE void vstore(const Vec<T, N>& v, long at, P* p) { EACH_LANE p[at * N + i] = v.s[i]; }
template <class T> HERE Vec<T, 8> vload8(long at, const T* p) { return vload<8>(at, p); }
template <class T> HERE Vec<T, 16> vload16(long at, const T* p) { return vload<16>(at, p); }
template <class T, class P> HERE void vstore8(const Vec<T, 8>& v, long at, P* p) { vstore(v, at, p); }
template <class T, class P> HERE void vstore16(const Vec<T, 16>& v, long at, P* p) { vstore(v, at, p); }

// --- Functions of lanes. ---
#define UNARY(name) template <class T, int N> HERE Vec<T, N> name(const Vec<T, N>& v) { Vec<T, N> r; EACH_LANE r.s[i] = ::name(v.s[i]); return r; }
UNARY(fabs) UNARY(floor) UNARY(ceil) UNARY(trunc) UNARY(rint) UNARY(sqrt)
template <int N> HERE Vec<uint, N> abs(const Vec<int, N>& v) { Vec<uint, N> r; EACH_LANE r.s[i] = v.s[i] < 0 ? 0u - (uint)v.s[i] : (uint)v.s[i]; return r; }
template <int N> HERE Vec<ulong, N> abs(const Vec<long, N>& v) { Vec<ulong, N> r; EACH_LANE r.s[i] = v.s[i] < 0 ? 0ul - (ulong)v.s[i] : (ulong)v.s[i]; return r; }
template <class T, int N> HERE Vec<T, N> fma(const Vec<T, N>& a, const Vec<T, N>& b, const Vec<T, N>& c) {
  Vec<T, N> r;
  EACH_LANE r.s[i] = ::fma(a.s[i], b.s[i], c.s[i]);
  return r;
}
HERE ulong mul_hi(ulong a, ulong b) { return __umul64hi(a, b); }
HERE int clz(ulong v) { return __clzll((long long)v); }
template <class T, int N> HERE int any(const Vec<T, N>& mask) { int r = 0; EACH_LANE r |= mask.s[i] < 0; return r; }
template <class T, int N> HERE int any_of(const Vec<T, N>& mask) { return any(mask); }
template <class T, int N> HERE typename Vec<T, N>::Mask isnan(const Vec<T, N>& v) { return v != v; }
template <class M, class A, class B, int N> HERE Vec<A, N> PICK(const Vec<M, N>& mask, const Vec<A, N>& a, const Vec<B, N>& b) {
  static_assert(sizeof(M) == sizeof(A) && sizeof(A) == sizeof(B), "a mask is as wide as the lanes");
  Vec<A, N> r;
  EACH_LANE r.s[i] = mask.s[i] < 0 ? a.s[i] : b.s[i];
  return r;
}
template <class A> HERE A PICK(int mask, A a, A b) { return mask ? a : b; }
#define EIGHT(type, a, b, c, d, e, f, g, h) eight<type>(a, b, c, d, e, f, g, h)
template <class V, class T> HERE V eight(T a, T b, T c, T d, T e, T f, T g, T h) {
  V r;
  const T all[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) r.s[i] = all[i];
  return r;
}
#define JOIN(type, low, high) joined(low, high)
template <class T, int N> HERE Vec<T, 2 * N> joined(const Vec<T, N>& low, const Vec<T, N>& high) {
  Vec<T, 2 * N> r;
  r.lo = low;
  r.hi = high;
  return r;
}

// --- Half floats kept in memory. ---
struct half { ushort bits; };
HERE float vload_half(long at, const half* p) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(p[at].bits));
  return r;
}
HERE void vstore_half_rte(float v, long at, half* p) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(p[at].bits) : "f"(v)); }

// --- Work-items. ---
#define ITEM get_global_id(0)
HERE long get_global_id(int axis) {
  return axis == 0 ? (long)blockIdx.x * blockDim.x + threadIdx.x : (long)blockIdx.y * blockDim.y + threadIdx.y;
}
HERE int atomic_cmpxchg(int* p, int expected, int value) { return atomicCAS(p, expected, value); }
#define GET8(type, p) vload8(0, p)
#define GET16(type, p) vload16(0, p)
#define PUT8(type, p, v) vstore8(v, 0, p)
#define GET16(type, p) vload16(0, p)
#define GET_BYTES(p) vload8(0, (const ulong*)(p))
#define PUT_BYTES(p, v) vstore8(v, 0, (ulong*)(p))
#define PUT16(type, p, v) vstore16(v, 0, p)
#define KERNEL extern "C" __global__ void
#define __kernel extern "C" __global__
#define __global
#define __constant __constant__
#define __private
#define static static __device__
