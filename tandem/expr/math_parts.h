// Cheaper forms of the elementary functions, for arguments known to lie in a narrow range.
#pragma once
#include "tandem/expr/expr.h"

namespace tandem::expr {

/// log(x) for a positive, finite, normal x.
Expr log_of_normal(Expr x);

/// cos(2 pi u) for 0 <= u <= 1, reduced exactly.
Expr cos_two_pi(Expr u);

}  // namespace tandem::expr
