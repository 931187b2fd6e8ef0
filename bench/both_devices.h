// Both devices at once: rows that need a process of their own.
#pragma once
#include <string>

namespace tandem::bench {

/// The work of a child process of these rows; false when `mode` is none of theirs.
bool run_both_devices_child(const std::string& mode);

}  // namespace tandem::bench
