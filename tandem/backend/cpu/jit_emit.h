// From formula instructions to machine instructions: one vector of lanes at a time, for AVX2 or AVX-512.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/backend/cpu/jit_runtime.h"
#include "tandem/expr/program.h"

namespace tandem::cpu {

namespace x86 = asmjit::x86;

/// Why `program` has no machine code for `target`; empty when it has. `lane_bytes` becomes 4 or 8.
std::string unsupported(const expr::Program& program, JitTarget target, int& lane_bytes);

/// A word of the struct that generated functions are given, which lies at `args`.
inline x86::Mem field(const x86::Gp& args, std::size_t offset, std::size_t element = 0) {
  return x86::qword_ptr(args, static_cast<std::int32_t>(offset + 8 * element));
}

/// Whether formulas with several quotients and roots gain by VectorEmitter::set_by_products.
bool divides_faster_by_products(JitTarget target);

/// An operand of an instruction: a register, or a whole vector in the constant pool.
struct Arg {
  asmjit::Operand operand;
  bool dies = false;     // a register nobody reads later, which may be overwritten
  bool zero = false;     // all bits are zero in every lane
  bool uniform = false;  // the same value in every lane
};

/// Writes instructions on vectors of `lanes()` elements. A number is a ymm or zmm register; a mask is a vector of
/// all-ones and zero lanes with AVX2, a k register with AVX-512.
class VectorEmitter {
 public:
  VectorEmitter(x86::Compiler& compiler, JitTarget target, int lane_bytes)
      : cc(compiler),
        wide_(target == JitTarget::avx512),
        lane_bytes_(lane_bytes) {}

  x86::Compiler& cc;

  /// Opens a function void(const Args*); returns where its argument is.
  x86::Gp begin_function();

  bool wide() const { return wide_; }
  int lane_bytes() const { return lane_bytes_; }
  int vector_bytes() const { return wide_ ? 64 : 32; }
  int lanes() const { return vector_bytes() / lane_bytes_; }
  int vector_registers() const { return wide_ ? 32 : 16; }

  // Virtual registers are given back and used again: the time of the register allocator grows with their number.
  x86::Vec new_vector();
  x86::Reg new_register(expr::Lane lane);  // for a number or a mask
  void release(const x86::Reg& reg);
  /// Releases what was taken since `mark` but `keep`, which then belongs to whoever called first.
  std::size_t mark() const { return taken_.size(); }
  void release_since(std::size_t mark, const x86::Reg& keep = {});

  /// `bits` in every lane, as a memory operand.
  x86::Mem constant(std::uint64_t bits);
  /// 32 bytes given as two equal halves, or 64 as four: for shuffles within 128 bits.
  x86::Mem repeat16(const std::uint8_t (&bytes)[16]);
  /// A register with the value of a constant node.
  x86::Reg constant_register(const expr::Node& node);
  void move(const x86::Reg& to, const asmjit::Operand& from);

  /// Writes one instruction of the program, not an input, a constant or an index. `operand` is the lane of its first
  /// operand. The result is in `into` when that is a register, else in one of its choice.
  x86::Reg apply(const expr::Node& node, expr::Lane operand, const Arg (&args)[3], const x86::Reg& into = {});

  /// Whether quotients of float32 are made by products from now on; AVX-512 only. They have the same bits.
  void set_by_products(bool on) { by_products_ = on; }

  /// The position of each lane's element, the first being `first`: its low or high word.
  x86::Reg index_lo(const x86::Gp& first);
  x86::Reg index_hi(const x86::Gp& first);

 private:
  using InstId = asmjit::InstId;

  x86::Reg in_register(const Arg& arg);
  x86::Reg apply_fma(expr::Lane lane, const Arg (&args)[3], const x86::Reg& into);
  void fma(const x86::Reg& to, expr::Lane lane, const Arg& a, const Arg& b, const Arg& c);
  void compare(expr::Prim prim, expr::Lane lane, const x86::Reg& to, const Arg& a, const Arg& b);
  void compare_avx2(expr::Prim prim, expr::Lane lane, const x86::Reg& to, const Arg& a, const Arg& b);
  void select(expr::Lane lane, const x86::Reg& to, const x86::Reg& mask, const Arg& b, const Arg& c);
  void mask_logic(expr::Prim prim, const x86::Reg& to, const Arg& a, const Arg& b);
  void mul_hi(const x86::Reg& to, const Arg& a, const Arg& b);
  void unary(expr::Prim prim, expr::Lane lane, const x86::Reg& to, const Arg& a);
  void binary(expr::Prim prim, expr::Lane lane, const x86::Reg& to, const Arg& a, const Arg& b);
  void angle_rest(const expr::Node& node, const x86::Reg& to, const x86::Reg& angle);
  x86::Reg divide_by_products(const x86::Vec& a, const x86::Vec& b);
  void divide_i32(const x86::Reg& to, const Arg& a, const Arg& b);
  void min_max_i64_avx2(expr::Prim prim, const x86::Reg& to, const Arg& a, const Arg& b);

  x86::Reg take(std::vector<x86::Reg>& free, bool mask);

  bool wide_;
  int lane_bytes_;
  bool by_products_ = false;
  x86::Mem angles_;  // room on the stack for lanes that a function changes
  std::vector<x86::Reg> taken_, free_vectors_, free_masks_;
};

}  // namespace tandem::cpu
