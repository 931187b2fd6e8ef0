// The number by which a launch is known in its error word: its number in the queue, as far as an int goes.
#pragma once
#include <cstdint>

namespace tandem::opencl {

inline int error_tag(std::uint64_t number) { return static_cast<int>(number % 0x7FFF'FFFFu) + 1; }

}  // namespace tandem::opencl
