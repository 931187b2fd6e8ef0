// The description of this host on disk. What was measured in quiet stays; what was measured while others were at work
// is doubted, and measured again by a later program.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>

#include "tandem/place/machine.h"

namespace tandem {

/// Null when there is none that could be read: then it is measured anew.
std::shared_ptr<const Machine> stored_machine(const std::filesystem::path& file);
/// A disk that cannot be written to costs time, not results: throws nothing.
void store_machine(const Machine& machine, const std::filesystem::path& file);

/// Doubted, and for long enough that others may have ended: a host that is never quiet is not measured all the time.
bool due_again(const Machine& machine, std::int64_t unix_s);
std::int64_t unix_seconds();

/// What is kept of two measurements of one machine. Others at work only make it slower: of two that are doubted the
/// better of each figure counts. A history is relative to figures, so it stays with them.
Machine better_machine(const Machine& stored, Machine measured);

}  // namespace tandem
