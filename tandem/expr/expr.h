// Formula trees: an expression over lanes of numbers, built by running a formula once with Expr operands.
// From the tree come machine code, OpenCL source and the portable tile interpreter; all must agree bit for bit.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "tandem/core/dtype.h"
#include "tandem/expr/angle.h"

namespace tandem::expr {

/// What one lane of a vector register holds. f16 and bf16 are computed as f32, small integers as i32.
enum class Lane : std::uint8_t { f32, f64, i32, i64, mask };

/// The lane type that computes a dtype.
Lane lane_of(DType dtype);
constexpr bool is_float_lane(Lane lane) { return lane == Lane::f32 || lane == Lane::f64; }

/// The instructions every backend implements, and nothing else.
enum class Prim : std::uint8_t {
  input,        // bits = which
  constant,     // bits = the value's bit pattern in the lane type
  index_lo,     // i32: low word of the element's position in the output
  index_hi,     // i32: high word
  add,
  sub,
  mul,
  div,  // integers wrap; integer div truncates, x/0 = 0
  fma,          // a*b + c, rounded once
  neg,
  abs,
  sqrt,
  min,
  max,     // a < b ? a : b and a > b ? a : b; b when either is NaN
  round_even,
  floor,
  trunc,
  eq,
  lt,
  le,   // to mask; false when either is NaN
  bit_and,
  bit_or,
  bit_xor,  // masks and integers
  bit_not,
  select,       // a ? b : c
  shift_left,
  shift_right,  // integers, by `bits`; right is logical
  shift_left_by,
  shift_right_by,  // the same by b, which is below the bits of a lane and not negative
  mul_hi_u32,   // i32 lanes as unsigned: upper half of the product
  angle_rest,  // of a large angle, by the grid in `bits`: see angle.h; a itself where it is small, which costs next to
               // nothing
  bitcast,  // f32 <-> i32, f64 <-> i64
  convert,  // numbers to another lane type; float to integer truncates, and what does not fit (NaN, infinity,
            // too large) gives the smallest integer, as x86 does
};
const char* prim_name(Prim prim);
int prim_arity(Prim prim);

struct Node {
  Prim prim;
  Lane lane;  // of the result
  std::int32_t a = -1, b = -1, c = -1;
  std::uint64_t bits = 0;
  friend bool operator==(const Node&, const Node&) = default;
};

class Graph;

/// A handle to a node; behaves like a number.
class Expr {
 public:
  Expr() = default;
  Expr(Graph* graph, std::int32_t node) : graph_(graph), node_(node) {}
  Graph& graph() const { return *graph_; }
  std::int32_t node() const { return node_; }
  Lane lane() const;
  /// `value` as a constant of this expression's lane type.
  Expr like(double value) const;

 private:
  Graph* graph_ = nullptr;
  std::int32_t node_ = -1;
};

/// The nodes of one program in evaluation order. Equal nodes are made once.
class Graph {
 public:
  Expr add(const Node& node);
  Expr input(int index, Lane lane) {
    return add({.prim = Prim::input, .lane = lane, .bits = static_cast<std::uint64_t>(index)});
  }
  Expr constant(Lane lane, double value);
  Expr constant_bits(Lane lane, std::uint64_t bits) {
    return add({.prim = Prim::constant, .lane = lane, .bits = bits});
  }
  Expr index_lo() { return add({.prim = Prim::index_lo, .lane = Lane::i32}); }
  Expr index_hi() { return add({.prim = Prim::index_hi, .lane = Lane::i32}); }
  /// What is built from now on computes with numbers of `dtype`: of u64, lanes of i64 are read as unsigned.
  void compute_as(DType dtype) { dtype_ = dtype; }
  bool is_unsigned(Lane lane) const { return dtype_ == DType::u64 && lane == Lane::i64; }
  /// Bits of the numbers that integer lanes stand for: 8 when i32 lanes compute i8.
  int bits_of(Lane lane) const;
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& operator[](std::int32_t i) const { return nodes_[i]; }

 private:
  std::int32_t simplify(Node& node) const;
  std::int32_t simplify_by_constant(Node& node) const;
  std::int32_t& find_slot(const Node& node);
  void grow_table();

  DType dtype_ = DType::f32;  // of no integer: lanes are what they are
  std::vector<Node> nodes_;
  std::vector<std::int32_t> table_;  // open addressing over nodes_, a power of two long; -1 is free
};

inline Lane Expr::lane() const { return (*graph_)[node_].lane; }
inline Expr Expr::like(double value) const { return graph_->constant(lane(), value); }

Expr unary(Prim prim, Expr a);
Expr binary(Prim prim, Expr a, Expr b);
Expr compare(Prim prim, Expr a, Expr b);

template <class T>
concept Number = std::is_arithmetic_v<T>;

// --- Arithmetic: two expressions, or an expression and a plain number of its lane type. ---
inline Expr operator+(Expr a, Expr b) { return binary(Prim::add, a, b); }
inline Expr operator-(Expr a, Expr b) { return binary(Prim::sub, a, b); }
inline Expr operator*(Expr a, Expr b) { return binary(Prim::mul, a, b); }
inline Expr operator/(Expr a, Expr b) { return binary(Prim::div, a, b); }
inline Expr operator-(Expr a) { return unary(Prim::neg, a); }
inline Expr operator+(Expr a, Number auto b) { return a + a.like(b); }
inline Expr operator-(Expr a, Number auto b) { return a - a.like(b); }
inline Expr operator*(Expr a, Number auto b) { return a * a.like(b); }
inline Expr operator/(Expr a, Number auto b) { return a / a.like(b); }
inline Expr operator+(Number auto a, Expr b) { return b.like(a) + b; }
inline Expr operator-(Number auto a, Expr b) { return b.like(a) - b; }
inline Expr operator*(Number auto a, Expr b) { return b.like(a) * b; }
inline Expr operator/(Number auto a, Expr b) { return b.like(a) / b; }

// --- Comparison: to a mask. ---
inline Expr operator==(Expr a, Expr b) { return compare(Prim::eq, a, b); }
inline Expr operator<(Expr a, Expr b) { return compare(Prim::lt, a, b); }
inline Expr operator<=(Expr a, Expr b) { return compare(Prim::le, a, b); }
inline Expr operator>(Expr a, Expr b) { return b < a; }
inline Expr operator>=(Expr a, Expr b) { return b <= a; }
inline Expr operator==(Expr a, Number auto b) { return a == a.like(b); }
inline Expr operator<(Expr a, Number auto b) { return a < a.like(b); }
inline Expr operator<=(Expr a, Number auto b) { return a <= a.like(b); }
inline Expr operator>(Expr a, Number auto b) { return a > a.like(b); }
inline Expr operator>=(Expr a, Number auto b) { return a >= a.like(b); }
inline Expr operator!(Expr a) { return unary(Prim::bit_not, a); }
inline Expr operator!=(Expr a, Expr b) { return !(a == b); }
inline Expr operator!=(Expr a, Number auto b) { return !(a == a.like(b)); }

// --- Bits: masks and integer lanes. ---
inline Expr operator&(Expr a, Expr b) { return binary(Prim::bit_and, a, b); }
inline Expr operator|(Expr a, Expr b) { return binary(Prim::bit_or, a, b); }
inline Expr operator^(Expr a, Expr b) { return binary(Prim::bit_xor, a, b); }
Expr shift_left(Expr a, int bits);
Expr shift_right(Expr a, int bits);
Expr shift_lanes(Prim prim, Expr a, Expr b);  // shift_left_by, shift_right_by
Expr mul_hi_u32(Expr a, Expr b);
Expr angle_rest(Expr a, AngleGrid grid);
Expr bitcast(Expr a, Lane to);
/// To another lane type; a mask becomes 1 or 0, a number becomes a mask by != 0.
Expr convert(Expr a, Lane to);

// --- The functions of Prim; see there for NaN. ---
Expr fma(Expr a, Expr b, Expr c);
inline Expr fma(Expr a, Expr b, Number auto c) { return fma(a, b, a.like(c)); }
inline Expr fma(Expr a, Number auto b, Expr c) { return fma(a, a.like(b), c); }
inline Expr fma(Expr a, Number auto b, Number auto c) { return fma(a, a.like(b), a.like(c)); }
Expr select(Expr mask, Expr a, Expr b);
inline Expr select(Expr mask, Number auto a, Expr b) { return select(mask, b.like(a), b); }
inline Expr select(Expr mask, Expr a, Number auto b) { return select(mask, a, a.like(b)); }
inline Expr abs(Expr a) { return unary(Prim::abs, a); }
inline Expr sqrt(Expr a) { return unary(Prim::sqrt, a); }
inline Expr floor(Expr a) { return unary(Prim::floor, a); }
inline Expr trunc(Expr a) { return unary(Prim::trunc, a); }
inline Expr round_even(Expr a) { return unary(Prim::round_even, a); }
inline Expr lesser(Expr a, Expr b) { return binary(Prim::min, a, b); }
inline Expr greater_of(Expr a, Expr b) { return binary(Prim::max, a, b); }
inline Expr lesser(Number auto a, Expr b) { return lesser(b.like(a), b); }
inline Expr greater_of(Number auto a, Expr b) { return greater_of(b.like(a), b); }

// --- Made of the above, defined once in math.cc so that all devices agree. f32 and f64 lanes. ---
Expr exp(Expr x);
Expr log(Expr x);
Expr tanh(Expr x);
Expr erf(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr pow(Expr x, Expr y);  // integer lanes too: y < 0 gives 0 unless |x| = 1

}  // namespace tandem::expr
