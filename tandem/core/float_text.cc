#include "tandem/core/float_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tandem {
namespace {

/// Reads "1.25e+02"; `text` comes from to_chars or printf in scientific form.
Decimal parse_scientific(std::string_view text) {
  Decimal out;
  std::size_t at = 0;
  if (text[at] == '-') {
    out.negative = true;
    ++at;
  }
  for (; text[at] != 'e'; ++at)
    if (text[at] != '.') out.digits.push_back(text[at]);
  out.point = std::atoi(std::string(text.substr(at + 1)).c_str()) + 1;
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  if (out.digits == "0") out.point = 1;
  return out;
}

template <class T>
Decimal shortest_of(T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  return parse_scientific({buffer, static_cast<std::size_t>(end - buffer)});
}

std::string scientific_text(double value, int places) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*e", places, value);
  return buffer;
}

/// to_chars knows no 16-bit floats: five digits always suffice, so try them from one up.
Decimal shortest_half(double value) {
  const auto reads_back = [&](const std::string& text) {
    return static_cast<float>(Half(std::strtof(text.c_str(), nullptr))) == value;
  };
  for (int places = 0; places < 4; ++places) {
    const std::string nearest = scientific_text(value, places);
    if (reads_back(nearest)) return parse_scientific(nearest);
    // Below a power of two the floats lie closer: the nearest decimal may miss where the next one away from 0
    // hits.
    const double unit = std::pow(10, std::atoi(nearest.c_str() + nearest.find('e') + 1) - places);
    const std::string next =
        scientific_text(std::strtod(nearest.c_str(), nullptr) + std::copysign(unit, value), places);
    if (reads_back(next)) return parse_scientific(next);
  }
  return parse_scientific(scientific_text(value, 4));
}

}  // namespace

Decimal rounded_scientific(double value, int places) { return parse_scientific(scientific_text(value, places)); }

Decimal shortest(double value, DType dtype) {
  switch (dtype) {
    case DType::f16: return shortest_half(value);
    case DType::f64: return shortest_of(value);
    default: return shortest_of(static_cast<float>(value));
  }
}

Decimal shortest_fixed(double value, DType dtype, int places) {
  Decimal exact = shortest(value, dtype);
  if (static_cast<int>(exact.digits.size()) - exact.point <= places) return exact;
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, "%.*f", places, value);
  Decimal out{.negative = exact.negative, .digits = {}, .point = 0};
  bool seen_point = false;
  for (const char* c = buffer; *c; ++c) {
    if (*c == '.') seen_point = true;
    if (*c < '0' || *c > '9') continue;
    if (out.digits.empty() && *c == '0') {
      out.point -= seen_point;
      continue;
    }
    out.digits.push_back(*c);
    out.point += !seen_point;
  }
  while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back();
  if (out.digits.empty()) return {.negative = exact.negative, .digits = "0", .point = 1};
  return out;
}

Decimal shortest_scientific(double value, DType dtype, int places) {
  Decimal exact = shortest(value, dtype);
  if (static_cast<int>(exact.digits.size()) <= places + 1) return exact;
  return rounded_scientific(value, places);
}

PositionalParts positional(const Decimal& decimal) {
  PositionalParts out;
  const std::string& digits = decimal.digits;
  const int count = static_cast<int>(digits.size());
  if (decimal.negative) out.whole = "-";
  if (decimal.point <= 0) {
    out.whole += "0";
    if (digits != "0") out.fraction = std::string(static_cast<std::size_t>(-decimal.point), '0') + digits;
  } else if (decimal.point >= count) {
    out.whole += digits + std::string(static_cast<std::size_t>(decimal.point - count), '0');
  } else {
    out.whole += digits.substr(0, static_cast<std::size_t>(decimal.point));
    out.fraction = digits.substr(static_cast<std::size_t>(decimal.point));
  }
  return out;
}

ScientificParts scientific(const Decimal& decimal) {
  return {.whole = (decimal.negative ? "-" : "") + decimal.digits.substr(0, 1),
          .fraction = decimal.digits.substr(1),
          .exponent = decimal.point - 1};
}

std::string exponent_text(int exponent, int width) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "e%c%0*d", exponent < 0 ? '-' : '+', width, std::abs(exponent));
  return buffer;
}

namespace {

std::string non_finite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

std::string scalar_text(double value, DType dtype, double scientific_from) {
  if (!std::isfinite(value)) return non_finite(value);
  const double magnitude = std::fabs(value);
  const Decimal decimal = shortest(value, dtype);
  if (magnitude != 0 && (magnitude >= scientific_from || magnitude < 1e-4)) {
    const ScientificParts parts = scientific(decimal);
    return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) + exponent_text(parts.exponent);
  }
  const PositionalParts parts = positional(decimal);
  return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
}

}  // namespace

std::string numpy_scalar_text(double value, DType dtype) {
  // NumPy changes to exponents where the dtype runs out of decimal digits.
  const double scientific_from = dtype == DType::f16 ? 1e3 : dtype == DType::f32 ? 1e6 : 1e16;
  return scalar_text(value, dtype, scientific_from);
}

std::string python_float_text(double value) { return scalar_text(value, DType::f64, 1e16); }

}  // namespace tandem
