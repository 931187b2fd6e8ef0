// Elements made by several threads at once, in the order they would have had on one.
#pragma once
#include <cstdint>
#include <memory>

#include "tandem/data/recorder.h"
#include "tandem/data/session.h"
#include "tandem/op/random_state.h"

namespace tandem::data {

/// While it lives, random ops of this thread depend on the element's number, not on the thread.
class ElementRandom {
 public:
  ElementRandom(std::uint64_t seed, std::uint64_t number);

 private:
  ScopedRandomState state_;
};

/// `calls`: threads, or kAutotune: one, and another whenever the reader waits while cores for data are free.
IteratorPtr parallel_map(IteratorPtr input, std::shared_ptr<const Runner> runner, std::int64_t calls,
                         std::uint64_t seed, const Pass& pass, Stage& stage);

}  // namespace tandem::data
