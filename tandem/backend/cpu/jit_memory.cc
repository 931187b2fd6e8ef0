#include "tandem/backend/cpu/jit_memory.h"

#include <array>

namespace tandem::cpu {

namespace Inst = x86::Inst;
using asmjit::imm;
using expr::Lane;

namespace {

/// Eight words of ones, then eight of zeros: a mask of n lanes begins n lanes before the middle.
alignas(64) constexpr std::array<std::uint32_t, 16> kMaskTable = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};

bool is_direct(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64 ||
         dtype == DType::u64;
}

x86::Gp address_of(VectorEmitter& e, const x86::Mem& mem) {
  const x86::Gp address = e.cc.newUIntPtr();
  e.cc.lea(address, mem);
  return address;
}

/// The bytes of `tail.count` small elements in the low part of an xmm register: pieces of 8, 4, 2 and 1 bytes are
/// gathered from the end, the count's bits saying which there are.
x86::Xmm gather_tail(VectorEmitter& e, const x86::Mem& from, int size, const Tail& tail) {
  x86::Compiler& cc = e.cc;
  const x86::Gp end = cc.newUIntPtr(), word = cc.newUInt64(), piece = cc.newUInt64();
  const x86::Xmm out = e.new_vector().xmm();
  cc.lea(end, from);
  if (size == 1) cc.add(end, tail.count);
  else cc.lea(end, x86::ptr(end, tail.count, 1));
  cc.xor_(word.r32(), word.r32());
  int bytes = size;
  for (int bit = 1; bit < e.lanes() && bytes < 8; bit *= 2, bytes *= 2) {
    const asmjit::Label skip = cc.newLabel();
    cc.test(tail.count.r32(), imm(bit));
    cc.jz(skip);
    cc.sub(end, imm(bytes));
    if (bit > 1) cc.shl(word, imm(8 * bytes));
    if (bytes == 4) cc.mov(piece.r32(), x86::dword_ptr(end));
    else cc.movzx(piece.r32(), bytes == 2 ? x86::word_ptr(end) : x86::byte_ptr(end));
    cc.or_(word, piece);
    cc.bind(skip);
  }
  cc.vmovq(out, word);
  if (bytes == 8 && size == 2 && e.lanes() == 8) {
    const asmjit::Label skip = cc.newLabel();
    const x86::Xmm low = e.new_vector().xmm();
    cc.test(tail.count.r32(), imm(4));
    cc.jz(skip);
    cc.vmovq(low, x86::qword_ptr(end, -8));
    cc.vpunpcklqdq(out, low, out);
    cc.bind(skip);
  }
  return out;
}

/// The low `tail.count` elements of `value` to memory, in pieces as the count's bits say, the largest first.
void scatter_tail(VectorEmitter& e, const x86::Mem& to, int size, const x86::Vec& value, const Tail& tail) {
  x86::Compiler& cc = e.cc;
  const x86::Gp at = address_of(e, to);
  const x86::Vec rest = e.new_vector();
  cc.vmovaps(rest, value);
  const x86::Xmm low = rest.xmm();
  for (int bit = e.lanes() / 2; bit >= 1; bit /= 2) {
    const int bytes = bit * size;
    const asmjit::Label skip = cc.newLabel();
    cc.test(tail.count.r32(), imm(bit));
    cc.jz(skip);
    switch (bytes) {
      case 16: cc.vmovups(x86::ptr(at), low); break;
      case 8: cc.vmovq(x86::qword_ptr(at), low); break;
      case 4: cc.vmovd(x86::dword_ptr(at), low); break;
      case 2: cc.vpextrw(x86::word_ptr(at), low, imm(0)); break;
      default: cc.vpextrb(x86::byte_ptr(at), low, imm(0)); break;
    }
    if (bit > 1) {
      cc.add(at, imm(bytes));
      if (bytes == 16) cc.vextracti128(low, rest.ymm(), imm(1));
      else cc.vpsrldq(low, low, imm(bytes));
    }
    cc.bind(skip);
  }
}

/// Bytes in a vector's low part to a mask: all ones where not zero.
x86::Reg mask_of_bytes(VectorEmitter& e, const x86::Vec& bytes) {
  const x86::Reg out = e.new_register(Lane::mask);
  if (e.wide()) {
    e.cc.emit(Inst::kIdVptestmb, out, bytes.xmm(), bytes.xmm());
    return out;
  }
  const bool narrow = e.lane_bytes() == 4;
  e.cc.emit(narrow ? Inst::kIdVpmovzxbd : Inst::kIdVpmovzxbq, out, bytes.xmm());
  e.cc.emit(narrow ? Inst::kIdVpcmpgtd : Inst::kIdVpcmpgtq, out, out, e.constant(0));
  return out;
}

/// Small elements, packed in `from` (a register or memory), to lanes.
x86::Reg widen(VectorEmitter& e, DType dtype, const asmjit::Operand& from) {
  x86::Compiler& cc = e.cc;
  const x86::Vec out = e.new_vector();
  switch (dtype) {
    case DType::f16: cc.emit(Inst::kIdVcvtph2ps, out, from); break;
    case DType::bf16:
      cc.emit(Inst::kIdVpmovzxwd, out, from);
      cc.emit(Inst::kIdVpslld, out, out, imm(16));
      break;
    case DType::i8: cc.emit(Inst::kIdVpmovsxbd, out, from); break;
    case DType::i16: cc.emit(Inst::kIdVpmovsxwd, out, from); break;
    case DType::u16: cc.emit(Inst::kIdVpmovzxwd, out, from); break;
    default: cc.emit(Inst::kIdVpmovzxbd, out, from); break;
  }
  return out;
}

/// The part of a vector register that holds `lanes()` packed elements of `size` bytes.
x86::Vec packed(const VectorEmitter& e, const x86::Vec& v, int size) {
  if (size * e.lanes() > 16) return v.ymm();
  return v.xmm();
}

x86::Reg load_wide(VectorEmitter& e, DType dtype, const x86::Mem& from, const Tail* tail) {
  x86::Compiler& cc = e.cc;
  const x86::Vec v = e.new_vector();
  if (is_direct(dtype)) {
    if (tail) cc.k(tail->mask.as<x86::KReg>()).z();
    cc.emit(e.lane_bytes() == 4 ? Inst::kIdVmovups : Inst::kIdVmovupd, v, from);
    return v;
  }
  const int size = static_cast<int>(dtype_size(dtype));
  if (!tail && dtype != DType::boolean) return widen(e, dtype, from);
  const x86::Vec part = packed(e, v, size);
  if (tail) cc.k(tail->mask.as<x86::KReg>()).z().emit(size == 1 ? Inst::kIdVmovdqu8 : Inst::kIdVmovdqu16, part, from);
  else if (e.lanes() == 8) cc.emit(Inst::kIdVmovq, part, from);
  else cc.emit(Inst::kIdVmovups, part, from);
  return dtype == DType::boolean ? mask_of_bytes(e, v) : widen(e, dtype, part);
}

x86::Reg load_avx2(VectorEmitter& e, DType dtype, const x86::Mem& from, const Tail* tail) {
  x86::Compiler& cc = e.cc;
  if (is_direct(dtype)) {
    const x86::Vec v = e.new_vector();
    if (tail) cc.emit(e.lane_bytes() == 4 ? Inst::kIdVmaskmovps : Inst::kIdVmaskmovpd, v, tail->mask, from);
    else cc.emit(Inst::kIdVmovups, v, from);
    return v;
  }
  if (tail) {
    const x86::Xmm bytes = gather_tail(e, from, static_cast<int>(dtype_size(dtype)), *tail);
    return dtype == DType::boolean ? mask_of_bytes(e, bytes) : widen(e, dtype, bytes);
  }
  if (dtype != DType::boolean) return widen(e, dtype, from);
  const x86::Xmm bytes = e.new_vector().xmm();
  if (e.lanes() == 8) cc.vmovq(bytes, from);
  else cc.vmovd(bytes, from);
  return mask_of_bytes(e, bytes);
}

/// Lanes rounded to bfloat16, in the upper half of each word.
x86::Vec round_to_bfloat(VectorEmitter& e, const x86::Vec& value) {
  x86::Compiler& cc = e.cc;
  const x86::Vec odd = e.new_vector(), rounded = e.new_vector(), quiet = e.new_vector();
  const auto bit_and = e.wide() ? Inst::kIdVpandd : Inst::kIdVpand;
  const auto bit_or = e.wide() ? Inst::kIdVpord : Inst::kIdVpor;
  cc.emit(Inst::kIdVpsrld, odd, value, imm(16));
  cc.emit(bit_and, odd, odd, e.constant(1));
  cc.emit(Inst::kIdVpaddd, rounded, value, e.constant(0x7FFF));
  cc.emit(Inst::kIdVpaddd, rounded, rounded, odd);
  cc.emit(bit_or, quiet, value, e.constant(0x400000));
  const x86::Reg nan = e.new_register(Lane::mask);
  cc.emit(Inst::kIdVcmpps, nan, value, value, imm(3));  // unordered
  if (e.wide()) cc.k(nan.as<x86::KReg>()).emit(Inst::kIdVblendmps, rounded, rounded, quiet);
  else cc.emit(Inst::kIdVblendvps, rounded, rounded, quiet, nan);
  return rounded;
}

void store_wide(VectorEmitter& e, DType dtype, const x86::Mem& to, const x86::Reg& value, const Tail* tail) {
  x86::Compiler& cc = e.cc;
  const int size = static_cast<int>(dtype_size(dtype));
  auto put = [&](asmjit::InstId whole, asmjit::InstId masked, const x86::Vec& bytes) {
    if (tail) cc.k(tail->mask.as<x86::KReg>()).emit(masked, to, bytes);
    else cc.emit(whole, to, bytes);
  };
  if (is_direct(dtype)) {
    const auto id = e.lane_bytes() == 4 ? Inst::kIdVmovups : Inst::kIdVmovupd;
    return put(id, id, value.as<x86::Vec>());
  }
  const x86::Vec small = packed(e, e.new_vector(), size);
  switch (dtype) {
    case DType::f16: cc.emit(Inst::kIdVcvtps2ph, small, value, imm(0)); break;
    case DType::bf16: {
      const x86::Vec rounded = round_to_bfloat(e, value.as<x86::Vec>());
      cc.emit(Inst::kIdVpsrld, rounded, rounded, imm(16));
      cc.emit(Inst::kIdVpmovdw, small, rounded);
      break;
    }
    case DType::boolean: {
      constexpr std::uint8_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
      x86::Mem ones = e.repeat16(kOnes);
      ones.setSize(16);
      cc.k(value.as<x86::KReg>()).z().emit(Inst::kIdVmovdqu8, small, ones);
      break;
    }
    case DType::i16:
    case DType::u16: cc.emit(Inst::kIdVpmovdw, small, value); break;
    default: cc.emit(Inst::kIdVpmovdb, small, value); break;
  }
  if (size == 2) put(Inst::kIdVmovups, Inst::kIdVmovdqu16, small);
  else put(e.lanes() == 8 ? Inst::kIdVmovq : Inst::kIdVmovups, Inst::kIdVmovdqu8, small);
}

/// Lanes packed to elements of one or two bytes in the low part of the result.
x86::Vec pack_avx2(VectorEmitter& e, DType dtype, const x86::Vec& value) {
  constexpr std::uint8_t kNo = 0x80;  // a zero byte
  constexpr std::uint8_t kBytesOf4[16] = {0, 4, 8, 12, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo};
  constexpr std::uint8_t kBytesOf8[16] = {0, 8, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo};
  constexpr std::uint8_t kLowerHalves[16] = {0, 1, 4, 5, 8, 9, 12, 13, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo};
  constexpr std::uint8_t kUpperHalves[16] = {2, 3, 6, 7, 10, 11, 14, 15, kNo, kNo, kNo, kNo, kNo, kNo, kNo, kNo};
  constexpr std::uint8_t kOnes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  x86::Compiler& cc = e.cc;
  const x86::Vec out = e.new_vector(), upper = e.new_vector();
  if (dtype == DType::f16) {
    cc.vcvtps2ph(out.xmm(), value.ymm(), imm(0));
    return out;
  }
  if (dtype_size(dtype) == 2) {
    const bool bfloat = dtype == DType::bf16;
    cc.vpshufb(out, bfloat ? round_to_bfloat(e, value) : value, e.repeat16(bfloat ? kUpperHalves : kLowerHalves));
    cc.vpermq(out.ymm(), out.ymm(), imm(0x08));
    return out;
  }
  const bool narrow = e.lane_bytes() == 4;
  cc.vpshufb(out, value, e.repeat16(narrow ? kBytesOf4 : kBytesOf8));
  cc.vextracti128(upper.xmm(), out.ymm(), imm(1));
  if (narrow) cc.vpunpckldq(out.xmm(), out.xmm(), upper.xmm());
  else cc.vpunpcklwd(out.xmm(), out.xmm(), upper.xmm());
  if (dtype == DType::boolean) {
    x86::Mem ones = e.repeat16(kOnes);
    ones.setSize(16);
    cc.vpand(out.xmm(), out.xmm(), ones);
  }
  return out;
}

void store_avx2(VectorEmitter& e, DType dtype, const x86::Mem& to, const x86::Reg& value, const Tail* tail) {
  x86::Compiler& cc = e.cc;
  const x86::Vec v = is_direct(dtype) ? value.as<x86::Vec>() : pack_avx2(e, dtype, value.as<x86::Vec>());
  const int size = static_cast<int>(dtype_size(dtype));
  if (tail) return scatter_tail(e, to, size, v, *tail);
  switch (size * e.lanes()) {
    case 32: cc.vmovups(to, v); break;
    case 16: cc.vmovups(to, v.xmm()); break;
    case 8: cc.vmovq(to, v.xmm()); break;
    default: cc.vmovd(to, v.xmm()); break;
  }
}

}  // namespace

Tail make_tail(VectorEmitter& e, const x86::Gp& count) {
  x86::Compiler& cc = e.cc;
  const x86::Reg mask = e.new_register(Lane::mask);
  const x86::Gp start = cc.newUIntPtr();
  if (e.wide()) {
    cc.mov(start.r32(), imm(-1));
    cc.bzhi(start.r32(), start.r32(), count.r32());
    cc.emit(Inst::kIdKmovd, mask, start.r32());
    return {count, mask};
  }
  const x86::Gp back = cc.newUIntPtr();
  cc.mov(start, imm(kMaskTable.data() + 8));
  cc.mov(back, count);
  cc.neg(back);
  cc.emit(Inst::kIdVmovups, mask, x86::ptr(start, back, e.lane_bytes() == 4 ? 2 : 3));
  return {count, mask};
}

x86::Reg load(VectorEmitter& e, DType dtype, const x86::Mem& from, const Tail* tail) {
  return e.wide() ? load_wide(e, dtype, from, tail) : load_avx2(e, dtype, from, tail);
}

x86::Reg load_scalar(VectorEmitter& e, DType dtype, const x86::Mem& from) {
  x86::Compiler& cc = e.cc;
  const x86::Vec v = e.new_vector();
  if (is_direct(dtype)) {
    cc.emit(e.lane_bytes() == 4 ? Inst::kIdVbroadcastss : Inst::kIdVbroadcastsd, v, from);
    return v;
  }
  const int size = static_cast<int>(dtype_size(dtype));
  const x86::Vec part = packed(e, v, size);
  cc.emit(size == 1 ? Inst::kIdVpbroadcastb : Inst::kIdVpbroadcastw, part, from);
  return dtype == DType::boolean ? mask_of_bytes(e, v) : widen(e, dtype, part);
}

void store(VectorEmitter& e, DType dtype, const x86::Mem& to, const x86::Reg& value, const Tail* tail) {
  if (e.wide()) store_wide(e, dtype, to, value, tail);
  else store_avx2(e, dtype, to, value, tail);
}

}  // namespace tandem::cpu
