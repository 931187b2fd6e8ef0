// Functions of keras.ops in a functional model: x + 1, keras.ops.mean(x, axis=1), x[:, 0]. Files keep them among the layers.
#include <algorithm>
#include <functional>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layer_records.h"
#include "tandem/nn/op_layers.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

/// One call: the tensors among its positional arguments, numbers made tensors; the other arguments are in the config.
struct OpCall {
  const LayerConfig& config;
  const Tensors& inputs;
  const Json& args;

  const Tensor& x() const { return inputs.at(0); }
  /// The argument `axis`; none stands for all axes.
  Ints axes() const { return config.has("axis") ? axes_of(config, "axis", x().rank()) : Ints{}; }
  bool keeps() const { return config.flag("keepdims", false); }
};
using OpBody = Tensor (*)(const OpCall&);

template <Tensor (*kOp)(const Tensor&)>
Tensor unary(const OpCall& call) {
  return kOp(call.x());
}

template <Tensor (*kOp)(const Tensor&, const Tensor&)>
Tensor binary(const OpCall& call) {
  if (call.inputs.size() != 2) call.config.refuse("two operands are needed, got ", call.inputs.size());
  return kOp(call.inputs[0], call.inputs[1]);
}

template <Tensor (*kOp)(const Tensor&, const Ints&, bool)>
Tensor reduced(const OpCall& call) {
  return kOp(call.x(), call.axes(), call.keeps());
}

template <Tensor (*kOp)(const Tensor&, std::int64_t, DType)>
Tensor place_of(const OpCall& call) {
  if (!call.config.has("axis")) return kOp(reshape(call.x(), Ints{-1}), 0, DType::i32);
  const std::int64_t axis = call.axes().at(0);
  const Tensor place = kOp(call.x(), axis, DType::i32);
  return call.keeps() ? expand_dims(place, axis) : place;
}

Tensor reshaped(const OpCall& call) {
  Ints shape = call.config.ints("newshape");
  std::ranges::replace(shape, std::int64_t{0}, std::int64_t{-1});
  return reshape(call.x(), shape);
}

Tensor stacked(const OpCall& call) {
  const int rank = call.x().rank() + 1;
  const int axis = normalize_axis("stack", call.config.integer("axis", 0), rank);
  Tensors parts;
  for (const Tensor& input : call.inputs) parts.push_back(expand_dims(input, axis));
  return concat(parts, axis);
}

Tensor product(const Tensor& a, const Tensor& b) { return matmul(a, b); }

Tensor clipped(const OpCall& call) {
  return minimum(maximum(call.x(), call.config.real("x_min")), call.config.real("x_max"));
}

/// The argument dtype; without one that of the operand.
DType dtype_of(const OpCall& call) {
  if (!call.config.has("dtype")) return call.x().dtype();
  const auto dtype = parse_dtype(call.config.activation("dtype", "float32"));
  if (!dtype) call.config.refuse("unknown dtype '", call.config.activation("dtype", ""), "'");
  return *dtype;
}

/// A part of one axis: begin, how many, step.
struct Part {
  std::int64_t begin, count, step;
};

Part part_of(const OpCall& call, const Json& slice, std::int64_t size) {
  const Json& bounds = slice["config"];
  const auto bound = [&](const char* key, std::int64_t missing) {
    if (!bounds.contains(key) || bounds[key].is_null()) return missing;
    if (!bounds[key].is_number_integer()) call.config.refuse("slices need whole numbers, got ", shown(slice));
    return bounds[key].get<std::int64_t>();
  };
  const std::int64_t step = bound("step", 1);
  if (step < 1) call.config.refuse("a step of ", step, " is not supported in C++");
  const auto inside = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
  const std::int64_t begin = inside(bound("start", 0)), end = std::max(begin, inside(bound("stop", size)));
  return {begin, (end - begin + step - 1) / step, step};
}

/// x[:, 0, ..., 1:3]: slices, numbers, an ellipsis and new axes, in the order of the axes.
Tensor item(const OpCall& call) {
  if (call.args.size() != 2) call.config.refuse("x[…] needs one index, got ", shown(call.args));
  const Json one = Json::array({call.args[1]});
  const Json& keys = call.args[1].is_array() ? call.args[1] : one;
  const auto is_ellipsis = [](const Json& key) { return key.is_object() && key.value("class_name", "") == "__ellipsis__"; };
  const Shape& shape = call.x().shape();
  const auto taken = std::ranges::count_if(keys, [&](const Json& key) { return !key.is_null() && !is_ellipsis(key); });
  Ints begin, count, step, result;  // `result` is the shape without the axes that numbers picked
  const auto take = [&](const Part& part, bool stays) {
    begin.push_back(part.begin), count.push_back(part.count), step.push_back(part.step);
    if (stays) result.push_back(part.count);
  };
  const auto rest = [&](std::int64_t axes) {
    for (std::int64_t i = 0; i < axes; ++i) take({0, shape[static_cast<int>(begin.size())], 1}, true);
  };
  for (const Json& key : keys) {
    if (key.is_null()) {
      result.push_back(1);
      continue;
    }
    if (is_ellipsis(key)) {
      rest(shape.rank() - taken);
      continue;
    }
    if (static_cast<int>(begin.size()) >= shape.rank()) call.config.refuse("too many indices for ", shape);
    const std::int64_t size = shape[static_cast<int>(begin.size())];
    if (key.is_number_integer()) {
      const std::int64_t at = key.get<std::int64_t>() < 0 ? key.get<std::int64_t>() + size : key.get<std::int64_t>();
      if (at < 0 || at >= size) call.config.refuse("index ", key.get<std::int64_t>(), " is outside an axis of size ", size);
      take({at, 1, 1}, false);
    } else if (key.is_object() && key.value("class_name", "") == "__slice__" && key.contains("config")) {
      take(part_of(call, key, size), true);
    } else {
      call.config.refuse("the index ", shown(key), " is not supported in C++");
    }
  }
  rest(shape.rank() - static_cast<std::int64_t>(begin.size()));
  return reshape(strided_slice(call.x(), begin, count, step), Shape(std::span<const std::int64_t>(result.data(), result.size())));
}

struct OpRecord {
  std::string_view name;
  OpBody body;
};
constexpr OpRecord kOps[] = {
    {"Abs", unary<abs>}, {"Absolute", unary<abs>}, {"Ceil", unary<ceil>}, {"Cos", unary<cos>}, {"Erf", unary<erf>}, {"Exp", unary<exp>},
    {"Expm1", unary<expm1>}, {"Floor", unary<floor>}, {"Identity", unary<identity>}, {"Log", unary<log>}, {"Log1p", unary<log1p>},
    {"LogicalNot", unary<logical_not>}, {"Negative", unary<negative>}, {"Reciprocal", unary<reciprocal>}, {"Round", unary<round>},
    {"Rsqrt", unary<rsqrt>}, {"Sign", unary<sign>}, {"Sin", unary<sin>}, {"Sqrt", unary<sqrt>}, {"Square", unary<square>}, {"Tan", unary<tan>},
    {"Tanh", unary<tanh>}, {"StopGradient", unary<stop_gradient>},
    {"Elu", unary<elu>}, {"HardSigmoid", unary<hard_sigmoid>}, {"HardSilu", unary<hard_silu>}, {"LogSigmoid", unary<log_sigmoid>},
    {"Relu", unary<relu>}, {"Relu6", unary<relu6>}, {"Selu", unary<selu>}, {"Sigmoid", unary<sigmoid>}, {"Silu", unary<silu>},
    {"Softplus", unary<softplus>}, {"Softsign", unary<softsign>},
    {"Add", binary<add>}, {"Divide", binary<divide>}, {"Equal", binary<equal>}, {"FloorDivide", binary<floordiv>}, {"Greater", binary<greater>},
    {"GreaterEqual", binary<greater_equal>}, {"Less", binary<less>}, {"LessEqual", binary<less_equal>}, {"LogicalAnd", binary<logical_and>},
    {"LogicalOr", binary<logical_or>}, {"Matmul", binary<product>}, {"Maximum", binary<maximum>}, {"Minimum", binary<minimum>},
    {"Mod", binary<floormod>}, {"Multiply", binary<multiply>}, {"NotEqual", binary<not_equal>}, {"Power", binary<pow>},
    {"Subtract", binary<subtract>}, {"TrueDivide", binary<divide>},
    {"All", reduced<reduce_all>}, {"Any", reduced<reduce_any>}, {"Logsumexp", reduced<reduce_logsumexp>}, {"Max", reduced<reduce_max>},
    {"Mean", reduced<reduce_mean>}, {"Min", reduced<reduce_min>}, {"Prod", reduced<reduce_prod>}, {"Std", reduced<reduce_std>},
    {"Sum", reduced<reduce_sum>}, {"Var", reduced<reduce_variance>},
    {"Argmax", place_of<argmax>}, {"Argmin", place_of<argmin>},
    {"Cast", [](const OpCall& c) { return cast(c.x(), dtype_of(c)); }}, {"Clip", clipped}, {"GetItem", item}, {"Reshape", reshaped}, {"Stack", stacked},
    {"BroadcastTo", [](const OpCall& c) { const Ints shape = c.config.ints("shape"); return broadcast_to(c.x(), Shape(std::span<const std::int64_t>(shape.data(), shape.size()))); }},
    {"Concatenate", [](const OpCall& c) { return concat(c.inputs, c.config.integer("axis", 0)); }},
    {"ExpandDims", [](const OpCall& c) { return expand_dims(c.x(), c.config.integer("axis")); }},
    {"Flip", [](const OpCall& c) { return reverse(c.x(), c.axes()); }},
    {"Gelu", [](const OpCall& c) { return gelu(c.x(), c.config.flag("approximate", true)); }},
    {"LeakyRelu", [](const OpCall& c) { return leaky_relu(c.x(), c.config.real("negative_slope", 0.2)); }},
    {"LogSoftmax", [](const OpCall& c) { return log_softmax(c.x(), c.config.integer("axis", -1)); }},
    {"OneHot", [](const OpCall& c) { return one_hot(c.x(), c.config.integer("num_classes")); }},
    {"Softmax", [](const OpCall& c) { return softmax(c.x(), c.config.integer("axis", -1)); }},
    {"Squeeze", [](const OpCall& c) { return squeeze(c.x(), c.axes()); }},
    {"Transpose", [](const OpCall& c) { return transpose(c.x(), c.config.ints("axes", 0, Ints{})); }},
    {"OnesLike", [](const OpCall& c) { return cast(ones_like(c.x()), dtype_of(c)); }},
    {"ZerosLike", [](const OpCall& c) { return cast(zeros_like(c.x()), dtype_of(c)); }},
    {"Where", [](const OpCall& c) { return where(c.inputs.at(0), c.inputs.at(1), c.inputs.at(2)); }},
};

/// A tensor that was there when the model was drawn: {"class_name": "__tensor__", "config": {"value": nested lists, "dtype": "float32"}}.
bool is_constant(const Json& arg) {
  if (!arg.is_object() || !arg.contains("config") || !arg["config"].is_object() || !arg["config"].contains("value")) return false;
  const Json name = arg.value("class_name", Json());
  return name == "__tensor__" || name == "__numpy__";
}

void read_values(const LayerConfig& config, const Json& nested, std::size_t axis, Ints& sizes, std::vector<double>& values) {
  if (!nested.is_array()) {
    if (axis != sizes.size() || !(nested.is_number() || nested.is_boolean())) config.refuse("a constant needs numbers in lists of equal length, got ", shown(nested));
    values.push_back(nested.is_boolean() ? (nested.get<bool>() ? 1.0 : 0.0) : nested.get<double>());
    return;
  }
  constexpr std::size_t kMostAxes = 16;  // a file may nest lists as deeply as it likes
  const auto size = static_cast<std::int64_t>(nested.size());
  if (axis >= kMostAxes) config.refuse("a constant has more than ", kMostAxes, " axes");
  if (axis == sizes.size() && values.empty()) sizes.push_back(size);
  if (axis >= sizes.size() || sizes[axis] != size) config.refuse("a constant needs lists of equal length, got ", shown(nested));
  for (const Json& inner : nested) read_values(config, inner, axis + 1, sizes, values);
}

Tensor constant_of(const LayerConfig& config, const Json& arg) {
  const Json& given = arg["config"];
  const Json name = given.value("dtype", Json("float32"));
  const auto dtype = parse_dtype(name.is_string() ? name.get<std::string>() : "");
  if (!dtype) config.refuse("unknown dtype of a constant: ", shown(name));
  Ints sizes;
  std::vector<double> values;
  read_values(config, given["value"], 0, sizes, values);
  return cast(Tensor::from(values, Shape(std::span<const std::int64_t>(sizes.data(), sizes.size()))), *dtype);
}

class OpLayer final : public Layer {
 public:
  OpLayer(const LayerConfig& config, OpBody body, Json args) : Layer(config, std::nullopt), body_(body), args_(std::move(args)) {
    for (const Json& arg : args_) constants_.push_back(is_constant(arg) ? constant_of(config, arg) : Tensor());
  }

 private:
  bool passes_mask() const override { return false; }
  Tensor call(const Tensor& x, bool training) override { return call_all({x}, training)[0]; }
  Tensors call_all(const Tensors& tensors, bool) override {
    Tensors inputs;
    std::size_t next = 0, place = 0;
    for (const Json& arg : args_) {
      if (const Tensor& constant = constants_[place++]; constant.defined()) inputs.push_back(constant);
      else if (arg.is_number()) inputs.push_back(like(tensors, arg));
      else if (holds_tensors(arg)) add(arg, tensors, next, inputs);
    }
    return {body_({config(), inputs, args_})};
  }
  /// A number beside tensors has their dtype, as in Keras.
  static Tensor like(const Tensors& tensors, const Json& number) {
    const DType dtype = number.is_number_float() && !is_floating(tensors[0].dtype()) ? DType::f32 : tensors[0].dtype();
    return Tensor::scalar(number.get<double>(), dtype);
  }
  static bool is_tensor(const Json& arg) { return arg.is_object() && arg.value("class_name", Json()) == "__keras_tensor__"; }
  static bool holds_tensors(const Json& arg) { return is_tensor(arg) || (arg.is_array() && std::ranges::any_of(arg, is_tensor)); }
  static void add(const Json& arg, const Tensors& tensors, std::size_t& next, Tensors& out) {
    const auto count = is_tensor(arg) ? 1 : std::ranges::count_if(arg, is_tensor);
    for (std::ptrdiff_t i = 0; i < count; ++i) out.push_back(tensors.at(next++));
  }
  OpBody body_;
  Json args_;
  Tensors constants_;  // one an argument; undefined where the argument is something else
};

}  // namespace

LayerPtr make_op_layer(const LayerConfig& config, const Json& args) {
  std::vector<std::string_view> known;
  for (const OpRecord& record : kOps) {
    if (record.name == config.class_name()) return std::make_shared<OpLayer>(config, record.body, args);
    known.push_back(record.name);
  }
  fail(ErrorCode::bad_file, "the model calls keras.ops.", config.class_name(), ", which C++ does not know; known are ", join(known));
}

}  // namespace tandem
