// OpenBLAS on processors that are newer than itself.
#pragma once

namespace tandem::cpu {

/// OpenBLAS chooses its loops by the processor's model number. A model that came out after the library gets those of
/// 2004 (SSE3), a tenth of the speed; then this makes it choose again, by what the processor can do. Once a process;
/// where OPENBLAS_CORETYPE is set, or the library is built for one processor, nothing changes.
void choose_openblas_core();

}  // namespace tandem::cpu
