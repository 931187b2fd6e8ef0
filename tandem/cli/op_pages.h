// The documentation of the ops, derived from their records.
#pragma once
#include <iosfwd>

namespace tandem::cli {

/// The text of docs/ops.md.
void write_op_pages(std::ostream& out);

}  // namespace tandem::cli
