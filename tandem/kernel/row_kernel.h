// Kernels that can make some rows of their results at a time: then a core takes its rows through several ops before the
// cores meet.
#pragma once
#include <memory>
#include <span>

#include "tandem/kernel/kernel.h"

namespace tandem {

/// Rows along the first axis.
struct RowRange {
  std::int64_t begin = 0, end = 0;
};

/// A kernel made ready for some ranges of rows.
class CutKernel {
 public:
  virtual ~CutKernel() = default;
  virtual void run(const KernelArgs& args, RowRange rows) const = 0;
};

/// Something a PreparedKernel may be besides. The bits of a row do not depend on how the rows are cut.
class RowKernel {
 public:
  virtual ~RowKernel() = default;
  /// Along the first axis of all results.
  virtual std::int64_t rows() const = 0;
  /// Does a row of the results need the same row of this input and no other? Inputs that are not read so are read
  /// whole.
  virtual bool reads_by_row(std::size_t input) const = 0;
  /// Null: it cannot be cut. What is returned may refer to this kernel.
  virtual std::unique_ptr<const CutKernel> cut(std::span<const RowRange> ranges) const = 0;
};

/// A kernel whose results can be cut anywhere by what it is anyway: `Body` has run_rows(args, rows).
template <class Body>
std::unique_ptr<const CutKernel> cut_anywhere(const Body& body) {
  struct Cut final : CutKernel {
    explicit Cut(const Body& body) : body(body) {}
    void run(const KernelArgs& args, RowRange rows) const override { body.run_rows(args, rows); }
    const Body& body;
  };
  return std::make_unique<Cut>(body);
}

}  // namespace tandem
