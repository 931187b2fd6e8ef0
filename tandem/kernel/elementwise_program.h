// The loop body of an elementwise op, from its record: the same for every device.
#pragma once
#include "tandem/expr/program.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

expr::Program elementwise_program(const KernelCall& call);

/// True of a cast between uint64 and a float: uint64 is computed in lanes of int64, which cannot tell its upper half.
bool is_uint64_float_cast(const KernelCall& call);

}  // namespace tandem
