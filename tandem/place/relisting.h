// List scheduling again and again: each time with what follows a node as it is in the plan before.
#pragma once
#include "tandem/place/latest_starts.h"

namespace tandem::placer {

/// Replaces `plan` by the best met in so many rounds, if that is shorter.
void list_again(const Problem& problem, Decoder& decoder, Plan& plan, int rounds);

}  // namespace tandem::placer
