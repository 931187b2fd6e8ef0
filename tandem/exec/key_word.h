// Where a random op has its key.
#pragma once

#include "tandem/op/op_def.h"

namespace tandem {

/// Which run-time word of a random op is its key; the counter follows it.
inline std::uint32_t key_word(const OpDef& op) {
  std::uint32_t word = 0;
  for (const AttrDef& attr : op.attrs) {
    if (attr.name == "key") return word;
    word += attr.at_run_time;
  }
  check_failed("random ops have a key", __FILE__, __LINE__, std::string(op.name));
}

}  // namespace tandem
