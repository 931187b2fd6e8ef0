// The loop body of an elementwise op, from its record: the same for every device.
#pragma once
#include "tandem/expr/program.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

expr::Program elementwise_program(const KernelCall& call);

}  // namespace tandem
