// What the rows of a device short of memory need of the program they stand in.
#pragma once
#include <string>

namespace tandem::bench {

/// The work of a child process of these rows; false when `mode` is none of theirs.
bool run_spill_child(const std::string& mode);

}  // namespace tandem::bench
