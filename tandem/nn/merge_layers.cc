// Layers of several inputs and one output.
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
  return std::make_shared<Merge>(config, [](const Tensors& inputs) { return folded(inputs, add) / static_cast<double>(inputs.size()); });
}

LayerPtr make_concatenate(const LayerConfig& config, const LayerMakers&) {
  return std::make_shared<Merge>(config, [axis = config.integer("axis", -1)](const Tensors& inputs) { return inputs.size() == 1 ? inputs[0] : concat(inputs, axis); });
}

constexpr LayerRecord kRecords[] = {{"Add", make_fold<add>},           {"Average", make_average},          {"Concatenate", make_concatenate}, {"Maximum", make_fold<maximum>},
                                    {"Minimum", make_fold<minimum>},   {"Multiply", make_fold<multiply>}, {"Subtract", make_subtract}};

}  // namespace

std::span<const LayerRecord> merge_layers() { return kRecords; }

}  // namespace tandem
