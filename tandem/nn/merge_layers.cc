// Layers of several inputs and one output.
#include <algorithm>

#include "tandem/nn/layer_records.h"

namespace tandem {
namespace {

class Merge final : public Layer {
 public:
  using Body = std::function<Tensor(const Tensors&)>;
  Merge(const LayerConfig& config, Body body) : Layer(config), body_(std::move(body)) {}

 private:
  Tensor call(const Tensor& x, bool) override { return body_({x}); }
  Tensors call_all(const Tensors& inputs, bool) override { return {body_(inputs)}; }
  Masked call_masked(const Tensors& inputs, const Tensors& masks, bool) override {
    if (config().class_name() == "Dot" || std::ranges::none_of(masks, &Tensor::defined)) return {{body_(inputs)}, {}};
    const bool joins_steps = config().class_name() == "Concatenate" &&
                             normalize_axis("Concatenate", config().integer("axis", -1), inputs[0].rank()) == 1;
    return {{body_(inputs)}, joins_steps ? joined(inputs, masks) : common(masks)};
  }
  /// What counts in one of the inputs counts, as in Keras.
  static Tensor common(const Tensors& masks) {
    Tensor any = masks[0];
    for (const Tensor& mask : masks) {
      if (!mask.defined()) return {};  // all of that one counts
      any = logical_or(any, mask);
    }
    return any;
  }
  /// Steps of one input after those of another.
  static Tensor joined(const Tensors& inputs, const Tensors& masks) {
    Tensors parts;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      parts.push_back(masks[i].defined() ? masks[i]
                                         : ones({inputs[i].shape()[0], inputs[i].shape()[1]}, DType::boolean));
    return concat(parts, 1);
  }
  Body body_;
};

Tensor folded(const Tensors& inputs, Tensor (*f)(const Tensor&, const Tensor&)) {
  Tensor value = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) value = f(value, inputs[i]);
  return value;
}

template <Tensor (*kOp)(const Tensor&, const Tensor&)>
LayerPtr make_fold(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<Merge>(config, [](const Tensors& inputs) { return folded(inputs, kOp); });
}

LayerPtr make_subtract(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<Merge>(config, [config](const Tensors& inputs) {
    if (inputs.size() != 2) config.refuse("two inputs are subtracted, got ", inputs.size());
    return inputs[0] - inputs[1];
  });
}

LayerPtr make_average(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<Merge>(
      config, [](const Tensors& inputs) { return folded(inputs, add) / static_cast<double>(inputs.size()); });
}

LayerPtr make_concatenate(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<Merge>(config, [axis = config.integer("axis", -1)](const Tensors& inputs) {
    return inputs.size() == 1 ? inputs[0] : concat(inputs, axis);
  });
}

/// The product along one axis of each input, sample by sample.
Tensor dot(const LayerConfig& config, const Tensors& inputs) {
  if (inputs.size() != 2) config.refuse("two inputs are multiplied, got ", inputs.size());
  Tensor left = inputs[0], right = inputs[1];
  const Tensor given = config.numbers("axes");
  const std::vector<float> axes = given.to_vector<float>();
  const auto axis_of = [&](std::size_t i, int rank) {
    return normalize_axis("Dot", static_cast<std::int64_t>(axes[axes.size() == 1 ? 0 : i]), rank);
  };
  const int a = axis_of(0, left.rank()), b = axis_of(1, right.rank());
  if (a < 1 || b < 1) config.refuse("the axes must lie behind the batch, got ", a, " and ", b);
  if (config.flag("normalize", false)) {
    constexpr double kEpsilon = 1e-12;
    left = left * rsqrt(maximum(reduce_sum(square(left), {a}, true), kEpsilon));
    right = right * rsqrt(maximum(reduce_sum(square(right), {b}, true), kEpsilon));
  }
  Ints to_end, to_front{0, b}, shape{left.shape()[0]};
  for (int i = 0; i < left.rank(); ++i)
    if (i != a) to_end.push_back(i);
  to_end.push_back(a);
  for (int i = 1; i < right.rank(); ++i)
    if (i != b) to_front.push_back(i);
  for (std::size_t i = 1; i + 1 < to_end.size(); ++i) shape.push_back(left.shape()[static_cast<int>(to_end[i])]);
  for (std::size_t i = 2; i < to_front.size(); ++i) shape.push_back(right.shape()[static_cast<int>(to_front[i])]);
  if (shape.size() == 1) shape.push_back(1);
  const std::int64_t batch = left.shape()[0], inner = left.shape()[a];
  if (right.shape()[b] != inner)
    config.refuse("axes of equal sizes are multiplied, got ", left.shape(), " and ", right.shape());
  const auto rows = std::max<std::int64_t>(batch * inner, 1);
  return reshape(matmul(reshape(transpose(left, to_end), Shape{batch, left.size() / rows, inner}),
                        reshape(transpose(right, to_front), Shape{batch, inner, right.size() / rows})),
                 shape);
}

LayerPtr make_dot(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<Merge>(config, [config](const Tensors& inputs) { return dot(config, inputs); });
}

constexpr LayerRecord kRecords[] = {{"Dot", make_dot},
                                    {"Add", make_fold<add>},
                                    {"Average", make_average},
                                    {"Concatenate", make_concatenate},
                                    {"Maximum", make_fold<maximum>},
                                    {"Minimum", make_fold<minimum>},
                                    {"Multiply", make_fold<multiply>},
                                    {"Subtract", make_subtract}};

}  // namespace

std::span<const LayerRecord> merge_layers() { return kRecords; }

}  // namespace tandem
