// The two kinds of functions that are generated, for the code cache and, for any target, for tests.
#pragma once
#include "tandem/backend/cpu/jit_runtime.h"
#include "tandem/backend/cpu/loop.h"

namespace tandem::cpu {

/// Writes void(const LoopArgs*). `program` must outlive the writer.
JitWriter loop_writer(const expr::Program& program, ScalarInputs scalars, JitTarget target);
/// Writes void(const FoldArgs*). `program` must outlive the writer.
JitWriter fold_writer(const FoldProgram& program, JitTarget target);

}  // namespace tandem::cpu
