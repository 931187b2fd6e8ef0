// Where a random op has its key, and whether each run of a graph gives it another.
#pragma once
#include <span>

#include "tandem/op/drawn_words.h"
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

inline bool draws_each_run(const OpDef& op, std::span<const std::int64_t> words) {
  return op.random && words[key_word(op) + 1] == kDrawnEachRun;
}

}  // namespace tandem
