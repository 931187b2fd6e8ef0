// Assignments that keep what is joined together: where crossings are dear, or forbidden, whole parts of a graph are
// shared out.
#pragma once
#include <cstdint>
#include <optional>

#include "tandem/place/decoder.h"

namespace tandem::placer {

/// Parts of the graph joined by edges of at least `least_bytes`, each whole on one device, so that the busiest device
/// has least to do; as far as `steps` of a search over devices reach. Nothing when there is one part only, or a
/// thousand, or one that no device can run.
std::optional<Assignment> pack_parts(const Problem& problem, std::int64_t least_bytes, std::int64_t steps);

}  // namespace tandem::placer
