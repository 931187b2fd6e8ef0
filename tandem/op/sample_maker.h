// Collects the sample calls of one op and dtype; what the files of samples share.
#pragma once
#include "tandem/op/ops.h"
#include "tandem/op/samples.h"

namespace tandem {

using Samples = std::vector<OpSample>;

/// What integers and small dtypes can hold of an op's domain.
inline Domain domain_for(const OpDef& op, DType dtype) {
  Domain d = op.domain;
  if (!is_floating(dtype)) d = {d.low < 0 ? -5.0 : 1.0, d.low < 0 ? 6.0 : 4.0};
  if (is_unsigned(dtype) && d.low < 0) d = {0, 9};
  if (dtype == DType::boolean) d = {0, 2};
  return d;
}

class Maker {
 public:
  Maker(const OpDef& op, DType dtype) : op_(op), dtype_(dtype) {}

  SampleInput input(const Shape& shape) const { return {{dtype_, shape}, domain_for(op_, dtype_)}; }
  static SampleInput input(const Shape& shape, DType dtype, Domain values) { return {{dtype, shape}, values}; }

  template <class... Values>
  void add(std::vector<SampleInput> inputs, const Values&... attrs) {
    out_.push_back({std::move(inputs), make_attrs(op_, attrs...)});
  }
  Samples done() { return std::move(out_); }
  DType dtype() const { return dtype_; }
  const OpDef& op() const { return op_; }

 private:
  const OpDef& op_;
  DType dtype_;
  Samples out_;
};

/// Calls of the larger ops of networks; none for other ops.
Samples network_samples(Maker m);

}  // namespace tandem
