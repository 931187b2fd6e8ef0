// Functions of keras.ops in a functional model: x + 1, keras.ops.mean(x, axis=1), x[:, 0]. Files keep them among the
// layers.
#include "tandem/nn/op_layers.h"

#include <algorithm>
#include <array>

#include "tandem/base/nearest.h"
#include "tandem/nn/keras_call.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

/// A tensor that was there when the model was drawn: {"class_name": "__tensor__", "config": {"value": nested lists,
/// "dtype": "float32"}}.
bool is_constant(const Json& arg) {
  if (!arg.is_object() || !arg.contains("config") || !arg["config"].is_object() || !arg["config"].contains("value"))
    return false;
  const Json name = arg.value("class_name", Json());
  return name == "__tensor__" || name == "__numpy__";
}

void read_values(const LayerConfig& config, const Json& nested, std::size_t axis, Ints& sizes,
                 std::vector<double>& values) {
  if (!nested.is_array()) {
    if (axis != sizes.size() || !(nested.is_number() || nested.is_boolean()))
      config.refuse("a constant needs numbers in lists of equal length, got ", shown(nested));
    values.push_back(nested.is_boolean() ? (nested.get<bool>() ? 1.0 : 0.0) : nested.get<double>());
    return;
  }
  constexpr std::size_t kMostAxes = 16;  // a file may nest lists as deeply as it likes
  const auto size = static_cast<std::int64_t>(nested.size());
  if (axis >= kMostAxes) config.refuse("a constant has more than ", kMostAxes, " axes");
  if (axis == sizes.size() && values.empty()) sizes.push_back(size);
  if (axis >= sizes.size() || sizes[axis] != size)
    config.refuse("a constant needs lists of equal length, got ", shown(nested));
  for (const Json& inner : nested) read_values(config, inner, axis + 1, sizes, values);
}

Tensor constant_of(const LayerConfig& config, const Json& arg) {
  const Json& given = arg["config"];
  const Json name = given.value("dtype", Json("float32"));
  const auto dtype = parse_dtype(name.is_string() ? name.get<std::string>() : "");
  if (!dtype) config.refuse("unknown dtype of a constant: ", shown(name));
  return tensor_of(config, given["value"], *dtype);
}

/// An argument of a call that is a tensor when the model runs, or was one when it was drawn.
struct GivenOperand {
  enum class Kind { tensor, constant, number } kind;
  Tensor constant = {};
  Json number = {};
};

bool is_tensor(const Json& arg) { return arg.is_object() && arg.value("class_name", Json()) == "__keras_tensor__"; }
bool holds_tensors(const Json& arg) {
  return is_tensor(arg) || is_constant(arg) ||
         (arg.is_array() && std::ranges::any_of(arg, [](const Json& one) { return holds_tensors(one); }));
}

class OpLayer final : public Layer {
 public:
  OpLayer(const LayerConfig& config, KerasBody body, Json args, const Json& named)
      : Layer(config, std::nullopt),
        body_(body),
        args_(std::move(args)) {
    for (const Json& arg : args_) {
      const std::size_t before = operands_.size();
      note(arg);
      places_.push_back(!arg.is_array() && operands_.size() > before ? before : kNone);
    }
    positional_ = operands_.size();
    for (const auto& [name, arg] : named.items()) {
      if (arg.is_array() && holds_tensors(arg))
        config.refuse("a list of tensors as '", name, "' is not supported in C++");
      if (!is_tensor(arg) && !is_constant(arg)) continue;
      names_.push_back(name);
      note(arg);
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool passes_mask() const override { return false; }
  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }
  Tensors call_all(const Tensors& tensors, bool) override {
    Tensors inputs;
    std::size_t next = 0;
    for (const GivenOperand& operand : operands_) {
      if (operand.kind == GivenOperand::Kind::tensor && next >= tensors.size())
        config().refuse("more tensors are needed than the ", tensors.size(), " given");
      if (operand.kind == GivenOperand::Kind::tensor) inputs.push_back(tensors[next++]);
      else if (operand.kind == GivenOperand::Kind::constant) inputs.push_back(operand.constant);
      else inputs.push_back(like(tensors, operand.number));
    }
    Tensors by_place;
    for (const std::size_t place : places_) by_place.push_back(place == kNone ? Tensor() : inputs[place]);
    std::map<std::string, Tensor, std::less<>> by_name;
    for (std::size_t i = 0; i < names_.size(); ++i) by_name.emplace(names_[i], inputs[positional_ + i]);
    inputs.resize(positional_);
    return body_({config(), inputs, args_, by_place, by_name});
  }
  /// Lists of nothing but numbers are no operands: shapes, axes, indices.
  void note(const Json& arg) {
    if (is_tensor(arg)) operands_.push_back({GivenOperand::Kind::tensor});
    else if (is_constant(arg)) operands_.push_back({GivenOperand::Kind::constant, constant_of(config(), arg)});
    else if (arg.is_number() || arg.is_boolean()) operands_.push_back({GivenOperand::Kind::number, {}, arg});
    else if (arg.is_array() && holds_tensors(arg))
      for (const Json& one : arg) note(one);
  }
  /// A number beside tensors has their dtype, as in Keras.
  static Tensor like(const Tensors& tensors, const Json& number) {
    if (number.is_boolean()) return cast(Tensor::scalar(number.get<bool>() ? 1.0 : 0.0, DType::f32), DType::boolean);
    const auto fits = [&](const Tensor& tensor) {
      return is_floating(tensor.dtype()) || (!number.is_number_float() && is_integer(tensor.dtype()));
    };
    const auto found = std::ranges::find_if(tensors, fits);
    const DType alone = number.is_number_float() ? DType::f32 : DType::i32;
    return Tensor::scalar(number.get<double>(), found == tensors.end() ? alone : found->dtype());
  }
  KerasBody body_;
  Json args_;
  std::vector<GivenOperand> operands_;
  std::vector<std::size_t> places_;  // of each argument among the operands
  std::size_t positional_ = 0;       // so many operands; the others have names
  std::vector<std::string> names_;
};

}  // namespace

Tensor tensor_of(const LayerConfig& config, const Json& nested, DType dtype) {
  Ints sizes;
  std::vector<double> values;
  read_values(config, nested, 0, sizes, values);
  return cast(Tensor::from(values, Shape(std::span<const std::int64_t>(sizes.data(), sizes.size()))), dtype);
}

const Tensor& KerasCall::input(std::size_t place) const {
  if (place >= inputs.size()) config.refuse(place + 1, " operands are needed, got ", inputs.size());
  return inputs[place];
}

Tensor KerasCall::operand(std::size_t place) const {
  if (const Tensor given = optional(place); given.defined()) return given;
  if (place >= args.size() || !args[place].is_array())
    config.refuse("argument ", place, " must be a tensor or a list of numbers");
  const auto flat = args[place].flatten();
  const bool whole = std::ranges::all_of(flat, [](const Json& one) { return one.is_number_integer(); });
  return tensor_of(config, args[place], whole ? DType::i32 : DType::f32);
}

int KerasCall::axis(std::int64_t fallback) const {
  return normalize_axis(config.class_name(), config.integer("axis", fallback), x().rank());
}

DType KerasCall::dtype_or(DType fallback) const {
  if (!config.has("dtype")) return fallback;
  const auto dtype = parse_dtype(config.activation("dtype", "float32"));
  if (!dtype) config.refuse("unknown dtype '", config.activation("dtype", ""), "'");
  return *dtype;
}

Tensor as_float(const Tensor& x) { return is_floating(x.dtype()) ? x : cast(x, DType::f32); }

std::pair<Tensor, Tensor> promoted(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return {a, b};
  constexpr std::array kFromSmall{DType::boolean, DType::u8,  DType::i8,  DType::u16, DType::i16,
                                  DType::u32,     DType::i32, DType::u64, DType::i64, DType::bf16,
                                  DType::f16,     DType::f32, DType::f64};
  const auto rank = [&](DType dtype) { return std::ranges::find(kFromSmall, dtype) - kFromSmall.begin(); };
  const DType wide = rank(a.dtype()) > rank(b.dtype()) ? a.dtype() : b.dtype();
  const bool halves = a.dtype() != b.dtype() && dtype_size(a.dtype()) == 2 && dtype_size(b.dtype()) == 2 &&
                      is_floating(a.dtype()) && is_floating(b.dtype());
  const DType common = halves ? DType::f32 : wide;
  return {cast(a, common), cast(b, common)};
}

Tensor with_last(const Tensor& x, int axis) {
  Ints order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) order.push_back(i);
  order.push_back(axis);
  return axis == x.rank() - 1 ? x : transpose(x, order);
}

Tensor along_last(const Tensor& x, int axis, const std::function<Tensor(const Tensor&)>& body) {
  const Tensor y = body(with_last(x, axis));
  Ints order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i < axis ? i : i == axis ? x.rank() - 1 : i - 1);
  return axis == x.rank() - 1 ? y : transpose(y, order);
}

LayerPtr make_op_layer(const LayerConfig& config, const Json& args, const Json& named) {
  std::vector<std::string_view> known;
  for (const auto list : {elementwise_op_layers(), reduction_op_layers(), array_op_layers(), network_op_layers()})
    for (const KerasFunction& record : list) {
      if (record.name == config.class_name()) return std::make_shared<OpLayer>(config, record.body, args, named);
      known.push_back(record.name);
    }
  fail(ErrorCode::bad_file, "the model calls keras.ops.", config.class_name(), ", which C++ does not know",
       nearest_hint(config.class_name(), known), "; known are ", join(known));
}

}  // namespace tandem
