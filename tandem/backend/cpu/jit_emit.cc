#include "tandem/backend/cpu/jit_emit.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tandem/base/text.h"

namespace tandem::cpu {

using expr::Lane;
using expr::Node;
using expr::Prim;
namespace Inst = x86::Inst;

namespace {

// Predicates of VCMPPS that are false for NaN and signal nothing for quiet ones.
constexpr int kEqual = 0x00, kLess = 0x11, kLessEqual = 0x12, kGreaterEqual = 0x1D, kGreater = 0x1E;
// Rounding of VROUNDPS and VRNDSCALEPS, without the inexact flag.
constexpr int kRoundEven = 8, kRoundDown = 9, kRoundToZero = 11;

int width_of(Lane lane) {
  switch (lane) {
    case Lane::f32:
    case Lane::i32: return 4;
    case Lane::f64:
    case Lane::i64: return 8;
    default: return 0;  // a mask is as wide as its neighbours
  }
}

const char* lane_name(Lane lane) {
  constexpr const char* names[] = {"f32", "f64", "i32", "i64", "mask"};
  return names[static_cast<int>(lane)];
}

/// What the lanes of one instruction cannot do. Trees of the library pass; those built by hand may not.
std::string unsupported(const Node& node, Lane operand, JitTarget target) {
  const bool wide = target == JitTarget::avx512;
  const bool is_float = is_float_lane(operand), is_mask = operand == Lane::mask;
  const std::string none = text("no instruction for ", expr::prim_name(node.prim), " of ", lane_name(operand));
  switch (node.prim) {
    case Prim::div:
      return is_float || operand == Lane::i32 ? "" : is_mask ? none : "no vector division of 64-bit integers";
    case Prim::mul:
      if (operand == Lane::i64 && !wide) return "AVX2 has no 64-bit integer multiply";
      return is_mask ? none : "";
    case Prim::add:
    case Prim::sub:
    case Prim::neg:
    case Prim::abs:
    case Prim::min:
    case Prim::max:
    case Prim::eq:
    case Prim::lt:
    case Prim::le: return is_mask ? none : "";
    case Prim::fma:
    case Prim::sqrt:
    case Prim::round_even:
    case Prim::floor:
    case Prim::trunc:
    case Prim::angle_rest: return is_float ? "" : none;
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor:
    case Prim::bit_not: return is_float ? none : "";
    case Prim::shift_left:
    case Prim::shift_right:
    case Prim::shift_left_by:
    case Prim::shift_right_by: return is_float || is_mask ? none : "";
    case Prim::mul_hi_u32: return operand == Lane::i32 ? "" : none;
    case Prim::select: return node.lane == Lane::mask ? "no instruction for select among masks" : "";
    case Prim::bitcast: return is_mask || node.lane == Lane::mask ? none : "";
    case Prim::convert:
      if (is_mask || node.lane == Lane::mask) return none;
      if (width_of(operand) == 8 && !wide) return "AVX2 does not convert between 64-bit integers and doubles";
      return "";
    default: return "";
  }
}

std::string unsupported(DType dtype) {
  if (dtype == DType::string) return "strings have no lanes";
  if (dtype == DType::u32) return "generated code has no lanes of 4 bytes for uint32, which is computed in 8";
  return {};
}

asmjit::InstId pick(Lane lane, asmjit::InstId f32, asmjit::InstId f64, asmjit::InstId i32, asmjit::InstId i64) {
  switch (lane) {
    case Lane::f32: return f32;
    case Lane::f64: return f64;
    case Lane::i64: return i64;
    default: return i32;
  }
}

asmjit::InstId bit_instruction(Prim prim, bool wide) {
  switch (prim) {
    case Prim::bit_and: return wide ? Inst::kIdVpandd : Inst::kIdVpand;
    case Prim::bit_or: return wide ? Inst::kIdVpord : Inst::kIdVpor;
    default: return wide ? Inst::kIdVpxord : Inst::kIdVpxor;
  }
}

}  // namespace

std::string unsupported(const expr::Program& program, JitTarget target, int& lane_bytes) {
  lane_bytes = 0;
  for (const Node& node : program.nodes) {
    const int width = width_of(node.lane);
    if (width == 0) continue;
    if (lane_bytes != 0 && width != lane_bytes) return "lanes of 4 and 8 bytes in one program";
    lane_bytes = width;
  }
  if (lane_bytes == 0) lane_bytes = 4;
  for (const DType dtype : program.inputs)
    if (std::string why = unsupported(dtype); !why.empty()) return why;
  for (const auto& output : program.outputs)
    if (std::string why = unsupported(output.dtype); !why.empty()) return why;
  for (const Node& node : program.nodes) {
    const Lane operand = node.a >= 0 ? program.nodes[node.a].lane : node.lane;
    if (std::string why = unsupported(node, operand, target); !why.empty()) return why;
  }
  return {};
}

x86::Gp VectorEmitter::begin_function() {
  asmjit::FuncNode* function = cc.addFunc(asmjit::FuncSignatureT<void, const void*>(asmjit::CallConvId::kHost));
  function->frame().setAvxEnabled();
  function->frame().setAvxCleanup();
  if (wide_) function->frame().setAvx512Enabled();
  const x86::Gp args = cc.newUIntPtr("args");
  function->setArg(0, args);
  return args;
}

x86::Reg VectorEmitter::take(std::vector<x86::Reg>& free, bool mask) {
  x86::Reg reg;
  if (!free.empty()) reg = free.back(), free.pop_back();
  else if (mask) reg = cc.newKq();
  else if (wide_) reg = cc.newZmm();
  else reg = cc.newYmm();
  taken_.push_back(reg);
  return reg;
}

x86::Vec VectorEmitter::new_vector() { return take(free_vectors_, false).as<x86::Vec>(); }

x86::Reg VectorEmitter::new_register(Lane lane) {
  return wide_ && lane == Lane::mask ? take(free_masks_, true) : take(free_vectors_, false);
}

void VectorEmitter::release(const x86::Reg& reg) {
  auto is_reg = [&](const x86::Reg& other) { return other.id() == reg.id(); };
  const auto it = std::find_if(taken_.rbegin(), taken_.rend(), is_reg);
  if (it == taken_.rend()) return;  // an operand read twice is released once
  taken_.erase(std::next(it).base());
  (reg.isKReg() ? free_masks_ : free_vectors_).push_back(reg);
}

void VectorEmitter::release_since(std::size_t mark, const x86::Reg& keep) {
  bool kept = false;
  for (std::size_t i = taken_.size(); i-- > mark;) {
    if (taken_[i].id() == keep.id()) kept = true;
    else (taken_[i].isKReg() ? free_masks_ : free_vectors_).push_back(taken_[i]);
  }
  taken_.resize(mark);
  if (kept) taken_.push_back(keep);
}

x86::Mem VectorEmitter::constant(std::uint64_t bits) {
  std::uint8_t data[64];
  for (int i = 0; i < vector_bytes(); i += lane_bytes_) std::memcpy(data + i, &bits, lane_bytes_);
  return cc.newConst(asmjit::ConstPoolScope::kLocal, data, vector_bytes());
}

x86::Mem VectorEmitter::repeat16(const std::uint8_t (&bytes)[16]) {
  std::uint8_t data[64];
  for (int i = 0; i < vector_bytes(); i += 16) std::memcpy(data + i, bytes, 16);
  return cc.newConst(asmjit::ConstPoolScope::kLocal, data, vector_bytes());
}

x86::Reg VectorEmitter::constant_register(const Node& node) {
  const x86::Reg to = new_register(node.lane);
  if (wide_ && node.lane == Lane::mask) {
    cc.emit(node.bits ? Inst::kIdKxnorw : Inst::kIdKxorw, to, to, to);
    return to;
  }
  const x86::Vec v = to.as<x86::Vec>();
  if (node.bits == 0) {
    cc.emit(wide_ ? Inst::kIdVpxord : Inst::kIdVpxor, v.xmm(), v.xmm(), v.xmm());
  } else if (node.lane == Lane::mask) {
    cc.emit(Inst::kIdVpcmpeqd, v, v, v);
  } else {
    const x86::Mem one = cc.newConst(asmjit::ConstPoolScope::kLocal, &node.bits, lane_bytes_);
    cc.emit(lane_bytes_ == 4 ? Inst::kIdVbroadcastss : Inst::kIdVbroadcastsd, v, one);
  }
  return to;
}

void VectorEmitter::move(const x86::Reg& to, const asmjit::Operand& from) {
  if (to == from) return;
  cc.emit(to.isKReg() ? Inst::kIdKmovq : Inst::kIdVmovaps, to, from);
}

x86::Reg VectorEmitter::in_register(const Arg& arg) {
  if (arg.operand.isReg()) return arg.operand.as<x86::Reg>();
  const x86::Vec to = new_vector();
  cc.emit(Inst::kIdVmovaps, to, arg.operand);
  return to;
}

/// FMA overwrites one of its operands: one that dies, if there is any.
x86::Reg VectorEmitter::apply_fma(Lane lane, const Arg (&args)[3], const x86::Reg& into) {
  const auto& [a, b, c] = args;
  const Arg* over = c.dies ? &c : a.dies ? &a : b.dies ? &b : nullptr;
  const x86::Reg to = over ? over->operand.as<x86::Reg>() : new_vector();
  if (!over) move(to, c.operand);
  fma(to, lane, a, b, over ? c : Arg{to});
  if (!into.isValid()) return to;
  move(into, to);
  return into;
}

x86::Reg VectorEmitter::apply(const Node& node, Lane operand, const Arg (&args)[3], const x86::Reg& into) {
  const auto& [a, b, c] = args;
  if (node.prim == Prim::fma) return apply_fma(node.lane, args, into);
  const x86::Reg to = into.isValid() ? into : new_register(node.lane);
  switch (node.prim) {
    case Prim::eq:
    case Prim::lt:
    case Prim::le: compare(node.prim, operand, to, a, b); break;
    case Prim::select: select(node.lane, to, in_register(a), b, c); break;
    case Prim::mul_hi_u32: mul_hi(to, a, b); break;
    case Prim::angle_rest: angle_rest(node, to, in_register(a)); break;
    case Prim::shift_left:
      cc.emit(lane_bytes_ == 4 ? Inst::kIdVpslld : Inst::kIdVpsllq, to, in_register(a), asmjit::imm(node.bits));
      break;
    case Prim::shift_right:
      cc.emit(lane_bytes_ == 4 ? Inst::kIdVpsrld : Inst::kIdVpsrlq, to, in_register(a), asmjit::imm(node.bits));
      break;
    case Prim::shift_left_by:
      cc.emit(lane_bytes_ == 4 ? Inst::kIdVpsllvd : Inst::kIdVpsllvq, to, in_register(a), b.operand);
      break;
    case Prim::shift_right_by:
      cc.emit(lane_bytes_ == 4 ? Inst::kIdVpsrlvd : Inst::kIdVpsrlvq, to, in_register(a), b.operand);
      break;
    case Prim::convert:
      cc.emit(pick(operand, Inst::kIdVcvttps2dq, Inst::kIdVcvttpd2qq, Inst::kIdVcvtdq2ps, Inst::kIdVcvtqq2pd), to,
              a.operand);
      break;
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor:
      if (to.isKReg()) mask_logic(node.prim, to, a, b);
      else cc.emit(bit_instruction(node.prim, wide_), to, in_register(a), b.operand);
      break;
    case Prim::bit_not:
      if (to.isKReg()) mask_logic(node.prim, to, a, a);
      else cc.emit(bit_instruction(Prim::bit_xor, wide_), to, in_register(a), constant(~std::uint64_t{0}));
      break;
    case Prim::neg:
    case Prim::abs:
    case Prim::sqrt:
    case Prim::round_even:
    case Prim::floor:
    case Prim::trunc: unary(node.prim, node.lane, to, a); break;
    default: binary(node.prim, node.lane, to, a, b); break;
  }
  return to;
}

/// to = a * b + c, where `to` is the register of a, b or c.
void VectorEmitter::fma(const x86::Reg& to, Lane lane, const Arg& a, const Arg& b, const Arg& c) {
  const bool f32 = lane == Lane::f32;
  if (to == c.operand) {
    const bool swap = !a.operand.isReg();
    const x86::Reg factor = in_register(swap ? b : a);
    cc.emit(f32 ? Inst::kIdVfmadd231ps : Inst::kIdVfmadd231pd, to, factor, swap ? a.operand : b.operand);
    return;
  }
  const Arg& other = to == a.operand ? b : a;
  if (other.operand.isReg()) cc.emit(f32 ? Inst::kIdVfmadd213ps : Inst::kIdVfmadd213pd, to, other.operand, c.operand);
  else cc.emit(f32 ? Inst::kIdVfmadd132ps : Inst::kIdVfmadd132pd, to, in_register(c), other.operand);
}

void VectorEmitter::compare(Prim prim, Lane lane, const x86::Reg& to, const Arg& a, const Arg& b) {
  if (is_float_lane(lane)) {
    const bool swap = !a.operand.isReg() && b.operand.isReg();  // the constant goes second
    const int predicate = prim == Prim::eq   ? kEqual
                          : prim == Prim::lt ? (swap ? kGreater : kLess)
                                             : (swap ? kGreaterEqual : kLessEqual);
    const x86::Reg first = in_register(swap ? b : a);
    cc.emit(lane == Lane::f32 ? Inst::kIdVcmpps : Inst::kIdVcmppd, to, first, swap ? a.operand : b.operand,
            asmjit::imm(predicate));
  } else if (wide_) {
    const int predicate = prim == Prim::eq ? 0 : prim == Prim::lt ? 1 : 2;
    const InstId id = lane == Lane::i32 ? Inst::kIdVpcmpd : Inst::kIdVpcmpq;
    cc.emit(id, to, in_register(a), b.operand, asmjit::imm(predicate));
  } else {
    compare_avx2(prim, lane, to, a, b);
  }
}

void VectorEmitter::compare_avx2(Prim prim, Lane lane, const x86::Reg& to, const Arg& a, const Arg& b) {
  const InstId greater = lane == Lane::i32 ? Inst::kIdVpcmpgtd : Inst::kIdVpcmpgtq;
  if (prim == Prim::eq) {
    cc.emit(lane == Lane::i32 ? Inst::kIdVpcmpeqd : Inst::kIdVpcmpeqq, to, in_register(a), b.operand);
  } else if (prim == Prim::lt) {
    cc.emit(greater, to, in_register(b), a.operand);
  } else {
    cc.emit(greater, to, in_register(a), b.operand);
    cc.emit(Inst::kIdVpxor, to, to, constant(~std::uint64_t{0}));
  }
}

void VectorEmitter::select(Lane lane, const x86::Reg& to, const x86::Reg& mask, const Arg& b, const Arg& c) {
  const bool narrow = lane_bytes_ == 4;
  if (wide_) {
    const x86::KReg k = mask.as<x86::KReg>();
    if (c.zero) {
      cc.k(k).z().emit(narrow ? Inst::kIdVmovaps : Inst::kIdVmovapd, to, b.operand);
    } else {
      const x86::Reg other = in_register(c);  // may write an instruction of its own, which must not get the mask
      cc.k(k).emit(narrow ? Inst::kIdVblendmps : Inst::kIdVblendmpd, to, other, b.operand);
    }
  } else if (c.zero) {
    cc.emit(is_float_lane(lane) ? Inst::kIdVandps : Inst::kIdVpand, to, mask, b.operand);
  } else if (b.zero) {
    cc.emit(is_float_lane(lane) ? Inst::kIdVandnps : Inst::kIdVpandn, to, mask, c.operand);
  } else {
    cc.emit(narrow ? Inst::kIdVblendvps : Inst::kIdVblendvpd, to, in_register(c), b.operand, mask);
  }
}

void VectorEmitter::mask_logic(Prim prim, const x86::Reg& to, const Arg& a, const Arg& b) {
  switch (prim) {
    case Prim::bit_and: cc.emit(Inst::kIdKandw, to, a.operand, b.operand); break;
    case Prim::bit_or: cc.emit(Inst::kIdKorw, to, a.operand, b.operand); break;
    case Prim::bit_xor: cc.emit(Inst::kIdKxorw, to, a.operand, b.operand); break;
    default: cc.emit(Inst::kIdKnotw, to, a.operand); break;
  }
}

/// VPMULUDQ multiplies the even words; the odd ones are shifted down for a second one.
void VectorEmitter::mul_hi(const x86::Reg& to, const Arg& a, const Arg& b) {
  const x86::Reg x = in_register(a);
  const x86::Vec even = new_vector(), odd = new_vector();
  cc.emit(Inst::kIdVpmuludq, even, x, b.operand);
  cc.emit(Inst::kIdVpsrlq, odd, x, asmjit::imm(32));
  if (b.uniform) {
    cc.emit(Inst::kIdVpmuludq, odd, odd, b.operand);
  } else {
    const x86::Vec odd_b = new_vector();
    cc.emit(Inst::kIdVpsrlq, odd_b, in_register(b), asmjit::imm(32));
    cc.emit(Inst::kIdVpmuludq, odd, odd, odd_b);
  }
  cc.emit(Inst::kIdVpsrlq, even, even, asmjit::imm(32));
  if (wide_) {
    static constexpr std::uint8_t kOddWords[16] = {0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255};
    cc.emit(Inst::kIdVpandq, odd, odd, repeat16(kOddWords));
    cc.emit(Inst::kIdVporq, to, even, odd);
  } else {
    cc.emit(Inst::kIdVpblendd, to, even, odd, asmjit::imm(0xAA));
  }
}

namespace {

template <class T, expr::AngleGrid kGrid, int kLanes>
void rest_of_angles(T* angles) {
  for (int i = 0; i < kLanes; ++i) angles[i] = expr::angle_rest(angles[i], kGrid);
}

template <class T, int kLanes>
std::uint64_t rest_function(expr::AngleGrid grid) {
  void (*function)(T*) = rest_of_angles<T, expr::AngleGrid::sine, kLanes>;
  if (grid == expr::AngleGrid::cosine) function = rest_of_angles<T, expr::AngleGrid::cosine, kLanes>;
  if (grid == expr::AngleGrid::tangent) function = rest_of_angles<T, expr::AngleGrid::tangent, kLanes>;
  return reinterpret_cast<std::uint64_t>(function);
}

}  // namespace

/// Only where some lane holds a large angle is a function called, on the lanes in memory.
void VectorEmitter::angle_rest(const Node& node, const x86::Reg& to, const x86::Reg& angle) {
  const bool f32 = node.lane == Lane::f32;
  const auto grid = static_cast<expr::AngleGrid>(node.bits);
  const std::uint64_t limit = f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(expr::kLargeAngle32))
                                  : std::bit_cast<std::uint64_t>(expr::kLargeAngle64);
  const x86::Vec size = new_vector();
  const x86::Gp lanes = cc.newUInt32();
  const asmjit::Label small = cc.newLabel();
  cc.emit(Inst::kIdVandps, size, angle, constant((std::uint64_t{1} << (8 * lane_bytes_ - 1)) - 1));
  const x86::Reg large = new_register(Lane::mask);
  cc.emit(f32 ? Inst::kIdVcmpps : Inst::kIdVcmppd, large, size, constant(limit), asmjit::imm(kGreater));
  if (wide_) cc.emit(Inst::kIdKmovw, lanes, large);
  else cc.emit(f32 ? Inst::kIdVmovmskps : Inst::kIdVmovmskpd, lanes, large);
  move(to, angle);
  cc.test(lanes, lanes);
  cc.jz(small);
  if (!angles_.hasBase()) angles_ = cc.newStack(static_cast<std::uint32_t>(vector_bytes()), 64);
  const x86::Gp address = cc.newUIntPtr();
  cc.emit(Inst::kIdVmovups, angles_, to);
  cc.lea(address, angles_);
  const std::uint64_t function = wide_ ? (f32 ? rest_function<float, 16>(grid) : rest_function<double, 8>(grid))
                                       : (f32 ? rest_function<float, 8>(grid) : rest_function<double, 4>(grid));
  asmjit::InvokeNode* call = nullptr;
  cc.invoke(&call, asmjit::imm(function), asmjit::FuncSignatureT<void, void*>(asmjit::CallConvId::kHost));
  call->setArg(0, address);
  cc.emit(Inst::kIdVmovups, to, angles_);
  cc.bind(small);
}

void VectorEmitter::unary(Prim prim, Lane lane, const x86::Reg& to, const Arg& a) {
  const bool f32 = lane == Lane::f32;
  const std::uint64_t sign = std::uint64_t{1} << (8 * lane_bytes_ - 1);
  auto round = [&](int how) {
    const InstId id =
        wide_ ? (f32 ? Inst::kIdVrndscaleps : Inst::kIdVrndscalepd) : (f32 ? Inst::kIdVroundps : Inst::kIdVroundpd);
    cc.emit(id, to, a.operand, asmjit::imm(how));
  };
  switch (prim) {
    case Prim::sqrt: cc.emit(f32 ? Inst::kIdVsqrtps : Inst::kIdVsqrtpd, to, a.operand); break;
    case Prim::round_even: round(kRoundEven); break;
    case Prim::floor: round(kRoundDown); break;
    case Prim::trunc: round(kRoundToZero); break;
    case Prim::neg:
      if (is_float_lane(lane)) {
        cc.emit(Inst::kIdVxorps, to, in_register(a), constant(sign));
      } else {
        const x86::Reg zero = constant_register({.prim = Prim::constant, .lane = lane});
        cc.emit(lane == Lane::i32 ? Inst::kIdVpsubd : Inst::kIdVpsubq, to, zero, a.operand);
      }
      break;
    default:  // abs
      if (is_float_lane(lane)) {
        cc.emit(Inst::kIdVandps, to, in_register(a), constant(sign - 1));
      } else if (lane == Lane::i32 || wide_) {
        cc.emit(lane == Lane::i32 ? Inst::kIdVpabsd : Inst::kIdVpabsq, to, a.operand);
      } else {  // (x ^ s) - s with s = x < 0 ? -1 : 0
        const x86::Reg x = in_register(a);
        const x86::Reg zero = constant_register({.prim = Prim::constant, .lane = lane});
        const x86::Vec negative = new_vector(), flipped = new_vector();
        cc.emit(Inst::kIdVpcmpgtq, negative, zero, x);
        cc.emit(Inst::kIdVpxor, flipped, x, negative);
        cc.emit(Inst::kIdVpsubq, to, flipped, negative);
      }
  }
}

void VectorEmitter::binary(Prim prim, Lane lane, const x86::Reg& to, const Arg& a, const Arg& b) {
  InstId id = 0;
  switch (prim) {
    case Prim::add: id = pick(lane, Inst::kIdVaddps, Inst::kIdVaddpd, Inst::kIdVpaddd, Inst::kIdVpaddq); break;
    case Prim::sub: id = pick(lane, Inst::kIdVsubps, Inst::kIdVsubpd, Inst::kIdVpsubd, Inst::kIdVpsubq); break;
    case Prim::mul: id = pick(lane, Inst::kIdVmulps, Inst::kIdVmulpd, Inst::kIdVpmulld, Inst::kIdVpmullq); break;
    case Prim::div: id = lane == Lane::f32 ? Inst::kIdVdivps : Inst::kIdVdivpd; break;
    case Prim::min: id = pick(lane, Inst::kIdVminps, Inst::kIdVminpd, Inst::kIdVpminsd, Inst::kIdVpminsq); break;
    default: id = pick(lane, Inst::kIdVmaxps, Inst::kIdVmaxpd, Inst::kIdVpmaxsd, Inst::kIdVpmaxsq); break;
  }
  if (lane == Lane::i32 && prim == Prim::div) divide_i32(to, a, b);
  else if (lane == Lane::f32 && prim == Prim::div && by_products_)
    move(to, divide_by_products(in_register(a).as<x86::Vec>(), in_register(b).as<x86::Vec>()));
  else if (lane == Lane::i64 && !wide_ && (prim == Prim::min || prim == Prim::max)) min_max_i64_avx2(prim, to, a, b);
  else cc.emit(id, to, in_register(a), b.operand);
}

/// By way of doubles, half a vector at a time: they hold every quotient closely enough to be cut right. Of the smallest
/// number and -1 the conversion makes the smallest number again; what is divided by zero becomes zero.
void VectorEmitter::divide_i32(const x86::Reg& to, const Arg& a, const Arg& b) {
  const x86::Vec x = in_register(a).as<x86::Vec>(), y = in_register(b).as<x86::Vec>();
  const auto half = [&](const x86::Vec& v) -> x86::Vec { return wide_ ? x86::Vec(v.ymm()) : x86::Vec(v.xmm()); };
  const InstId extract = wide_ ? Inst::kIdVextracti64x4 : Inst::kIdVextracti128;
  x86::Vec quotients[2];
  for (int k = 0; k < 2; ++k) {
    const x86::Vec dividend = new_vector(), divisor = new_vector();
    if (k) {
      cc.emit(extract, half(dividend), x, asmjit::imm(1));
      cc.emit(extract, half(divisor), y, asmjit::imm(1));
    }
    cc.emit(Inst::kIdVcvtdq2pd, dividend, half(k ? dividend : x));
    cc.emit(Inst::kIdVcvtdq2pd, divisor, half(k ? divisor : y));
    cc.emit(Inst::kIdVdivpd, dividend, dividend, divisor);
    cc.emit(Inst::kIdVcvttpd2dq, half(dividend), dividend);
    quotients[k] = dividend;
  }
  const x86::Vec both = new_vector();
  cc.emit(wide_ ? Inst::kIdVinserti64x4 : Inst::kIdVinserti128, both, quotients[0], half(quotients[1]), asmjit::imm(1));
  if (wide_) {
    const x86::KReg some = new_register(Lane::mask).as<x86::KReg>();
    cc.emit(Inst::kIdVptestmd, some, y, y);
    cc.k(some).z().emit(Inst::kIdVmovdqa32, to, both);
  } else {
    const x86::Vec zero = new_vector();
    cc.emit(Inst::kIdVpxor, zero, zero, zero);
    cc.emit(Inst::kIdVpcmpeqd, zero, zero, y);
    cc.emit(Inst::kIdVpandn, to, zero, both);
  }
}

void VectorEmitter::min_max_i64_avx2(Prim prim, const x86::Reg& to, const Arg& a, const Arg& b) {
  const x86::Reg x = in_register(a), y = in_register(b);
  const x86::Vec take_y = new_vector();
  if (prim == Prim::min) cc.emit(Inst::kIdVpcmpgtq, take_y, x, y);
  else cc.emit(Inst::kIdVpcmpgtq, take_y, y, x);
  cc.emit(Inst::kIdVblendvpd, to, x, y, take_y);
}

x86::Reg VectorEmitter::index_lo(const x86::Gp& first) {
  std::uint32_t counting[16];
  for (std::uint32_t i = 0; i < 16; ++i) counting[i] = i;
  const x86::Vec v = new_vector();
  cc.emit(Inst::kIdVmovd, v.xmm(), first.r32());
  cc.emit(Inst::kIdVpbroadcastd, v, v.xmm());
  cc.emit(Inst::kIdVpaddd, v, v, cc.newConst(asmjit::ConstPoolScope::kLocal, counting, vector_bytes()));
  return v;
}

/// The high word of `first`, and one more where the low word has wrapped, that is, has become less than the first.
x86::Reg VectorEmitter::index_hi(const x86::Gp& first) {
  const x86::Vec low = index_lo(first).as<x86::Vec>();
  const x86::Vec start = new_vector(), high = new_vector();
  const x86::Gp word = cc.newUInt64();
  cc.emit(Inst::kIdVmovd, start.xmm(), first.r32());
  cc.emit(Inst::kIdVpbroadcastd, start, start.xmm());
  cc.emit(Inst::kIdMov, word, first);
  cc.emit(Inst::kIdShr, word, asmjit::imm(32));
  cc.emit(Inst::kIdInc, word.r32());
  cc.emit(Inst::kIdVmovd, high.xmm(), word.r32());
  cc.emit(Inst::kIdVpbroadcastd, high, high.xmm());
  // high holds the word after a wrap: lanes that did not wrap take one off.
  if (wide_) {
    const x86::KReg same = new_register(Lane::mask).as<x86::KReg>();
    cc.emit(Inst::kIdVpcmpud, same, low, start, asmjit::imm(5));  // not less
    cc.k(same).emit(Inst::kIdVpsubd, high, high, constant(1));
  } else {
    cc.emit(Inst::kIdVpmaxud, start, start, low);
    cc.emit(Inst::kIdVpcmpeqd, start, start, low);
    cc.emit(Inst::kIdVpaddd, high, high, start);
  }
  return high;
}

}  // namespace tandem::cpu
