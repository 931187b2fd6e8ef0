// One call of a function of keras.ops in a model's file, and the lists of those that C++ knows.
#pragma once
#include <concepts>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"

namespace tandem {

/// One call: its operands in order, numbers and constants made tensors; the other arguments are in the config.
struct KerasCall {
  const LayerConfig& config;
  const Tensors& inputs;
  const Json& args;        // as the file has them
  const Tensors& by_place;  // one an argument: its operand, undefined where it is a list or no operand
  const std::map<std::string, Tensor, std::less<>>& by_name;

  const Tensor& x() const { return input(0); }
  const Tensor& input(std::size_t place) const;
  /// The operand at a place or by its name, undefined where none was given.
  Tensor optional(std::size_t place, std::string_view name = {}) const {
    if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
    return place < by_place.size() ? by_place[place] : Tensor();
  }
  /// The operand at a place, which may also be a list of numbers.
  Tensor operand(std::size_t place) const;
  /// The argument `axis`; none stands for all axes.
  Ints axes() const { return config.has("axis") ? axes_of(config, "axis", x().rank()) : Ints{}; }
  /// The argument `axis` where it is one number, counted from the front.
  int axis(std::int64_t fallback = -1) const;
  bool keeps() const { return config.flag("keepdims", false); }
  /// The argument `dtype`; without one `fallback`.
  DType dtype_or(DType fallback) const;
};

/// What a function computes: one tensor, or several.
class KerasBody {
 public:
  template <class F>
  constexpr KerasBody(F body) {  // NOLINT(google-explicit-constructor): records list lambdas
    if constexpr (std::same_as<std::invoke_result_t<F, const KerasCall&>, Tensor>) one_ = body;
    else several_ = body;
  }
  Tensors operator()(const KerasCall& call) const { return one_ ? Tensors{one_(call)} : several_(call); }

 private:
  Tensor (*one_)(const KerasCall&) = nullptr;
  Tensors (*several_)(const KerasCall&) = nullptr;
};

struct KerasFunction {
  std::string_view name;
  KerasBody body;
};
std::span<const KerasFunction> elementwise_op_layers();
std::span<const KerasFunction> reduction_op_layers();
std::span<const KerasFunction> array_op_layers();
std::span<const KerasFunction> network_op_layers();

/// A tensor from nested lists of numbers.
Tensor tensor_of(const LayerConfig& config, const Json& nested, DType dtype);
/// Both in the dtype that Keras would compute in.
std::pair<Tensor, Tensor> promoted(const Tensor& a, const Tensor& b);
/// As it is where it is floating, else as float32.
Tensor as_float(const Tensor& x);
/// `body` of x whose `axis` was made the last one, the axes in their old order again.
Tensor along_last(const Tensor& x, int axis, const std::function<Tensor(const Tensor&)>& body);
/// The axes with `axis` as the last one.
Tensor with_last(const Tensor& x, int axis);
/// Einstein's sum: "ab,bc->ac"; "..." stands for axes that broadcast, without "->" the result has all letters that
/// stand once.
Tensor einsum_of(const LayerConfig& config, std::string equation, const Tensors& operands);
/// Sums over these axes of x and of y; what is left of x, then of y.
Tensor tensordot_of(const Tensor& x, const Ints& axes_of_x, const Tensor& y, const Ints& axes_of_y);

}  // namespace tandem
