// EinsumDense: a product with a kernel along the axes that an equation names.
#include <algorithm>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"

namespace tandem {
namespace {

/// "abc,cd->abd"; axes that … stands for get letters of their own.
struct Equation {
  std::string input, kernel, output;
};

Equation parse(const LayerConfig& config, int rank) {
  std::string text = config.text("equation", "");
  std::erase(text, ' ');
  const std::size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma)
    config.refuse("equation must be like 'ab,bc->ac', got '", text, "'");
  Equation e{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  const bool open = e.input.find("...") != std::string::npos;
  const auto hidden = static_cast<std::size_t>(std::max(0, rank - static_cast<int>(e.input.size()) + (open ? 3 : 0)));
  if (open)
    for (std::string* side : {&e.input, &e.output})
      if (const std::size_t at = side->find("..."); at != std::string::npos)
        side->replace(at, 3, std::string("ABCDEFGH").substr(0, hidden));
  if (static_cast<int>(e.input.size()) != rank)
    config.refuse("equation '", text, "' is for inputs of ", e.input.size(), " axes, got ", rank);
  for (const char label : e.output)
    if ((e.input.find(label) == std::string::npos) == (e.kernel.find(label) == std::string::npos))
      config.refuse("in C++ every axis of the result comes from the input or from the kernel, got '", text, "'");
  return e;
}

class EinsumDense final : public Activated {
 public:
  using Activated::Activated;

 private:
  static bool has(const std::string& side, char label) { return side.find(label) != std::string::npos; }

  /// The argument output_shape; 0 for sizes that the input has.
  Ints given_sizes() const {
    const Json& json = config().json().value;
    const Json one = Json::array({json.value("output_shape", Json())});
    Ints sizes;
    for (const Json& size :
         json.contains("output_shape") && json["output_shape"].is_array() ? json["output_shape"] : one)
      sizes.push_back(size.is_number_integer() ? size.get<std::int64_t>() : 0);
    return sizes;
  }

  /// The kernel's sizes: of shared axes the input's, of the others the argument output_shape's.
  void make_variables(const Shape& input) override {
    const Equation e = parse(config(), input.rank());
    const Ints given = given_sizes();
    std::vector<std::int64_t> sizes, bias;
    const auto size_of = [&](char label) -> std::int64_t {
      if (has(e.input, label)) return input[static_cast<int>(e.input.find(label))];
      const std::size_t from_end = e.output.size() - e.output.find(label);
      if (from_end > given.size() || given[given.size() - from_end] < 1)
        config().refuse("output_shape has no size for axis '", label, "'");
      return given[given.size() - from_end];
    };
    for (const char label : e.kernel) sizes.push_back(size_of(label));
    kernel_ = add_weight("kernel", Shape(std::span<const std::int64_t>(sizes)), glorot_of);
    const std::string axes = config().text("bias_axes", "");
    if (axes.empty()) return;
    bool started = false;
    for (const char label : e.output) {
      started |= has(axes, label);
      if (started) bias.push_back(has(axes, label) ? size_of(label) : 1);
    }
    bias_ = add_weight("bias", Shape(std::span<const std::int64_t>(bias)), zeros_of);
  }

  /// Both sides as matrices: what only one has, and what is summed over.
  Tensor linear(const Tensor& x) override {
    const Equation e = parse(config(), x.rank());
    Ints rows, summed_of_x, summed_of_kernel, columns, sizes;
    std::string made;
    for (std::size_t i = 0; i < e.input.size(); ++i)
      if (has(e.output, e.input[i]))
        rows.push_back(static_cast<std::int64_t>(i)), made += e.input[i],
            sizes.push_back(x.shape()[static_cast<int>(i)]);
    for (std::size_t i = 0; i < e.kernel.size(); ++i) {
      if (has(e.output, e.kernel[i])) {
        columns.push_back(static_cast<std::int64_t>(i)), made += e.kernel[i],
            sizes.push_back(kernel_->shape()[static_cast<int>(i)]);
      } else {
        summed_of_kernel.push_back(static_cast<std::int64_t>(i));
        summed_of_x.push_back(static_cast<std::int64_t>(e.input.find(e.kernel[i])));
      }
    }
    std::int64_t inner = 1;
    for (const std::int64_t axis : summed_of_kernel) inner *= kernel_->shape()[static_cast<int>(axis)];
    rows.insert(rows.end(), summed_of_x.begin(), summed_of_x.end());
    summed_of_kernel.insert(summed_of_kernel.end(), columns.begin(), columns.end());
    const Tensor product = matmul(reshape(transpose(x, rows), Ints{-1, inner}),
                                  reshape(transpose(*kernel_, summed_of_kernel), Ints{inner, -1}));
    Ints order;
    for (const char label : e.output) order.push_back(static_cast<std::int64_t>(made.find(label)));
    const Tensor y =
        transpose(reshape(product, Shape(std::span<const std::int64_t>(sizes.data(), sizes.size()))), order);
    return bias_ ? y + *bias_ : y;
  }

  std::optional<Variable> kernel_, bias_;
};

constexpr LayerRecord kRecords[] = {{"EinsumDense", make_as<EinsumDense>}};

}  // namespace

std::span<const LayerRecord> einsum_layers() { return kRecords; }

}  // namespace tandem
