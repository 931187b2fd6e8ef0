// How a graph tells random ops that draw anew in each run from those whose numbers depend on a given seed only.
#pragma once
#include <cstdint>

namespace tandem {

/// The counter of a random op in a graph whose words each run takes from the state of the process. A counter that a
/// user gave (tf.random.stateless_uniform) is any other number and stays as it is.
inline constexpr std::int64_t kDrawnEachRun = INT64_MIN;

}  // namespace tandem
