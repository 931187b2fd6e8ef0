// Quotients of float32 by products, for formulas that would wait for the unit that divides and takes roots.
#include "tandem/backend/cpu/jit_emit.h"

namespace tandem::cpu {

namespace Inst = x86::Inst;
using expr::Lane;

/// An Intel core has one unit for quotients and roots, which takes 10 and 12 cycles for sixteen of them, beside two
/// that multiply. Its vrcp14ps is the same table in every model; that of others is not known to suffice for the last
/// bit.
bool divides_faster_by_products(JitTarget target) {
  return target == JitTarget::avx512 && asmjit::CpuInfo::host().isVendor("INTEL");
}

/// a / b, rounded as the division does. y = 1 / b to the last bit by a cubic step from 14 bits, q = a y, and a - b q,
/// which is exact, corrects q: right wherever nothing is too small or large on the way. That was tried for every b
/// beside those a whose quotients lie next to the middle between two floats; only 1 / (2 - 2^-23) would be wrong,
/// unless e + e^2 is rounded up. Vectors with other numbers are divided.
x86::Reg VectorEmitter::divide_by_products(const x86::Vec& a, const x86::Vec& b) {
  const x86::Vec y = new_vector(), e = new_vector(), q = new_vector(), rest = new_vector();
  cc.emit(Inst::kIdVrcp14ps, y, b);
  cc.emit(Inst::kIdVmovaps, e, constant(0x3F800000u));
  cc.emit(Inst::kIdVfnmadd231ps, e, b, y);
  cc.ru_sae().emit(Inst::kIdVfmadd213ps, e, e, e);
  cc.emit(Inst::kIdVfmadd213ps, e, y, y);
  cc.emit(Inst::kIdVmulps, q, a, e);
  cc.emit(Inst::kIdVmovaps, rest, a);
  cc.emit(Inst::kIdVfnmadd231ps, rest, b, q);
  cc.emit(Inst::kIdVfmadd231ps, q, rest, e);

  // Exponents within -79…48 for a, unless it is +0, and -32…31 for b: then y, q and the rest are normal numbers, or 0.
  constexpr std::uint32_t kUpA = 80u << 23, kDownB = (256u - 95u) << 23;
  const x86::KReg some = new_register(Lane::mask).as<x86::KReg>(), far_a = new_register(Lane::mask).as<x86::KReg>(),
                  far_b = new_register(Lane::mask).as<x86::KReg>();
  cc.emit(Inst::kIdVptestmd, some, a, a);
  cc.emit(Inst::kIdVpaddd, y, a, constant(kUpA));
  cc.emit(Inst::kIdVpaddd, rest, b, constant(kDownB));
  cc.k(some).emit(Inst::kIdVptestnmd, far_a, y, constant(0x40000000u));
  cc.emit(Inst::kIdVptestmd, far_b, rest, constant(0x60000000u));
  const asmjit::Label done = cc.newLabel();
  cc.emit(Inst::kIdKortestw, far_a, far_b);
  cc.jz(done);
  cc.emit(Inst::kIdVdivps, q, a, b);
  cc.bind(done);
  return q;
}

}  // namespace tandem::cpu
