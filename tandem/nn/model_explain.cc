#include "tandem/nn/model.h"

namespace tandem {

Tensors sample_arguments(const std::vector<InputSpec>& inputs, std::int64_t batch) {
  constexpr std::int64_t kOpenSize = 32;
  Tensors arguments;
  for (const InputSpec& input : inputs) {
    std::vector<std::int64_t> shape = input.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == InputSpec::kAny) shape[axis] = axis == 0 ? batch : kOpenSize;
    arguments.push_back(Tensor::symbolic({input.dtype, Shape(std::span<const std::int64_t>(shape))}));
  }
  return arguments;
}

std::vector<InputSpec> Model::inputs() const {
  const bool known = !inputs_.empty() && !inputs_[0].shape.empty();
  if (known) return inputs_;
  std::vector<InputSpec> drawn;
  for (const std::size_t node : graph_.inputs())
    if (const auto& results = graph_.nodes()[node].results; !results.empty())
      drawn.push_back({results[0].dtype, results[0].shape});
  if (!drawn.empty() && drawn.size() == graph_.input_count()) return drawn;
  if (layers().empty() || graph_.input_count() != 1 || !layers()[0]->built())
    fail(ErrorCode::invalid_argument, "model '", name_, "' does not know the shape of its input; call it once");
  InputSpec input{.dtype = DType::f32, .shape = {layers()[0]->built_for().begin(), layers()[0]->built_for().end()}};
  if (!input.shape.empty()) input.shape[0] = InputSpec::kAny;
  return {input};
}

Explanation explain(const Model& model, std::int64_t batch, const ExplainOptions& options) {
  return explain(model.predict_function(), sample_arguments(model.inputs(), batch), options);
}

}  // namespace tandem
