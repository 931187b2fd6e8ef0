// Compares results of kernels with those of the reference.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/op/sample_data.h"

namespace tandem {

/// Allowed error, relative to the largest value of the result: a few roundings of the dtype.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f16: return 4e-3;
    case DType::bf16: return 3e-2;
    case DType::f32: return 5e-6;
    case DType::f64: return 2e-13;
    default: return 0;
  }
}

/// The largest finite value, whatever its sign.
inline double scale_of(const Tensor& tensor) {
  double scale = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double v = std::abs(value_at(tensor, i)); std::isfinite(v)) scale = std::max(scale, v);
  return scale;
}

/// `least`: what the error is relative to where all values are smaller, because larger ones cancelled in them.
inline void expect_close(const Tensor& got, const Tensor& expected, double allowed, const std::string& what,
                         double least = 1e-3) {
  ASSERT_EQ(got.spec(), expected.spec()) << what;
  const double scale = scale_of(expected);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double a = value_at(got, i), b = value_at(expected, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    ASSERT_LE(std::abs(a - b), allowed * std::max(scale, least))
        << what << ", element " << i << ": " << a << " != " << b;
  }
}

inline std::string describe(const OpDef& op, const OpSample& sample, std::string_view kernel) {
  std::string specs;
  for (const SampleInput& input : sample.inputs) specs += text(" ", input.spec);
  return text(op.name, specs, " attrs [", join(sample.attrs.key()), "] kernel ", kernel);
}

}  // namespace tandem
