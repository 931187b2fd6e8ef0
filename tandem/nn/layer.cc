#include "tandem/nn/layer.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "tandem/base/nearest.h"
#include "tandem/nn/channels.h"
#include "tandem/nn/layer_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {

namespace {

thread_local AddedLosses* collecting = nullptr;

/// No input is a float of another dtype than the layer computes in.
bool fits(const std::optional<DTypePolicy>& policy, const Tensors& inputs) {
  return !policy || std::ranges::none_of(inputs, [&](const Tensor& input) {
    return is_floating(input.dtype()) && input.dtype() != policy->compute;
  });
}

/// Ids and categories may come as floats; 16 bits would round them.
bool takes_floats(const LayerConfig& config) {
  constexpr std::array<std::string_view, 5> kOfIds{"Embedding", "CategoryEncoding", "Discretization", "Hashing",
                                                   "IntegerLookup"};
  return std::ranges::find(kOfIds, config.class_name()) == kOfIds.end();
}

}  // namespace

AddedLosses::AddedLosses() : outer_(collecting) { collecting = this; }
AddedLosses::~AddedLosses() { collecting = outer_; }
AddedLosses* AddedLosses::current() { return collecting; }
void AddedLosses::add(const Tensor& loss) {
  if (collecting) collecting->values_.push_back(at_least_float32(loss));
}

Layer::Layer(LayerConfig config, std::optional<DTypePolicy> policy)
    : config_(std::move(config)),
      name_(config_.name()),
      policy_(std::move(policy)),
      channels_last_(!has_channels_first(config_)),
      trainable_(config_.flag("trainable", true)) {}

Tensor LayerPtr::operator()(const Tensor& x, bool training) const { return (**this)(x, training); }

template <class F>
Masked Layer::adapted(const Tensors& inputs, F body) {
  std::optional<ComputeScope> scope;
  Tensors ready = inputs;
  if (policy_) {
    scope.emplace(policy_->compute);
    if (takes_floats(config_))
      for (Tensor& input : ready) input = in_float(input, policy_->compute);
  }
  if (!channels_last_)
    for (Tensor& input : ready) input = with_channels_last(config_, input);
  Masked made = body(ready);
  for (Tensor& value : made.values) {
    if (policy_) value = in_float(value, policy_->compute);
    if (!channels_last_) value = with_channels_first(config_, value);
  }
  return made;
}

Tensor Layer::operator()(const Tensor& x, bool training) {
  build(x.shape());
  Tensor y = is_direct() && fits(policy_, {x})
                 ? call(x, training)
                 : adapted({x}, [&](const Tensors& ready) { return Masked{{call(ready[0], training)}, {}}; }).values[0];
  note_activity({y});
  return y;
}

Tensor Layer::as_logits(const Tensor& x, bool training) {
  build(x.shape());
  return is_direct() && fits(policy_, {x})
             ? logits(x, training)
             : adapted({x}, [&](const Tensors& ready) { return Masked{{logits(ready[0], training)}, {}}; }).values[0];
}

Tensors Layer::operator()(const Tensors& inputs, bool training) {
  if (inputs.empty()) fail(ErrorCode::wrong_arity, "layer '", name_, "' was called without an input");
  build(inputs[0].shape());
  Tensors outputs =
      is_direct() && fits(policy_, inputs)
          ? call_all(inputs, training)
          : adapted(inputs, [&](const Tensors& ready) { return Masked{call_all(ready, training), {}}; }).values;
  note_activity(outputs);
  return outputs;
}

Masked Layer::operator()(const Tensors& inputs, const Tensors& masks, bool training) {
  if (inputs.empty()) fail(ErrorCode::wrong_arity, "layer '", name_, "' was called without an input");
  build(inputs[0].shape());
  Masked made = is_direct() && fits(policy_, inputs)
                    ? call_masked(inputs, masks, training)
                    : adapted(inputs, [&](const Tensors& ready) { return call_masked(ready, masks, training); });
  note_activity(made.values);
  return made;
}

void Layer::note_activity(const Tensors& outputs) const {
  if (!activity_) return;
  for (const Tensor& output : outputs) add_activity_loss(activity_, output);
}

void Layer::add_activity_loss(const Regularizer& regularizer, const Tensor& output) const {
  const auto samples = static_cast<double>(output.rank() ? std::max<std::int64_t>(output.shape()[0], 1) : 1);
  add_loss(regularizer(output) / samples);
}

Masked Layer::call_masked(const Tensors& inputs, const Tensors& masks, bool training) {
  return {call_all(inputs, training), passes_mask() ? masks.at(0) : Tensor()};
}

bool Layer::passes_mask() const {
  constexpr std::array<std::string_view, 20> kPassing{"Activation",
                                                      "ActivityRegularization",
                                                      "AlphaDropout",
                                                      "BatchNormalization",
                                                      "Dense",
                                                      "Dropout",
                                                      "ELU",
                                                      "EinsumDense",
                                                      "GaussianDropout",
                                                      "GaussianNoise",
                                                      "GroupNormalization",
                                                      "Identity",
                                                      "LayerNormalization",
                                                      "LeakyReLU",
                                                      "PReLU",
                                                      "RMSNormalization",
                                                      "ReLU",
                                                      "Softmax",
                                                      "SpatialDropout1D",
                                                      "UnitNormalization"};
  return std::ranges::find(kPassing, config_.class_name()) != kPassing.end();
}

Tensors Layer::call_all(const Tensors& inputs, bool training) {
  if (inputs.size() != 1) fail(ErrorCode::wrong_arity, "layer '", name_, "' takes one input, got ", inputs.size());
  return {call(inputs[0], training)};
}

void Layer::build(const Shape& input) {
  if (built_) return;
  InitScope now;  // variables outlive the trace in which the layer may be met first
  variables_.clear();  // of an attempt that failed
  penalties_.clear();
  constraints_.clear();
  if (const auto activity = config_.value_json("activity_regularizer")) activity_ = read_regularizer(*activity);
  make_variables(channels_last_ ? input : with_channels_last(config_, input));
  if (has_given_ && given_.size() > variables_.size())
    fail(ErrorCode::shape_mismatch, "layer '", name_, "' has ", variables_.size(), " variables, but ", given_.size(),
         " were given");
  built_ = true;
  built_for_ = input;
  given_.clear();
  has_given_ = false;
}

namespace {

/// The word that Keras' arguments begin with for this variable: "recurrent" for "recurrent_kernel", "kernel" for
/// "kernel".
std::string argument_stem(const std::string& variable) {
  const std::size_t kernel = variable.find("_kernel");
  return kernel == std::string::npos ? variable : variable.substr(0, kernel);
}

/// A value as the variable wants it; files may keep it in another float type.
Tensor fitting(const Tensor& value, DType dtype) { return value.dtype() == dtype ? value : cast(value, dtype); }

}  // namespace

Variable Layer::add_weight(std::string name, const Shape& shape, const Initializer& initial, bool trainable) {
  const std::size_t index = variables_.size();
  if (has_given_ && index >= given_.size())  // before a value of any size is made
    fail(ErrorCode::shape_mismatch, "layer '", name_, "' has more variables than the ", given_.size(),
         " that were given");
  Tensor value;
  if (has_given_) {
    value = given_[index];
    if (value.shape() != shape)
      fail(ErrorCode::shape_mismatch, "layer '", name_, "': variable '", name, "' has shape ", shape,
           ", but a value of shape ", value.shape(), " was given");
  } else {
    const auto given = config_.value_json(argument_stem(name) + "_initializer");
    value = given ? read_initializer(*given)(shape) : initial(shape);
  }
  variables_.emplace_back(in_float(value, policy().variable), trainable, name_ + "/" + name);
  if (const auto regularizer = config_.value_json(argument_stem(name) + "_regularizer"))
    penalties_.emplace_back(variables_.back(), read_regularizer(*regularizer));
  if (const auto constraint = config_.value_json(argument_stem(name) + "_constraint"))
    constraints_.emplace_back(variables_.back(), read_constraint(*constraint));
  return variables_.back();
}

void Layer::set_weights(Tensors values) {
  if (!built_) {
    given_ = std::move(values);
    has_given_ = true;
    return;
  }
  if (values.size() != variables_.size())
    fail(ErrorCode::shape_mismatch, "layer '", name_, "' has ", variables_.size(), " variables, but ", values.size(),
         " were given");
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].shape() != variables_[i].shape())
      fail(ErrorCode::shape_mismatch, "variable '", variables_[i].name(), "' has shape ", variables_[i].shape(),
           ", but a value of shape ", values[i].shape(), " was given");
  for (std::size_t i = 0; i < values.size(); ++i) variables_[i].assign(fitting(values[i], variables_[i].dtype()));
}

std::vector<Variable> Layer::variables() const {
  std::vector<Variable> all = variables_;
  for (const auto& [path, child] : children())
    for (const Variable& variable : child->variables()) all.push_back(variable);
  return all;
}

std::vector<Variable> Layer::trainable_variables() const {
  std::vector<Variable> trainable;
  if (!trainable_) return trainable;
  std::ranges::copy_if(variables_, std::back_inserter(trainable), &Variable::trainable);
  for (const auto& [path, child] : children())
    std::ranges::copy(child->trainable_variables(), std::back_inserter(trainable));
  return trainable;
}

void Layer::set_trainable(bool trainable) {
  trainable_ = trainable;
  config_.set("trainable", trainable);
  for (const auto& [path, child] : children()) child->set_trainable(trainable);
}

Tensors Layer::losses() const {
  Tensors all;
  if (!trainable_) return all;
  for (const auto& [variable, regularizer] : penalties_)
    if (variable.trainable()) all.push_back(regularizer(variable));
  for (const auto& [path, child] : children())
    for (const Tensor& loss : child->losses()) all.push_back(loss);
  return all;
}

void Layer::reset_state() {
  for (const auto& [path, child] : children()) child->reset_state();
}

void Layer::constrain() const {
  if (!trainable_) return;
  for (const auto& [variable, constraint] : constraints_)
    if (variable.trainable()) variable.assign(constraint(variable));
  for (const auto& [path, child] : children()) child->constrain();
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables()) count += variable.shape().elements();
  return count;
}

namespace {

/// One half of the last axis, as far as the other lets it through.
Tensor glu(const Tensor& x) {
  const std::int64_t size = x.shape()[-1];
  if (size % 2) fail(ErrorCode::shape_mismatch, "glu: the last axis must have an even size, got ", x.shape());
  return part_of(x, -1, 0, size / 2) * sigmoid(part_of(x, -1, size / 2, size / 2));
}

/// The nearest distribution to x along the last axis: like softmax, with zeros.
Tensor sparsemax(const Tensor& x) {
  const Tensor falling = sort(x, true), sums = cumsum(falling, -1);
  const Tensor inside =
      cast(greater(range(1, static_cast<double>(x.shape()[-1] + 1), 1, x.dtype()) * falling + 1.0, sums), x.dtype());
  const Tensor excess = reduce_sum(falling * inside, {-1}, true) - 1.0;
  return relu(x - excess / reduce_sum(inside, {-1}, true));
}

struct NamedActivation {
  std::string_view name;
  Activation function;
};
constexpr std::array kActivations{
    NamedActivation{"linear", [](const Tensor& x) { return x; }},
    NamedActivation{"relu", [](const Tensor& x) { return relu(x); }},
    NamedActivation{"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    NamedActivation{"softmax", [](const Tensor& x) { return softmax(x); }},
    NamedActivation{"tanh", [](const Tensor& x) { return tanh(x); }},
    NamedActivation{"gelu", [](const Tensor& x) { return gelu(x); }},
    NamedActivation{"elu", [](const Tensor& x) { return elu(x); }},
    NamedActivation{"selu", [](const Tensor& x) { return selu(x); }},
    NamedActivation{"silu", [](const Tensor& x) { return silu(x); }},
    NamedActivation{"swish", [](const Tensor& x) { return silu(x); }},
    NamedActivation{"mish", [](const Tensor& x) { return mish(x); }},
    NamedActivation{"relu6", [](const Tensor& x) { return relu6(x); }},
    NamedActivation{"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }},
    NamedActivation{"softplus", [](const Tensor& x) { return softplus(x); }},
    NamedActivation{"softsign", [](const Tensor& x) { return softsign(x); }},
    NamedActivation{"exponential", [](const Tensor& x) { return exp(x); }},
    NamedActivation{"hard_sigmoid", [](const Tensor& x) { return hard_sigmoid(x); }},
    NamedActivation{"hard_silu", [](const Tensor& x) { return hard_silu(x); }},
    NamedActivation{"hard_swish", [](const Tensor& x) { return hard_silu(x); }},
    NamedActivation{"log_sigmoid", [](const Tensor& x) { return log_sigmoid(x); }},
    NamedActivation{"log_softmax", [](const Tensor& x) { return log_softmax(x); }},
    NamedActivation{"celu", [](const Tensor& x) { return elu(x); }},
    NamedActivation{"glu", glu},
    NamedActivation{"hard_shrink", [](const Tensor& x) { return where(greater(abs(x), 0.5), x, zeros_like(x)); }},
    NamedActivation{"hard_tanh", [](const Tensor& x) { return maximum(minimum(x, 1.0), -1.0); }},
    NamedActivation{"soft_shrink", [](const Tensor& x) { return sign(x) * relu(abs(x) - 0.5); }},
    NamedActivation{"sparse_plus",
                    [](const Tensor& x) { return where(less(x, 1.0), square(relu(x + 1.0)) * 0.25, x); }},
    NamedActivation{"sparse_sigmoid", [](const Tensor& x) { return maximum(minimum((x + 1.0) * 0.5, 1.0), 0.0); }},
    NamedActivation{"sparsemax", sparsemax},
    NamedActivation{"squareplus", [](const Tensor& x) { return (x + sqrt(square(x) + 4.0)) / 2.0; }},
    NamedActivation{"tanh_shrink", [](const Tensor& x) { return x - tanh(x); }},
};

}  // namespace

Activation find_activation(std::string_view name) {
  std::vector<std::string_view> known;
  for (const NamedActivation& activation : kActivations) {
    if (activation.name == (name.empty() ? "linear" : name)) return activation.function;
    known.push_back(activation.name);
  }
  fail(ErrorCode::invalid_argument, "unknown activation '", name, "'", nearest_hint(name, known),
       "; the known ones are ", join(known));
}

}  // namespace tandem
