// Products of bfloat16 on AMX tiles: whether this process may use them, and the product.
#pragma once
#include "tandem/backend/cpu/gemm.h"
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

/// The machine is asked once a process: Linux hands the tiles out on request only, and some virtual machines announce
/// tiles that do not work. TANDEM_AMX=0 does without them.
Support amx_support();

/// On the calling thread only; sums are float. The bits of an element depend on its row, its column and k alone.
void amx_gemm(const Gemm<BFloat16>& gemm);
void amx_gemm(const Gemm<BFloat16, float>& gemm);

}  // namespace tandem::cpu
