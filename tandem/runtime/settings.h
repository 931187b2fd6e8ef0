// How a runtime is to be set up, as a value.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "tandem/base/core_roles.h"

namespace tandem {

enum class PlacementPolicy;  // tandem/exec/prepared_call.h

struct Settings {
  /// What becomes of one physical GPU.
  struct Gpu {
    std::vector<std::size_t> limits;  // bytes: a logical device each; none: one that may use most of the memory
    std::optional<bool> growth;       // false: takes its memory at once; not set: as the backend does
  };
  std::map<int, Gpu> gpus;  // by the number of the physical device; those not mentioned are as above
  std::optional<std::vector<int>> visible_gpus;  // numbers of physical devices; not set: all
  int cpus = 1;             // logical CPUs, which share the cores
  int threads = 0;          // of the pool; 0: one a core
  bool soft_placement = true;
  PlacementPolicy policy = {};  // automatic
  CoreRoles cores;
};

}  // namespace tandem
