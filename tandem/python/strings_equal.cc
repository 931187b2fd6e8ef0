#include "tandem/python/strings_equal.h"

#include "tandem/op/ops.h"

namespace tandem::python {

Tensor strings_equal(const Tensor& x, const Tensor& y, bool when_equal) {
  if (x.rank() != 0 && y.rank() != 0 && x.shape() != y.shape()) return Tensor(!when_equal);
  const Tensor& longer = x.rank() == 0 ? y : x;
  std::vector<std::uint8_t> result(static_cast<std::size_t>(longer.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool same = x.strings()[x.rank() == 0 ? 0 : i] == y.strings()[y.rank() == 0 ? 0 : i];
    result[i] = same == when_equal;
  }
  return Tensor::from_bytes(result.data(), result.size(), {DType::boolean, longer.shape()});
}

}  // namespace tandem::python
