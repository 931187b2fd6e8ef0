// When a device's memory runs short: what was used longest ago goes to the host and comes back when it is needed.
#pragma once
#include <cstdint>

#include "tandem/core/device.h"

namespace tandem {

/// Off: what does not fit is out_of_memory, and nothing is moved to the host for it. TANDEM_SPILL=0 starts with it off.
void set_spill(bool on);
bool spill_enabled();

struct SpillStats {
  std::uint64_t evictions = 0;  // copies given up for want of room
  std::uint64_t written_back = 0;  // of these, copied to the host first: no other copy was valid
  std::uint64_t written_back_bytes = 0;
};
SpillStats spill_stats();

/// Memory of a device's own, evicting what is in the way; throws out_of_memory.
void* allocate_evicting(MemorySpace& space, std::size_t bytes);

/// Called when nothing is left to evict from a space: gives back what it can, and says whether it had anything. Set
/// once.
void on_shortage(bool (*give_back)(MemorySpace&));

/// Frees host memory whose copies have ended. `wait`: also waits for those that have not.
void free_finished_copies(bool wait);

}  // namespace tandem
