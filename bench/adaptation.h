// Children of the adaptation rows.
#pragma once
#include <string>

namespace tandem::bench {

/// The work of a child process of the adaptation rows; false when `mode` is none of theirs.
bool run_adaptation_child(const std::string& mode);

}  // namespace tandem::bench
