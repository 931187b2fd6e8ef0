#include "tandem/core/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "tandem/core/float_text.h"

namespace tandem {
namespace {

constexpr int kLineWidth = 75;
constexpr std::int64_t kSummarizeAbove = 1000;  // elements
constexpr std::int64_t kEdgeItems = 3;          // shown at each end of a summarized axis
constexpr int kPlaces = 8;                      // digits after the point

using Formatter = std::function<std::string(std::int64_t element)>;

double float_at(const Tensor& tensor, std::int64_t i) {
  switch (tensor.dtype()) {
    case DType::f16: return static_cast<float>(static_cast<const Half*>(tensor.raw_data())[i]);
    case DType::bf16: return static_cast<float>(static_cast<const BFloat16*>(tensor.raw_data())[i]);
    case DType::f32: return static_cast<const float*>(tensor.raw_data())[i];
    default: return static_cast<const double*>(tensor.raw_data())[i];
  }
}

std::string integer_text(const Tensor& tensor, std::int64_t i) {
  return visit_dtype(tensor.dtype(), [&]<class T>(TypeTag<T>) -> std::string {
    if constexpr (std::is_integral_v<T>) return std::to_string(static_cast<const T*>(tensor.raw_data())[i]);
    else return {};
  });
}

bool boolean_at(const Tensor& tensor, std::int64_t i) { return static_cast<const bool*>(tensor.raw_data())[i]; }

/// bfloat16 has no printing of its own in NumPy: each element appears as C's %g of its float.
std::string bfloat_text(double value) {
  if (std::isnan(value)) return "nan";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", value);
  return buffer;
}

std::string padded(std::size_t width, const std::string& text) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Rounds to the precision in which NumPy compares and divides.
double in_dtype(double value, DType dtype) {
  if (dtype == DType::f16) return static_cast<float>(Half(static_cast<float>(value)));
  return dtype == DType::f32 ? static_cast<float>(value) : value;
}

bool wants_exponents(const std::vector<double>& finite, DType dtype) {
  double largest = 0, smallest = HUGE_VAL;
  for (double value : finite) {
    if (value == 0) continue;
    largest = std::max(largest, std::fabs(value));
    smallest = std::min(smallest, std::fabs(value));
  }
  if (largest == 0) return false;
  const double limit = dtype == DType::f16 ? 1e3 : dtype == DType::f32 ? 1e6 : 1e8;
  return largest >= limit || smallest < in_dtype(1e-4, dtype) || in_dtype(largest / smallest, dtype) > 1000;
}

struct FloatColumns {
  bool exponents = false;
  std::size_t left = 0;      // width before the point
  std::size_t right = 0;     // width after it
  std::size_t fraction = 0;  // digits of the fraction when exponents are shown
  int exponent_digits = 2;
};

FloatColumns float_columns(const Tensor& tensor, const std::vector<std::int64_t>& shown) {
  const DType dtype = tensor.dtype();
  std::vector<double> finite;
  bool has_negative_infinity = false;
  for (std::int64_t i : shown) {
    const double value = float_at(tensor, i);
    if (std::isfinite(value)) finite.push_back(value);
    else if (value < 0) has_negative_infinity = true;
  }
  FloatColumns out;
  out.exponents = wants_exponents(finite, dtype);
  for (double value : finite) {
    if (out.exponents) {
      const ScientificParts parts = scientific(shortest_scientific(value, dtype, kPlaces));
      out.left = std::max(out.left, parts.whole.size());
      out.fraction = std::max(out.fraction, parts.fraction.size());
      out.exponent_digits = std::max(out.exponent_digits, std::abs(parts.exponent) >= 100 ? 3 : 2);
    } else {
      const PositionalParts parts = positional(shortest_fixed(value, dtype, kPlaces));
      out.left = std::max(out.left, parts.whole.size());
      out.right = std::max(out.right, parts.fraction.size());
    }
  }
  if (out.exponents) out.right = out.fraction + 2 + static_cast<std::size_t>(out.exponent_digits);
  if (finite.size() != shown.size()) {
    const std::size_t needed = has_negative_infinity ? 4 : 3;  // "-inf", "nan"
    if (needed > out.right + 1) out.left = std::max(out.left, needed - out.right - 1);
  }
  return out;
}

std::string float_text(double value, DType dtype, const FloatColumns& columns) {
  if (!std::isfinite(value))
    return padded(columns.left + columns.right + 1, std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
  if (columns.exponents) {
    // The column is as wide as the longest of the shortest digits; where fewer would do, digits of the exact
    // value fill it.
    const Decimal fewest = shortest_scientific(value, dtype, kPlaces);
    const bool fills = fewest.digits.size() == columns.fraction + 1;
    ScientificParts parts = scientific(fills ? fewest : rounded_scientific(value, static_cast<int>(columns.fraction)));
    parts.fraction.resize(columns.fraction, '0');
    return padded(columns.left, parts.whole) + "." + parts.fraction +
           exponent_text(parts.exponent, columns.exponent_digits);
  }
  PositionalParts parts = positional(shortest_fixed(value, dtype, kPlaces));
  parts.fraction.resize(columns.right, ' ');
  return padded(columns.left, parts.whole) + "." + parts.fraction;
}

Formatter formatter(const Tensor& tensor, const std::vector<std::int64_t>& shown) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::string) return [&](std::int64_t i) { return bytes_repr(tensor.strings()[i]); };
  if (dtype == DType::bf16) return [&](std::int64_t i) { return bfloat_text(float_at(tensor, i)); };
  if (dtype == DType::boolean) {
    const char* yes = tensor.rank() == 0 ? "True" : " True";
    return [&tensor, yes](std::int64_t i) -> std::string { return boolean_at(tensor, i) ? yes : "False"; };
  }
  if (is_integer(dtype)) {
    std::size_t width = 0;
    for (std::int64_t i : shown) width = std::max(width, integer_text(tensor, i).size());
    return [&tensor, width](std::int64_t i) { return padded(width, integer_text(tensor, i)); };
  }
  return [&tensor, dtype, columns = float_columns(tensor, shown)](std::int64_t i) {
    return float_text(float_at(tensor, i), dtype, columns);
  };
}

/// Writes the nested brackets, as NumPy's _formatArray does.
class ArrayText {
 public:
  ArrayText(const Tensor& tensor, int line_width, std::string_view separator)
      : shape_(tensor.shape()),
        line_width_(line_width),
        separator_(separator),
        summarize_(tensor.size() > kSummarizeAbove) {
    collect(0, 0);
    format_ = formatter(tensor, shown_);
  }
  /// `indent` blanks precede every line but the first.
  std::string text(int indent) const { return nested(0, 0, std::string(indent, ' '), line_width_); }

 private:
  bool summarized(int axis) const { return summarize_ && shape_[axis] > 2 * kEdgeItems; }
  std::int64_t leading(int axis) const { return summarized(axis) ? kEdgeItems : shape_[axis]; }
  std::int64_t first_trailing(int axis) const { return summarized(axis) ? shape_[axis] - kEdgeItems : shape_[axis]; }

  void collect(int axis, std::int64_t base) {
    if (axis == shape_.rank()) return shown_.push_back(base);
    const std::int64_t row = base * shape_[axis];
    for (std::int64_t i = 0; i < leading(axis); ++i) collect(axis + 1, row + i);
    for (std::int64_t i = first_trailing(axis); i < shape_[axis]; ++i) collect(axis + 1, row + i);
  }

  std::string nested(int axis, std::int64_t base, const std::string& indent, int width) const {
    if (axis == shape_.rank()) return format_(base);
    const std::int64_t row = base * shape_[axis];
    const std::string out =
        axis == shape_.rank() - 1 ? one_row(axis, row, indent, width) : rows(axis, row, indent, width);
    return "[" + out.substr(indent.size()) + "]";
  }

  std::string one_row(int axis, std::int64_t row, const std::string& indent, int width) const {
    const std::size_t limit = static_cast<std::size_t>(width - 1);  // the bracket or comma that follows
    std::string out, line = indent;
    bool first = true;
    auto add = [&](const std::string& word) {
      if (!first) line += separator_;
      first = false;
      if (line.size() + word.size() > limit && line.size() > indent.size()) {
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out += line + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::int64_t i = 0; i < leading(axis); ++i) add(format_(row + i));
    if (summarized(axis)) add("...");
    for (std::int64_t i = first_trailing(axis); i < shape_[axis]; ++i) add(format_(row + i));
    return out + line;
  }

  std::string rows(int axis, std::int64_t row, const std::string& indent, int width) const {
    const std::string gap =
        (separator_[0] == ',' ? "," : "") + std::string(static_cast<std::size_t>(shape_.rank() - axis - 1), '\n');
    std::string out;
    auto add = [&](const std::string& part) { out += (out.empty() ? "" : gap) + indent + part; };
    for (std::int64_t i = 0; i < leading(axis); ++i) add(nested(axis + 1, row + i, indent + " ", width - 1));
    if (summarized(axis)) add("...");
    for (std::int64_t i = first_trailing(axis); i < shape_[axis]; ++i)
      add(nested(axis + 1, row + i, indent + " ", width - 1));
    return out;
  }

  const Shape& shape_;
  int line_width_;
  std::string_view separator_;
  bool summarize_;
  std::vector<std::int64_t> shown_;
  Formatter format_;
};

std::string array_text(const Tensor& tensor, int line_width, std::string_view separator, int prefix) {
  if (tensor.size() == 0) return "[]";
  return ArrayText(tensor, line_width, separator).text(prefix + 1);
}

std::string_view numpy_dtype_name(DType dtype) { return dtype == DType::string ? "object" : dtype_name(dtype); }

/// True when the array's text alone tells the dtype.
bool dtype_is_implied(DType dtype) { return dtype == DType::i64 || dtype == DType::f64 || dtype == DType::boolean; }

std::string scalar_str(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::string: return bytes_repr(tensor.strings()[0]);
    case DType::boolean: return boolean_at(tensor, 0) ? "True" : "False";
    case DType::bf16: return bfloat_text(float_at(tensor, 0));
    default: break;
  }
  if (is_integer(tensor.dtype())) return integer_text(tensor, 0);
  return numpy_scalar_text(float_at(tensor, 0), tensor.dtype());
}

std::string on_own_line(std::string text) { return text.find('\n') == text.npos ? text : "\n" + text; }

}  // namespace

std::string bytes_repr(const std::string& bytes) {
  const bool double_quotes = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos;
  const char quote = double_quotes ? '"' : '\'';
  std::string out = "b";
  out += quote;
  for (unsigned char c : bytes) {
    if (c == quote || c == '\\') out += {'\\', static_cast<char>(c)};
    else if (c == '\t') out += "\\t";
    else if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c < 0x20 || c >= 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else out += static_cast<char>(c);
  }
  out += quote;
  return out;
}

std::string tuple_text(const Shape& shape) {
  std::string out = "(";
  for (int i = 0; i < shape.rank(); ++i) out += (i ? ", " : "") + std::to_string(shape[i]);
  return out + (shape.rank() == 1 ? ",)" : ")");
}

std::string numpy_str(const Tensor& tensor) {
  return tensor.rank() == 0 ? scalar_str(tensor) : array_text(tensor, kLineWidth, " ", 0);
}

std::string numpy_repr(const Tensor& tensor) {
  const std::string prefix = "array(";
  std::string out = prefix + array_text(tensor, kLineWidth - 1, ", ", static_cast<int>(prefix.size()));
  std::string extras;
  if ((tensor.size() == 0 && tensor.shape() != Shape{0}) || tensor.size() > kSummarizeAbove)
    extras = "shape=" + tuple_text(tensor.shape());
  if (!dtype_is_implied(tensor.dtype()) || tensor.size() == 0)
    extras += (extras.empty() ? "dtype=" : ", dtype=") + std::string(numpy_dtype_name(tensor.dtype()));
  if (extras.empty()) return out + ")";
  out += ",";
  extras += ")";
  const std::size_t last_line = out.size() - (out.rfind('\n') + 1);  // npos + 1 is 0: the whole text
  const bool too_long = last_line + extras.size() + 1 > static_cast<std::size_t>(kLineWidth);
  return out + (too_long ? "\n" + std::string(prefix.size(), ' ') : " ") + extras;
}

std::string numpy_value_repr(const Tensor& tensor) {
  if (tensor.rank() > 0) return numpy_repr(tensor);
  return is_floating(tensor.dtype()) ? python_float_text(float_at(tensor, 0)) : scalar_str(tensor);
}

std::string Tensor::to_string() const {
  if (!defined()) return "tf.Tensor(undefined)";
  if (is_symbolic()) return "Tensor(shape=" + tuple_text(shape()) + ", dtype=" + std::string(dtype_name(dtype())) + ")";
  return "tf.Tensor(" + on_own_line(numpy_str(*this)) + ", shape=" + tuple_text(shape()) +
         ", dtype=" + std::string(dtype_name(dtype())) + ")";
}

std::string Tensor::repr() const {
  if (!defined()) return "<tf.Tensor: undefined>";
  if (is_symbolic())
    return "<tf.Tensor: shape=" + tuple_text(shape()) + ", dtype=" + std::string(dtype_name(dtype())) + ", symbolic>";
  return "<tf.Tensor: shape=" + tuple_text(shape()) + ", dtype=" + std::string(dtype_name(dtype())) +
         ", numpy=" + on_own_line(numpy_value_repr(*this)) + ">";
}

}  // namespace tandem
