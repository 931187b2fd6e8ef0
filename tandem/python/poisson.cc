// Numbers of events from uniform numbers: how many sums of the probabilities each one reaches.
#include <cmath>

#include "tandem/base/cores.h"
#include "tandem/core/tensor.h"
#include "tandem/op/ops.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

double count_of(double uniform, double rate, int most) {
  double term = std::exp(-rate), below = term;
  int count = 0;
  while (count < most && uniform >= below) {
    ++count;
    term = term * rate / count;
    below += term;
  }
  return count;
}

}  // namespace

void add_poisson(nb::module_& module) {
  module.def("poisson_counts", [](nb::handle uniform, nb::handle rates, int most) {
    const Tensor u = to_tensor(uniform.ptr()), rate = to_tensor(rates.ptr());  // float64 of one shape
    if (u.dtype() != DType::f64 || rate.spec() != u.spec())
      fail(ErrorCode::dtype_mismatch, "poisson_counts: needs float64 of one shape");
    std::vector<double> counts(static_cast<std::size_t>(u.size()));
    {
      const WithoutGil without;
      const auto *from = static_cast<const double*>(u.raw_data()), *of = static_cast<const double*>(rate.raw_data());
      constexpr std::int64_t kSlice = 16 << 10;
      parallel((u.size() + kSlice - 1) / kSlice, [&](std::int64_t slice) {
        for (std::int64_t i = slice * kSlice, end = std::min(u.size(), i + kSlice); i < end; ++i)
          counts[static_cast<std::size_t>(i)] = count_of(from[i], of[i], most);
      });
    }
    return to_object(Tensor::from(counts, u.shape()));
  });
}

}  // namespace tandem::python
