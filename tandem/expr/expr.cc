#include "tandem/expr/expr.h"

#include <array>
#include <cmath>

#include "tandem/base/error.h"
#include "tandem/base/hash.h"
#include "tandem/expr/lane_ops.h"

namespace tandem::expr {

Lane lane_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return Lane::f32;
    case DType::f64: return Lane::f64;
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
    case DType::i32: return Lane::i32;
    case DType::u32:
    case DType::u64:
    case DType::i64: return Lane::i64;
    case DType::boolean: return Lane::mask;
    case DType::string: break;
  }
  TANDEM_CHECK(false, "strings have no lanes");
  return Lane::mask;
}

namespace {

struct PrimInfo {
  const char* name;
  int arity;
};

constexpr PrimInfo kPrims[] = {
    {"input", 0},
    {"constant", 0},
    {"index_lo", 0},
    {"index_hi", 0},
    {"add", 2},
    {"sub", 2},
    {"mul", 2},
    {"div", 2},
    {"fma", 3},
    {"neg", 1},
    {"abs", 1},
    {"sqrt", 1},
    {"min", 2},
    {"max", 2},
    {"round_even", 1},
    {"floor", 1},
    {"trunc", 1},
    {"eq", 2},
    {"lt", 2},
    {"le", 2},
    {"bit_and", 2},
    {"bit_or", 2},
    {"bit_xor", 2},
    {"bit_not", 1},
    {"select", 3},
    {"shift_left", 1},
    {"shift_right", 1},
    {"shift_left_by", 2},
    {"shift_right_by", 2},
    {"mul_hi_u32", 2},
    {"angle_rest", 1},
    {"bitcast", 1},
    {"convert", 1},
};
static_assert(std::size(kPrims) == static_cast<std::size_t>(Prim::convert) + 1);

const char* lane_name(Lane lane) {
  constexpr const char* names[] = {"f32", "f64", "i32", "i64", "mask"};
  return names[static_cast<int>(lane)];
}

int lane_bits(Lane lane) { return lane == Lane::f64 || lane == Lane::i64 ? 64 : 32; }
bool is_integer_lane(Lane lane) { return lane == Lane::i32 || lane == Lane::i64; }

bool commutes(Prim prim) {
  switch (prim) {
    case Prim::add:
    case Prim::mul:
    case Prim::fma:
    case Prim::eq:
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor:
    case Prim::mul_hi_u32: return true;
    default: return false;
  }
}

void check_same(const char* name, Expr a, Expr b) {
  TANDEM_CHECK(&a.graph() == &b.graph(), name, ": operands come from two graphs");
  TANDEM_CHECK(a.lane() == b.lane(), name, ": operands are ", lane_name(a.lane()), " and ", lane_name(b.lane()));
}

std::uint64_t node_hash(const Node& node) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(node.prim) << 8 | static_cast<std::uint64_t>(node.lane), node.bits);
  h = mix(h, static_cast<std::uint32_t>(node.a));
  h = mix(h, static_cast<std::uint64_t>(static_cast<std::uint32_t>(node.b)) << 32 | static_cast<std::uint32_t>(node.c));
  return h;
}

bool is_nan(Lane lane, std::uint64_t bits) {
  const ScalarValue value = value_from_bits(lane, bits);
  return (lane == Lane::f32 && std::isnan(value.f32)) || (lane == Lane::f64 && std::isnan(value.f64));
}

}  // namespace

const char* prim_name(Prim prim) { return kPrims[static_cast<int>(prim)].name; }
int prim_arity(Prim prim) { return kPrims[static_cast<int>(prim)].arity; }

Expr Graph::add(const Node& given) {
  Node node = given;
  // A constant comes second, so that equal expressions have one form and code can take it from memory.
  if (commutes(node.prim)) {
    const bool a_constant = nodes_[node.a].prim == Prim::constant, b_constant = nodes_[node.b].prim == Prim::constant;
    if (a_constant != b_constant ? a_constant : node.a > node.b) std::swap(node.a, node.b);
  }
  if (std::int32_t known = simplify(node); known >= 0) return {this, known};
  if (2 * (nodes_.size() + 1) > table_.size()) grow_table();
  std::int32_t& slot = find_slot(node);
  if (slot < 0) {
    slot = static_cast<std::int32_t>(nodes_.size());
    nodes_.push_back(node);
  }
  return {this, slot};
}

std::int32_t& Graph::find_slot(const Node& node) {
  std::size_t i = node_hash(node);
  for (;; ++i) {
    std::int32_t& slot = table_[i & (table_.size() - 1)];
    if (slot < 0 || nodes_[slot] == node) return slot;
  }
}

void Graph::grow_table() {
  table_.assign(std::max<std::size_t>(64, table_.size() * 2), -1);
  for (std::size_t i = 0; i < nodes_.size(); ++i) find_slot(nodes_[i]) = static_cast<std::int32_t>(i);
}

// Rewrites `node` to a constant when its operands are, or names the node that already has its value.
std::int32_t Graph::simplify(Node& node) const {
  const int arity = prim_arity(node.prim);
  if (arity == 0) return -1;
  auto is_constant = [&](std::int32_t i) { return nodes_[i].prim == Prim::constant; };
  auto value = [&](std::int32_t i) { return value_from_bits(nodes_[i].lane, nodes_[i].bits); };

  if (node.prim == Prim::select) {
    if (node.b == node.c) return node.b;
    if (is_constant(node.a)) return value(node.a).mask ? node.b : node.c;
    return -1;
  }
  const Lane operand = nodes_[node.a].lane;
  if (is_constant(node.a) && (arity < 2 || is_constant(node.b)) && (arity < 3 || is_constant(node.c))) {
    const ScalarValue none{.i64 = 0};
    const std::uint64_t bits = value_bits(
        node.lane,
        apply_prim(node, operand, value(node.a), arity < 2 ? none : value(node.b), arity < 3 ? none : value(node.c)));
    // Which NaN an operation makes differs between machines: leave it to them.
    if (!is_nan(node.lane, bits)) node = {.prim = Prim::constant, .lane = node.lane, .bits = bits};
    return -1;
  }
  if (node.prim == Prim::bit_not && nodes_[node.a].prim == Prim::bit_not) return nodes_[node.a].a;
  if (node.prim == Prim::bitcast && nodes_[node.a].prim == Prim::bitcast) return nodes_[node.a].a;
  if (arity == 2 && is_constant(node.b)) return simplify_by_constant(node);
  return -1;
}

// What holds for every x: x*1, x/1, x-0 and, for integers only (floats have -0), x+0.
std::int32_t Graph::simplify_by_constant(Node& node) const {
  const Lane lane = nodes_[node.b].lane;
  if (lane == Lane::mask) return -1;
  const std::uint64_t bits = nodes_[node.b].bits;
  const ScalarValue value = value_from_bits(lane, bits);
  const double number = is_float_lane(lane) ? (lane == Lane::f32 ? value.f32 : value.f64) : static_cast<double>(bits);
  switch (node.prim) {
    case Prim::mul:
    case Prim::div:
      if (number == 1) return node.a;
      break;
    case Prim::sub:
      if (bits == 0) return node.a;
      break;
    case Prim::add:
      if (bits == 0 && is_integer_lane(lane)) return node.a;
      break;
    default: break;
  }
  return -1;
}

int Graph::bits_of(Lane lane) const {
  return is_integer(dtype_) && lane_of(dtype_) == lane ? static_cast<int>(8 * dtype_size(dtype_)) : lane_bits(lane);
}

Expr Graph::constant(Lane lane, double value) {
  switch (lane) {
    case Lane::f32: return constant_bits(lane, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case Lane::f64: return constant_bits(lane, std::bit_cast<std::uint64_t>(value));
    case Lane::mask: return constant_bits(lane, value != 0);
    default: break;
  }
  // Unsigned words such as 0xD2511F53 are welcome as integer constants: they wrap.
  const auto integer = value >= 0x1p63 ? static_cast<std::uint64_t>(value)
                                       : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return constant_bits(lane, lane == Lane::i32 ? static_cast<std::uint32_t>(integer) : integer);
}

Expr unary(Prim prim, Expr a) {
  const Lane lane = a.lane();
  switch (prim) {
    case Prim::bit_not: TANDEM_CHECK(!is_float_lane(lane), "bit_not of ", lane_name(lane)); break;
    case Prim::neg:
    case Prim::abs: TANDEM_CHECK(lane != Lane::mask, prim_name(prim), " of a mask"); break;
    case Prim::sqrt:
    case Prim::round_even:
    case Prim::floor:
    case Prim::trunc:
      TANDEM_CHECK(lane != Lane::mask, prim_name(prim), " of a mask");
      if (is_integer_lane(lane)) return a;  // as scalar_math.h does
      break;
    default: TANDEM_CHECK(false, prim_name(prim), " is not a unary instruction");
  }
  if (prim == Prim::abs && a.graph().is_unsigned(lane)) return a;
  return a.graph().add({.prim = prim, .lane = lane, .a = a.node()});
}

namespace {

// --- i64 lanes that hold unsigned numbers: made of the signed instructions. ---

constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;

Expr signed_compare(Prim prim, Expr a, Expr b) {
  return a.graph().add({.prim = prim, .lane = Lane::mask, .a = a.node(), .b = b.node()});
}
Expr with_top_turned(Expr a) { return a ^ a.graph().constant_bits(Lane::i64, kTopBit); }
Expr unsigned_compare(Prim prim, Expr a, Expr b) {
  return signed_compare(prim, with_top_turned(a), with_top_turned(b));
}

/// Half the dividend has room for a sign; what the halving lost is at most one more b. A divisor above half the range
/// goes into anything once or not at all. x / 0 = 0.
Expr unsigned_quotient(Expr a, Expr b) {
  Graph& graph = a.graph();
  const Expr zero = graph.constant_bits(Lane::i64, 0), one = graph.constant_bits(Lane::i64, 1);
  const Expr half = graph.add({.prim = Prim::div, .lane = Lane::i64, .a = shift_right(a, 1).node(), .b = b.node()});
  const Expr about = shift_left(half, 1);
  const Expr once_more = unsigned_compare(Prim::le, b, a - about * b);
  const Expr whole = about + select(once_more, one, zero);
  const Expr quotient =
      select(signed_compare(Prim::lt, b, zero), select(unsigned_compare(Prim::le, b, a), one, zero), whole);
  return select(signed_compare(Prim::eq, b, zero), zero, quotient);
}

/// Above 2^63 half of it is converted, its last bit kept for the rounding, and doubled.
Expr unsigned_to_float(Expr a, Lane to) {
  Graph& graph = a.graph();
  const Expr zero = graph.constant_bits(Lane::i64, 0), one = graph.constant_bits(Lane::i64, 1);
  const Expr large = signed_compare(Prim::lt, a, zero);
  const Expr fits = select(large, shift_right(a, 1) | (a & one), a);
  const Expr number = graph.add({.prim = Prim::convert, .lane = to, .a = fits.node()});
  return select(large, number + number, number);
}

/// What is not below 2^63 is converted less that much.
Expr float_to_unsigned(Expr a) {
  Graph& graph = a.graph();
  const auto converted = [&](Expr x) { return graph.add({.prim = Prim::convert, .lane = Lane::i64, .a = x.node()}); };
  const Expr bound = a.like(0x1p63);
  return select(bound <= a, with_top_turned(converted(a - bound)), converted(a));
}

}  // namespace

// 1 / b when b is a constant power of two whose reciprocal is a normal number, else 0: then a / b = a * (1 / b)
// exactly.
static double exact_reciprocal(Expr b) {
  const Node& node = b.graph()[b.node()];
  if (node.prim != Prim::constant || !is_float_lane(node.lane)) return 0;
  const ScalarValue value = value_from_bits(node.lane, node.bits);
  const double number = node.lane == Lane::f32 ? value.f32 : value.f64;
  int exponent = 0;
  if (std::fabs(std::frexp(number, &exponent)) != 0.5 || std::abs(exponent) > 120) return 0;
  return 1 / number;
}

Expr binary(Prim prim, Expr a, Expr b) {
  check_same(prim_name(prim), a, b);
  const Lane lane = a.lane();
  switch (prim) {
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor: TANDEM_CHECK(!is_float_lane(lane), prim_name(prim), " of ", lane_name(lane)); break;
    case Prim::min:
      if (lane == Lane::mask) return a & b;
      break;
    case Prim::max:
      if (lane == Lane::mask) return a | b;
      break;
    case Prim::add:
    case Prim::sub:
    case Prim::mul:
    case Prim::div: TANDEM_CHECK(lane != Lane::mask, prim_name(prim), " of masks"); break;
    default: TANDEM_CHECK(false, prim_name(prim), " is not a binary instruction");
  }
  if (a.graph().is_unsigned(lane)) {
    if (prim == Prim::min) return select(a < b, a, b);
    if (prim == Prim::max) return select(b < a, a, b);
    if (prim == Prim::div) return unsigned_quotient(a, b);
  }
  if (prim == Prim::div)
    if (const double reciprocal = exact_reciprocal(b); reciprocal != 0) return a * reciprocal;
  return a.graph().add({.prim = prim, .lane = lane, .a = a.node(), .b = b.node()});
}

Expr compare(Prim prim, Expr a, Expr b) {
  check_same(prim_name(prim), a, b);
  TANDEM_CHECK(prim == Prim::eq || prim == Prim::lt || prim == Prim::le, prim_name(prim), " is not a comparison");
  if (a.lane() == Lane::mask) {
    if (prim == Prim::eq) return !(a ^ b);
    return prim == Prim::lt ? (!a) & b : (!a) | b;
  }
  if (prim != Prim::eq && a.graph().is_unsigned(a.lane())) return unsigned_compare(prim, a, b);
  return signed_compare(prim, a, b);
}

static Expr shift(Prim prim, Expr a, int bits) {
  TANDEM_CHECK(is_integer_lane(a.lane()), prim_name(prim), " of ", lane_name(a.lane()));
  TANDEM_CHECK(bits >= 0 && bits < lane_bits(a.lane()), prim_name(prim), " by ", bits, " bits");
  if (bits == 0) return a;
  return a.graph().add({.prim = prim, .lane = a.lane(), .a = a.node(), .bits = static_cast<std::uint64_t>(bits)});
}
Expr shift_left(Expr a, int bits) { return shift(Prim::shift_left, a, bits); }
Expr shift_right(Expr a, int bits) { return shift(Prim::shift_right, a, bits); }

Expr shift_lanes(Prim prim, Expr a, Expr b) {
  check_same(prim_name(prim), a, b);
  TANDEM_CHECK(is_integer_lane(a.lane()), prim_name(prim), " of ", lane_name(a.lane()));
  return a.graph().add({.prim = prim, .lane = a.lane(), .a = a.node(), .b = b.node()});
}

Expr mul_hi_u32(Expr a, Expr b) {
  check_same("mul_hi_u32", a, b);
  TANDEM_CHECK(a.lane() == Lane::i32, "mul_hi_u32 of ", lane_name(a.lane()));
  return a.graph().add({.prim = Prim::mul_hi_u32, .lane = Lane::i32, .a = a.node(), .b = b.node()});
}

Expr angle_rest(Expr a, AngleGrid grid) {
  TANDEM_CHECK(is_float_lane(a.lane()), "angle_rest of ", lane_name(a.lane()));
  return a.graph().add(
      {.prim = Prim::angle_rest, .lane = a.lane(), .a = a.node(), .bits = static_cast<std::uint64_t>(grid)});
}

Expr bitcast(Expr a, Lane to) {
  if (a.lane() == to) return a;
  TANDEM_CHECK(a.lane() != Lane::mask && to != Lane::mask && lane_bits(a.lane()) == lane_bits(to), "bitcast of ",
               lane_name(a.lane()), " to ", lane_name(to));
  return a.graph().add({.prim = Prim::bitcast, .lane = to, .a = a.node()});
}

Expr convert(Expr a, Lane to) {
  if (a.lane() == to) return a;
  if (to == Lane::mask) return a != 0;
  if (a.lane() == Lane::mask) return select(a, a.graph().constant(to, 1), a.graph().constant(to, 0));
  if (is_float_lane(to) && a.graph().is_unsigned(a.lane())) return unsigned_to_float(a, to);
  if (is_float_lane(a.lane()) && a.graph().is_unsigned(to)) return float_to_unsigned(a);
  return a.graph().add({.prim = Prim::convert, .lane = to, .a = a.node()});
}

Expr fma(Expr a, Expr b, Expr c) {
  check_same("fma", a, b);
  check_same("fma", a, c);
  if (!is_float_lane(a.lane())) return a * b + c;  // exact either way
  return a.graph().add({.prim = Prim::fma, .lane = a.lane(), .a = a.node(), .b = b.node(), .c = c.node()});
}

Expr select(Expr mask, Expr a, Expr b) {
  check_same("select", a, b);
  TANDEM_CHECK(mask.lane() == Lane::mask, "select by ", lane_name(mask.lane()), ", needed a mask");
  if (a.lane() == Lane::mask) return (mask & a) | ((!mask) & b);  // instructions need no select among masks
  return a.graph().add({.prim = Prim::select, .lane = a.lane(), .a = mask.node(), .b = a.node(), .c = b.node()});
}

}  // namespace tandem::expr
