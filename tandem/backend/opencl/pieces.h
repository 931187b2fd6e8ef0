// Vectors of neighbours in memory, as wide as a register of a CPU-type device, and less than one at the end of a row:
// kernel text.
#pragma once
#include <string>
#include <string_view>

#include "tandem/core/dtype.h"

namespace tandem::opencl {

/// After define_dtype(slot, dtype): LANES, 8 or 16, is `lanes`; V is a vector of so many lanes. D_piece(x, at, m), with
/// the slot's name for D, is a vector of which the first m lanes are those of x from `at` and the others 0;
/// D_piece_store(y, at, m, v) stores the first m. PIECE(left) is m where `left` elements are left. Several slots of one
/// program have the same lanes.
std::string pieces_text(std::string_view slot, DType dtype, int lanes);

}  // namespace tandem::opencl
