// Floating-point numbers as decimal text, digit for digit what NumPy and Python print.
#pragma once
#include <string>

#include "tandem/core/dtype.h"

namespace tandem {

/// A finite number: 0.d1d2d3… × 10^point, without trailing zeros; zero is the single digit 0 with point 1.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 1;
};

/// The fewest digits that `dtype` reads back as the same value. `value` must be finite and exact in `dtype`.
Decimal shortest(double value, DType dtype);
/// At most `places` digits after the decimal point; the exact value is rounded, half to even.
Decimal shortest_fixed(double value, DType dtype, int places);
/// At most `places` digits after the first one; the exact value is rounded, half to even.
Decimal shortest_scientific(double value, DType dtype, int places);

/// `places` digits after the first one, whatever the dtype needs; trailing zeros are left out.
Decimal rounded_scientific(double value, int places);

/// "-12", the part before the point, and "5", the part after it.
struct PositionalParts {
  std::string whole;
  std::string fraction;  // may be empty
};
PositionalParts positional(const Decimal& decimal);

/// "-1", "25" and the exponent of ten.
struct ScientificParts {
  std::string whole;
  std::string fraction;  // may be empty
  int exponent = 0;
};
ScientificParts scientific(const Decimal& decimal);
/// "e+05", the exponent with at least `width` digits.
std::string exponent_text(int exponent, int width = 2);

/// str() of a NumPy scalar: "1e-05", "32407.754", "nan".
std::string numpy_scalar_text(double value, DType dtype);
/// repr() of a Python float.
std::string python_float_text(double value);

}  // namespace tandem
