// Memory a thread keeps between runs, so that kernels allocate nothing once they are warm.
#pragma once
#include <cstddef>

namespace tandem::cpu {

/// One buffer a thread and use: kernels that call each other must not take the same one.
enum class ScratchUse { pack, columns, weights, primitive, partials, rows, sums, count };

/// At least `bytes` bytes, aligned to 64; valid until the thread asks for more under the same use.
void* scratch(ScratchUse use, std::size_t bytes);

}  // namespace tandem::cpu
