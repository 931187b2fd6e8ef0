#include "tandem/backend/opencl/source.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "tandem/backend/opencl/angle.h"
#include "tandem/base/error.h"

namespace tandem::opencl {
namespace {

using expr::Lane;
using expr::Node;
using expr::Prim;

std::string hex(std::uint64_t bits, const char* suffix) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "0x%llx%s", static_cast<unsigned long long>(bits), suffix);
  return buffer;
}

bool is_integer_lane(Lane lane) { return lane == Lane::i32 || lane == Lane::i64; }
bool is_wide(Lane lane) { return lane == Lane::f64 || lane == Lane::i64; }

/// Writes the statements of one program, whose vectors have `width` lanes.
class Writer {
 public:
  Writer(const expr::Program& program, int width, std::string_view mask = lane_type(Lane::mask))
      : program_(program),
        width_(width),
        mask_(mask) {}

  std::string run() {
    std::string out;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      out += text("      const ", vector_type(node.lane), " v", i, " = ", expression(node), ";\n");
    }
    return out;
  }

 private:
  static std::string name(std::int32_t node) { return text("v", node); }
  Lane lane(std::int32_t node) const { return program_.nodes[static_cast<std::size_t>(node)].lane; }
  std::string vector_type(Lane lane) const { return text(lane == Lane::mask ? mask_ : lane_type(lane), width_); }
  std::string unsigned_type(Lane lane) const { return text(lane == Lane::i64 ? "ulong" : "uint", width_); }
  /// "convert_int8", "as_int8", "(int8)": of vectors.
  std::string convert(Lane to) const { return text("convert_", vector_type(to)); }
  std::string as(Lane to) const { return text("as_", vector_type(to)); }
  std::string all(Lane lane, std::string_view value) const { return text("(", vector_type(lane), ")(", value, ")"); }

  std::string constant(const Node& node) const {
    switch (node.lane) {
      case Lane::f32: return all(Lane::f32, text("as_float(", hex(node.bits & 0xFFFFFFFFu, "u"), ")"));
      case Lane::f64: return all(Lane::f64, text("as_double(", hex(node.bits, "ul"), ")"));
      case Lane::i32: return all(Lane::i32, text("as_int(", hex(node.bits & 0xFFFFFFFFu, "u"), ")"));
      case Lane::i64: return all(Lane::i64, text("as_long(", hex(node.bits, "ul"), ")"));
      default: return all(Lane::mask, node.bits ? "-1" : "0");
    }
  }

  /// A mask with the width of `wanted`'s lanes: what a vector's ?: asks for.
  std::string mask_for(std::int32_t mask, Lane wanted) const {
    return is_wide(wanted) ? text(convert(Lane::i64), "(", name(mask), ")") : name(mask);
  }

  std::string expression(const Node& node) const {
    switch (node.prim) {
      case Prim::input: return text("in", node.bits);
      case Prim::constant: return constant(node);
      case Prim::index_lo: return "as_int8(convert_uint8(index & 0xFFFFFFFFul))";
      case Prim::index_hi: return "as_int8(convert_uint8(index >> 32))";
      case Prim::convert: return conversion(node);
      case Prim::bitcast: return text("as_", vector_type(node.lane), "(", name(node.a), ")");
      case Prim::select: return text("PICK(", mask_for(node.a, node.lane), ", ", name(node.b), ", ", name(node.c), ")");
      case Prim::eq: return comparison(node, "==");
      case Prim::lt: return comparison(node, "<");
      case Prim::le: return comparison(node, "<=");
      default: return arithmetic(node);
    }
  }

  std::string comparison(const Node& node, const char* sign) const {
    const std::string compared = text("(", name(node.a), " ", sign, " ", name(node.b), ")");
    return is_wide(lane(node.a)) ? text(convert(Lane::i32), compared) : compared;
  }

  /// Integers wrap, which only unsigned ones do by the language.
  std::string infix(const Node& node, const char* sign) const {
    if (!is_integer_lane(node.lane)) return text(name(node.a), " ", sign, " ", name(node.b));
    const std::string u = unsigned_type(node.lane);
    return text("as_", vector_type(node.lane), "(as_", u, "(", name(node.a), ") ", sign, " as_", u, "(", name(node.b),
                "))");
  }

  std::string shift(const Node& node, const char* sign) const {
    return text("as_", vector_type(node.lane), "(as_", unsigned_type(node.lane), "(", name(node.a), ") ", sign, " ",
                node.bits, node.lane == Lane::i64 ? "ul)" : "u)");
  }

  std::string arithmetic(const Node& node) const {
    const bool whole = is_integer_lane(node.lane);
    const std::string a = name(node.a), b = node.b >= 0 ? name(node.b) : "";
    switch (node.prim) {
      case Prim::add: return infix(node, "+");
      case Prim::sub: return infix(node, "-");
      case Prim::mul: return infix(node, "*");
      case Prim::div:
        return whole ? by_eight(node, node.lane == Lane::i64 ? "divide_long" : "divide_int") : infix(node, "/");
      case Prim::fma: return text("fma(", a, ", ", b, ", ", name(node.c), ")");
      case Prim::neg:
        return whole ? text("as_", vector_type(node.lane), "(0 - as_", unsigned_type(node.lane), "(", a, "))")
                     : text("-", a);
      case Prim::abs: return whole ? text("as_", vector_type(node.lane), "(abs(", a, "))") : text("fabs(", a, ")");
      case Prim::sqrt: return text("sqrt(", a, ")");
      case Prim::min: return text("PICK(", a, " < ", b, ", ", a, ", ", b, ")");
      case Prim::max: return text("PICK(", a, " > ", b, ", ", a, ", ", b, ")");
      case Prim::round_even: return rounded(node);
      case Prim::floor: return text("floor(", a, ")");
      case Prim::trunc: return text("trunc(", a, ")");
      case Prim::bit_and: return text(a, " & ", b);
      case Prim::bit_or: return text(a, " | ", b);
      case Prim::bit_xor: return text(a, " ^ ", b);
      case Prim::bit_not: return text("~", a);
      case Prim::shift_left: return shift(node, "<<");
      case Prim::shift_right: return shift(node, ">>");
      case Prim::shift_left_by: return infix(node, "<<");
      case Prim::shift_right_by: return infix(node, ">>");
      case Prim::mul_hi_u32:
        return text(as(Lane::i32), "(convert_uint", width_, "((convert_ulong", width_, "(as_uint", width_, "(", a,
                    ")) * convert_ulong", width_, "(as_uint", width_, "(", b, "))) >> 32))");
      case Prim::angle_rest: return text("angle_rest_", lane_type(node.lane), width_, "(", a, ", ", node.bits, ")");
      default: TANDEM_CHECK(false, "no OpenCL text for ", expr::prim_name(node.prim)); return "";
    }
  }

  std::string rounded(const Node& node) const {
    const bool wide = is_wide(node.lane);
    return text("ROUND_EVEN(", vector_type(node.lane), ", ", vector_type(wide ? Lane::i64 : Lane::i32), ", ",
                name(node.a), ", ", wide ? "0x1p52" : "0x1p23f", ")");
  }

  /// Calls a function of two operands that is written for vectors of eight.
  std::string by_eight(const Node& node, std::string_view function) const {
    const auto call = [&](std::string_view half) {
      return text(function, "(", name(node.a), half, ", ", name(node.b), half, ")");
    };
    return width_ == kWidth ? call("")
                            : text("JOIN(", vector_type(node.lane), ", ", call(".lo"), ", ", call(".hi"), ")");
  }

  std::string conversion(const Node& node) const {
    const Lane from = lane(node.a);
    const std::string a = name(node.a), to = vector_type(node.lane);
    if (node.lane == from) return a;
    if (from == Lane::mask)
      return text("PICK(", mask_for(node.a, node.lane), ", ", all(node.lane, "1"), ", ", all(node.lane, "0"), ")");
    if (node.lane == Lane::mask) {
      const std::string compared = text("(", a, " != ", all(from, "0"), ")");
      return is_wide(from) ? text(convert(Lane::i32), compared) : compared;
    }
    if (expr::is_float_lane(from) && is_integer_lane(node.lane)) return cut(node, from);
    return text("convert_", to, "(", a, ")");
  }

  /// Towards zero; what does not fit, NaN included, gives the smallest integer, as x86 does.
  std::string cut(const Node& node, Lane from) const {
    const bool wide = node.lane == Lane::i64;
    const std::string a = name(node.a),
                      bound = all(from, text(wide ? "0x1p63" : "0x1p31", from == Lane::f64 ? "" : "f"));
    std::string fits = text("((", a, " > -", bound, ") & (", a, " < ", bound, "))");
    if (is_wide(from) && !wide) fits = text(convert(Lane::i32), fits);
    if (!is_wide(from) && wide) fits = text(convert(Lane::i64), fits);
    return text("PICK(", fits, ", ", convert(node.lane), "(", fits_only(a, from, bound), "), ",
                all(node.lane, wide ? "LONG_MIN" : "INT_MIN"), ")");
  }

  /// Converting what does not fit is undefined: such lanes are 0 on the way.
  std::string fits_only(const std::string& a, Lane from, const std::string& bound) const {
    return text("PICK((", a, " > -", bound, ") & (", a, " < ", bound, "), ", a, ", ", all(from, "0"), ")");
  }

  const expr::Program& program_;
  const int width_;
  const std::string_view mask_;  // what holds a mask: as wide as the lanes beside it
};

/// No comparison of bytes: see sixteen_of in flat_loop.cc.
constexpr std::string_view kBools = R"(
// Bytes whose lowest bit is set where any of theirs was; their other bits mean nothing.
static ulong8 bools(ulong8 bytes) {
  bytes |= bytes >> 4;
  bytes |= bytes >> 2;
  return bytes | bytes >> 1;
}
)";

constexpr std::string_view kRound = R"(
// To the nearest integer, halves to the even one. What is at least `whole` has no fraction; to what is less, adding `whole` rounds as needed.
#if LOCAL == 1
// PoCL's rint takes twice as many steps.
#define ROUND_EVEN(F, I, x, whole) \
  PICK(fabs(x) < (F)(whole), as_##F(as_##I((fabs(x) + (F)(whole)) - (F)(whole)) | (as_##I(x) ^ as_##I(fabs(x)))), x)
#else
#define ROUND_EVEN(F, I, x, whole) rint(x)
#endif
)";

constexpr std::string_view kDivide = R"(
// Truncates; x / 0 is 0, and the smallest integer divided by -1 wraps.
static int8 divide_int(int8 a, int8 b) {
  const int8 plain = (b == 0) | (b == -1), by = PICK(plain, (int8)(1), b);
#if defined(cl_khr_fp64) && LOCAL == 1
  // CPUs have no division of vectors of integers. The quotient of two numbers of 32 bits, rounded to 53, is cut as the exact one.
  const int8 q = convert_int8(convert_double8(a) / convert_double8(by));
#else
  const int8 q = a / by;
#endif
  return PICK(b == 0, (int8)(0), PICK(b == -1, as_int8(0 - as_uint8(a)), q));
}
static long8 divide_long(long8 a, long8 b) {
  const long8 plain = (b == 0) | (b == -1);
  const long8 q = a / PICK(plain, (long8)(1), b);
  return PICK(b == 0, (long8)(0), PICK(b == -1, as_long8(0 - as_ulong8(a)), q));
}
)";

/// What CUDA C spells otherwise; tests/cuda/opencl_as_cuda.h defines them for it.
constexpr std::string_view kDialect = R"(
#ifndef KERNEL
#define KERNEL __kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void
// The number of the work-item: very many of them stand in several lines (Context::launch).
#define ITEM ((long)get_global_id(0) + (long)get_global_size(0) * (long)get_global_id(2))
// Lane by lane, by a mask as wide as the lanes.
#define PICK(mask, a, b) ((mask) ? (a) : (b))
#define EIGHT(type, a, b, c, d, e, f, g, h) ((type)(a, b, c, d, e, f, g, h))
#define JOIN(type, low, high) ((type)(low, high))
// Eight elements at once wherever they lie: PoCL's vload8 and vstore8 take them in smaller pieces.
#define ANYWHERE(type, bytes) typedef type##8 __attribute__((aligned(bytes))) type##8_anywhere;
ANYWHERE(char, 1) ANYWHERE(uchar, 1) ANYWHERE(short, 2) ANYWHERE(ushort, 2) ANYWHERE(int, 4) ANYWHERE(uint, 4)
ANYWHERE(float, 4) ANYWHERE(long, 8) ANYWHERE(ulong, 8)
#define ANYWHERE16(type, bytes) typedef type##16 __attribute__((aligned(bytes))) type##16_anywhere;
ANYWHERE16(char, 1) ANYWHERE16(uchar, 1) ANYWHERE16(short, 2) ANYWHERE16(ushort, 2) ANYWHERE16(int, 4) ANYWHERE16(uint, 4) ANYWHERE16(float, 4)
#define GET8(type, p) (*(__global const type##_anywhere*)(p))
#define PUT8(type, p, v) (*(__global type##_anywhere*)(p) = (v))
#define GET16(type, p) GET8(type, p)
#define PUT16(type, p, v) PUT8(type, p, v)
// As many bytes as eight longs have.
typedef ulong8 __attribute__((aligned(1))) bytes_anywhere;
#define GET_BYTES(p) (*(__global const bytes_anywhere*)(p))
#define PUT_BYTES(p, v) (*(__global bytes_anywhere*)(p) = (v))
// Whether a lane of a mask is set. The driver's any() asks lane by lane.
static int __attribute__((overloadable)) any_of(int8 mask) {
  const int4 four = mask.lo | mask.hi;
  const int2 two = four.lo | four.hi;
  return (two.x | two.y) != 0;
}
static int __attribute__((overloadable)) any_of(int16 mask) { return any_of(mask.lo | mask.hi); }
static int __attribute__((overloadable)) any_of(long8 mask) {
  const long4 four = mask.lo | mask.hi;
  const long2 two = four.lo | four.hi;
  return (two.x | two.y) != 0;
}
#endif
)";

/// How one dtype is kept in memory; in the texts p is a pointer, i an index, v a lane value or a vector of eight.
struct MemoryText {
  std::string_view memory, load, load8, store, store8;
};

MemoryText memory_text(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {"ushort", "vload_half(i, (__global const half*)p)", "from_f16_8(GET8(ushort8, p + i))",
              "vstore_half_rte(v, i, (__global half*)p)", "PUT8(ushort8, p + i, to_f16_8(v))"};
    case DType::bf16:
      return {"ushort", "as_float((uint)p[i] << 16)", "as_float8(convert_uint8(GET8(ushort8, p + i)) << 16)",
              "p[i] = to_bf16(v)", "PUT8(ushort8, p + i, to_bf16_8(v))"};
    case DType::f32: return {"float", "p[i]", "GET8(float8, p + i)", "p[i] = v", "PUT8(float8, p + i, v)"};
    case DType::f64: return {"double", "p[i]", "GET8(double8, p + i)", "p[i] = v", "PUT8(double8, p + i, v)"};
    case DType::i8:
      return {"char", "p[i]", "convert_int8(GET8(char8, p + i))", "p[i] = (char)v",
              "PUT8(char8, p + i, convert_char8(v))"};
    case DType::u8:
      return {"uchar", "p[i]", "convert_int8(GET8(uchar8, p + i))", "p[i] = (uchar)v",
              "PUT8(uchar8, p + i, convert_uchar8(v))"};
    case DType::i32: return {"int", "p[i]", "GET8(int8, p + i)", "p[i] = v", "PUT8(int8, p + i, v)"};
    case DType::i16:
      return {"short", "p[i]", "convert_int8(GET8(short8, p + i))", "p[i] = (short)v",
              "PUT8(short8, p + i, convert_short8(v))"};
    case DType::u16:
      return {"ushort", "p[i]", "convert_int8(GET8(ushort8, p + i))", "p[i] = (ushort)v",
              "PUT8(ushort8, p + i, convert_ushort8(v))"};
    case DType::u32:
      return {"uint", "p[i]", "convert_long8(GET8(uint8, p + i))", "p[i] = (uint)v",
              "PUT8(uint8, p + i, convert_uint8(v))"};
    case DType::u64:
      return {"ulong", "(long)p[i]", "as_long8(GET8(ulong8, p + i))", "p[i] = (ulong)v",
              "PUT8(ulong8, p + i, as_ulong8(v))"};
    case DType::i64: return {"long", "p[i]", "GET8(long8, p + i)", "p[i] = v", "PUT8(long8, p + i, v)"};
    default:
      return {"uchar", "p[i] ? -1 : 0", "convert_int8(GET8(uchar8, p + i)) != (int8)(0)", "p[i] = (uchar)(v & 1)",
              "PUT8(uchar8, p + i, convert_uchar8(v & (int8)(1)))"};
  }
}

// As tandem/core/half.h does it. Not by vload_half8: PoCL's faults where eight elements do not lie aligned as a whole.
constexpr std::string_view kSmallFloats = R"(
static float8 from_f16_8(ushort8 stored) {
  const uint8 h = convert_uint8(stored), sign = (h & 0x8000u) << 16, magnitude = h & 0x7FFFu;
  const uint8 small = as_uint8(convert_float8(magnitude) * 0x1p-24f);
  const uint8 special = 0x7F800000u | ((magnitude & 0x3FFu) << 13);
  const uint8 normal = (magnitude << 13) + 0x38000000u;
  return as_float8(sign | PICK(magnitude >= 0x7C00u, special, PICK(magnitude < 0x400u, small, normal)));
}
static ushort8 to_f16_8(float8 v) {
  const uint8 u = as_uint8(v), sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
  const uint8 nan_bits = 0x7E00u | ((magnitude >> 13) & 0x1FFu);
  // Adding 0.5 places a denormal's bits in the low mantissa, rounded by the hardware.
  const uint8 small = as_uint8(as_float8(magnitude) + 0.5f) - 0x3F000000u;
  const uint8 normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const uint8 finite = PICK(magnitude < 0x38800000u, small, normal);
  return convert_ushort8(sign | PICK(magnitude > 0x7F800000u, nan_bits, PICK(magnitude >= 0x477FF000u, (uint8)(0x7C00u), finite)));
}
static ushort8 to_bf16_8(float8 v) {
  const uint8 u = as_uint8(v);
  const uint8 rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;  // to nearest, ties to even
  return convert_ushort8(PICK(isnan(v), (u >> 16) | 0x40u, rounded));
}
static ushort to_bf16(float v) {
  const uint u = as_uint(v);
  return (ushort)(isnan(v) ? ((u >> 16) | 0x40u) : (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
}
)";

}  // namespace

DType lane_dtype(DType dtype) {
  switch (expr::lane_of(dtype)) {
    case Lane::f32: return DType::f32;
    case Lane::f64: return DType::f64;
    case Lane::i64: return DType::i64;
    default: return DType::i32;
  }
}

std::string_view lane_type(Lane lane) {
  constexpr std::string_view kTypes[] = {"float", "double", "int", "long", "int"};
  return kTypes[static_cast<int>(lane)];
}

std::string prelude(bool fp64) {
  return text("#pragma OPENCL FP_CONTRACT OFF\n", fp64 ? "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" : "",
              kDialect, fp64 ? "#ifdef ANYWHERE\nANYWHERE(double, 8)\n#endif\n" : "", kBools, kRound, kDivide,
              kSmallFloats);
}

std::string define_dtype(std::string_view slot, DType dtype) {
  const MemoryText m = memory_text(dtype);
  const std::string lane(lane_type(expr::lane_of(dtype)));
  const std::string in = text("(__global const ", slot, "_mem* p, long i"),
                    out = text("(__global ", slot, "_mem* p, long i, ");
  return text(
      "typedef ", m.memory, " ", slot, "_mem;\ntypedef ", lane, " ", slot, "_lane;\ntypedef ", lane, "8 ", slot,
      "_lane8;\n", "static ", lane, " ", slot, "_load", in, ") { return ", m.load, "; }\n", "static ", lane, "8 ", slot,
      "_load8", in, ") { return ", m.load8, "; }\n",
      // The first m of eight, `stride` apart; the others are `rest`. Not unrolled: seldom run, and always compiled.
      "static ", lane, "8 ", slot, "_part", in, ", long stride, int m, ", lane, " rest) {\n  ", lane,
      " v[8];\n#pragma unroll 1\n  for (int k = 0; k < 8; ++k) v[k] = k < m ? ", slot,
      "_load(p, i + k * stride) : rest;\n  return vload8(0, v);\n}\n", "static void ", slot, "_store", out, lane,
      " v) { ", m.store, "; }\n", "static void ", slot, "_store8", out, lane, "8 v) { ", m.store8, "; }\n",
      "static void ", slot, "_store_part", out, lane, "8 v, long stride, int m) {\n  ", lane,
      " all[8];\n  vstore8(v, 0, all);\n#pragma unroll 1\n  for (int k = 0; k < m; ++k) ", slot,
      "_store(p, i + k * stride, all[k]);\n}\n");
}

std::string slot_of(DType dtype) { return text("D", static_cast<int>(dtype)); }

std::string define_dtypes(const expr::Program& program) {
  std::vector<DType> used = program.inputs;
  for (const auto& output : program.outputs) used.push_back(output.dtype);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::string out;
  for (DType dtype : used) out += define_dtype(slot_of(dtype), dtype);
  return out + define_angle_rest(program);
}

std::string with_slot(std::string_view source, std::string_view slot) {
  std::string out;
  for (std::size_t at = 0; at < source.size(); ++at) {
    const bool starts =
        source.substr(at, 2) == "D_" &&
        (at == 0 || !(std::isalnum(static_cast<unsigned char>(source[at - 1])) || source[at - 1] == '_'));
    if (starts) out += slot;
    else out += source[at];
  }
  return out;
}

std::string statements(const expr::Program& program, int width) { return Writer(program, width).run(); }

bool is_of_bytes(const expr::Program& program) {
  constexpr Prim kOfBits[] = {Prim::input, Prim::constant, Prim::bit_and, Prim::bit_or, Prim::bit_xor, Prim::bit_not};
  return std::ranges::all_of(
             program.nodes,
             [&](const Node& node) { return node.lane == Lane::mask && std::ranges::count(kOfBits, node.prim); }) &&
         std::ranges::all_of(program.inputs, [](DType dtype) { return dtype == DType::boolean; }) &&
         std::ranges::all_of(program.outputs, [](const auto& output) { return output.dtype == DType::boolean; });
}
std::string byte_statements(const expr::Program& program) { return Writer(program, kWidth, "ulong").run(); }

std::string define_function_from(std::string_view name, DType lane, const expr::Program& program, int width) {
  const std::string type = text(lane_type(expr::lane_of(lane)), width);
  std::string parameters;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) parameters += text(i ? ", " : "", type, " in", i);
  return text("static ", type, " ", name, "(", parameters, ") {\n", statements(program, width), "      return v",
              program.outputs[0].node, ";\n}\n");
}

bool uses_fp64(const expr::Program& program) {
  for (const Node& node : program.nodes)
    if (node.lane == Lane::f64) return true;
  for (DType dtype : program.inputs)
    if (dtype == DType::f64) return true;
  return false;
}

}  // namespace tandem::opencl
