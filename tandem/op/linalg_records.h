// Records of linear algebra, for its kernels.
#pragma once
#include "tandem/op/op_def.h"

namespace tandem {

extern const OpDef cholesky_op, triangular_solve_op, solve_op, det_op, slogdet_op, qr_op, svd_op, eigh_op;

OpGroup linalg_ops();

}  // namespace tandem
