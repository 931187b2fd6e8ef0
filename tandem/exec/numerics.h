// Looking for NaN and Inf: which op was the first to produce one.
#pragma once
#include "tandem/exec/prepared_call.h"

namespace tandem {

/// TANDEM_CHECK_NUMERICS=1 or set_check_numerics(true): every floating result is looked at.
bool check_numerics();
void set_check_numerics(bool on);

/// Throws not_finite, naming the op, when a floating output holds NaN or Inf.
void require_finite(const PreparedCall& call, const KernelArgs& args);

}  // namespace tandem
