// Elements between memory and vector registers: every stored dtype, whole vectors and the last few of a row.
#pragma once
#include "tandem/backend/cpu/jit_emit.h"

namespace tandem::cpu {

/// The last elements of a row, fewer than a vector: no byte beyond them is read or written.
struct Tail {
  x86::Gp count;  // 1 .. lanes - 1
  x86::Reg mask;  // AVX2: a vector of lanes; AVX-512: a k register
};
Tail make_tail(VectorEmitter& emit, const x86::Gp& count);

/// A vector of elements at `from`, as lanes. Without a tail all of them are read.
x86::Reg load(VectorEmitter& emit, DType dtype, const x86::Mem& from, const Tail* tail = nullptr);
/// The one element at `from` in all lanes.
x86::Reg load_scalar(VectorEmitter& emit, DType dtype, const x86::Mem& from);
/// Stores lanes as elements; floats round to nearest even, integers wrap.
void store(VectorEmitter& emit, DType dtype, const x86::Mem& to, const x86::Reg& value, const Tail* tail = nullptr);

}  // namespace tandem::cpu
