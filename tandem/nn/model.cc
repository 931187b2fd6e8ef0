#include "tandem/nn/model.h"

#include <cstdio>

#include "tandem/autodiff/tape.h"
#include "tandem/dist/mirrored.h"
#include "tandem/nn/array_loop.h"
#include "tandem/op/shared_draws.h"

namespace tandem {
namespace {

enum class Loss { mse, sparse, categorical };

Loss find_loss(std::string_view name) {
  if (name == "mse" || name == "mean_squared_error") return Loss::mse;
  if (name == "sparse_categorical_crossentropy") return Loss::sparse;
  if (name == "categorical_crossentropy") return Loss::categorical;
  fail(ErrorCode::invalid_argument, "unknown loss '", name,
       "'; the known ones are mse, sparse_categorical_crossentropy and categorical_crossentropy");
}

/// One value a sample.
Tensor losses(Loss loss, const Tensor& y, const Tensor& output) {
  switch (loss) {
    case Loss::mse: {
      Ints axes;
      for (int i = 1; i < output.rank(); ++i) axes.push_back(i);
      const Tensor error = square(output - cast(y.shape() == output.shape() ? y : reshape(y, output.shape()), output.dtype()));
      return axes.empty() ? error : reduce_mean(error, axes);
    }
    case Loss::sparse:
      return sparse_softmax_cross_entropy_with_logits(y.rank() == output.rank() ? squeeze(y, {-1}) : y, output);
    case Loss::categorical: return softmax_cross_entropy_with_logits(y, output);
  }
  return {};
}

/// How many samples of the batch are right.
Tensor correct(Loss loss, const Tensor& y, const Tensor& output) {
  const Tensor guess = argmax(output, -1, DType::i32);
  Tensor truth;
  if (loss == Loss::categorical) truth = argmax(y, -1, DType::i32);
  else truth = cast(y.rank() == output.rank() ? squeeze(y, {-1}) : y, DType::i32);
  return reduce_sum(cast(equal(guess, truth), DType::f32));
}

Tensor rows_of(const Tensor& array, const Shard& shard) {
  const DeviceScope on_host("/CPU:0");
  Ints begin(static_cast<std::size_t>(array.rank()), 0), size(array.shape().begin(), array.shape().end());
  begin[0] = shard.begin;
  size[0] = shard.rows;
  return slice(array, begin, size);
}

/// One pass over the arrays.
void run_all(ArrayLoop& loop, const Function& step) {
  constexpr double kNoLimit = 1e9;  // seconds
  const auto full = step.concrete(loop.batch(0));
  const auto rest = loop.remainder() ? step.concrete(loop.batch(loop.steps() - 1)) : nullptr;
  loop.run(*full, rest.get(), 0, loop.steps(), kNoLimit);
}

}  // namespace

struct Model::Compiled {
  CompileOptions options;
  Loss loss;
  bool accuracy = false;
  std::shared_ptr<Optimizer> optimizer;
  // What the metrics have seen since the epoch began: kept by the plan, read when shown.
  Variable loss_sum{Tensor(0.0f), false, "loss_sum"}, right{Tensor(0.0f), false, "right"}, seen{Tensor(0.0f), false, "seen"};
  std::optional<Function> train, test;
  std::optional<MirroredStrategy> strategy;

  void reset() const {
    for (const Variable* variable : {&loss_sum, &right, &seen}) variable->assign(Tensor(0.0f));
  }
  std::map<std::string, double> read() const {
    const double count = seen.value().item<double>();
    std::map<std::string, double> values{{"loss", loss_sum.value().item<double>() / count}};
    if (accuracy) values["accuracy"] = right.value().item<double>() / count;
    return values;
  }
  /// The loss of a batch; its sum and the metrics go to the variables.
  Tensor observe(const Tensor& y, const Tensor& output) const {
    const Tensor each = losses(loss, y, output);
    loss_sum.assign_add(cast(reduce_sum(each), DType::f32));
    seen.assign_add(Tensor(static_cast<float>(output.shape()[0])));
    if (accuracy) right.assign_add(correct(loss, y, output));
    return reduce_mean(each);
  }

  /// One step; returns the loss.
  Tensor learn(const Model& model, const Tensors& batch, const auto& forward) const {
    GradientTape tape;
    const Tensor value = observe(batch[1], forward(batch[0]));
    const std::vector<Variable> variables = model.trainable_variables();
    optimizer->apply_gradients(variables, tape.gradient(value, Tensors(variables.begin(), variables.end())));
    return value;
  }

  /// The same by several devices: each has its rows, and the gradients are added up.
  Tensor learn_mirrored(const Model& model, const Tensors& batch, const auto& forward) const {
    const std::int64_t rows = batch[0].shape()[0];
    std::map<std::int64_t, Tensor> outputs;  // by first row
    std::vector<Variable> variables;
    Tensors sums;
    SharedDraws draws;
    for (const Shard& shard : strategy->shards(rows)) {
      const Tensor x = rows_of(batch[0], shard), y = rows_of(batch[1], shard);
      const DeviceScope on(shard.device);
      draws.begin_replica(shard.begin, shard.rows, rows);
      GradientTape tape;
      const Tensor output = outputs[shard.begin] = forward(x);
      const Tensor part = reduce_sum(losses(loss, y, output)) / static_cast<float>(rows);
      variables = model.trainable_variables();
      const Tensors gradients = tape.gradient(part, Tensors(variables.begin(), variables.end()));
      sums.resize(gradients.size());
      for (std::size_t i = 0; i < gradients.size(); ++i)
        if (gradients[i].defined()) sums[i] = sums[i].defined() ? sums[i] + gradients[i] : gradients[i];
      draws.end_replica();
    }
    optimizer->apply_gradients(variables, sums);
    Tensors in_order;
    for (const auto& [begin, output] : outputs) in_order.push_back(output);
    return observe(batch[1], in_order.size() == 1 ? in_order[0] : concat(in_order, 0));
  }
};

Model::Model(LayerGraph graph, std::string name) : graph_(std::move(graph)), name_(std::move(name)) { make_predict(); }
Model::~Model() = default;

void Model::make_predict() {
  predict_.emplace([this](const Tensors& batch) { return (*this)(batch, false); }, FunctionOptions{.name = name_ + " predict step"});
}

void Model::append(LayerPtr layer) {
  graph_.set_outputs({graph_.add(std::move(layer), graph_.outputs())});
  make_predict();  // what was traced is without the layer
}

Tensors Model::operator()(const Tensors& inputs, bool training) const { return graph_.run(inputs, training); }

Tensor Model::operator()(const Tensor& x, bool training) const {
  if (graph_.outputs().size() != 1) fail(ErrorCode::wrong_arity, "model '", name_, "' has ", graph_.outputs().size(), " outputs; call it with a list of inputs");
  return graph_.run({x}, training)[0];
}

Tensor Model::logits(const Tensor& x, bool training) const { return graph_.run({x}, training, LayerGraph::Ending::logits)[0]; }

void Model::compile(CompileOptions options) {
  if (layers().empty()) fail(ErrorCode::invalid_argument, "compile: model '", name_, "' has no layers");
  if (graph_.input_count() != 1 || graph_.outputs().size() != 1)
    fail(ErrorCode::invalid_argument, "compile: model '", name_, "' has ", graph_.input_count(), " inputs and ", graph_.outputs().size(), " outputs; one of each can be trained from C++");
  auto compiled = std::make_shared<Compiled>();
  compiled->loss = find_loss(options.loss);
  compiled->options = options;
  compiled->optimizer = options.optimizer_object ? options.optimizer_object : make_optimizer(options.optimizer);
  for (const std::string& metric : options.metrics) {
    if (metric != "accuracy") fail(ErrorCode::invalid_argument, "unknown metric '", metric, "'; the known one is accuracy");
    compiled->accuracy = true;
  }
  // Cross entropies read what goes into the softmax: the same value without its rounding.
  const bool crossentropy = compiled->loss != Loss::mse;
  if (crossentropy && !options.from_logits && !graph_.last_layer()->ends_with_softmax())
    fail(ErrorCode::invalid_argument, "compile: ", options.loss, " needs a last layer with activation 'softmax', or from_logits = true");
  Compiled* state = compiled.get();  // the functions below live in it
  if (MirroredStrategy::current()) compiled->strategy = *MirroredStrategy::current();
  compiled->train.emplace([this, state, crossentropy](const Tensors& batch) -> Tensors {
    const auto forward = [&](const Tensor& x) { return crossentropy ? logits(x, true) : (*this)(x, true); };
    return {state->strategy ? state->learn_mirrored(*this, batch, forward) : state->learn(*this, batch, forward)};
  }, FunctionOptions{.name = name_ + " train step"});
  compiled->test.emplace([this, state, crossentropy](const Tensors& batch) -> Tensors {
    return {state->observe(batch[1], crossentropy ? logits(batch[0], false) : (*this)(batch[0], false))};
  }, FunctionOptions{.name = name_ + " test step"});
  compiled_ = std::move(compiled);
}

Model::Compiled& Model::compiled() const {
  if (!compiled_) fail(ErrorCode::invalid_argument, "model '", name_, "' must be compiled first: compile({.optimizer = …, .loss = …})");
  return *compiled_;
}

History Model::fit(const Tensor& x, const Tensor& y, FitOptions options) {
  Compiled& state = compiled();
  ArrayLoop loop({x, y}, options.batch_size, "fit");
  History history;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (options.shuffle) loop.shuffle();
    state.reset();
    run_all(loop, *state.train);
    std::string line = text("Epoch ", epoch + 1, "/", options.epochs);
    for (const auto& [name, value] : state.read()) {
      history[name].push_back(value);
      line += text(" - ", name, ": ", value);
    }
    if (options.verbose) std::printf("%s\n", line.c_str());
  }
  return history;
}

std::map<std::string, double> Model::evaluate(const Tensor& x, const Tensor& y, std::int64_t batch_size) const {
  const Compiled& state = compiled();
  ArrayLoop loop({x, y}, batch_size, "evaluate");
  state.reset();
  run_all(loop, *state.test);
  return state.read();
}

Tensors Model::predict(const Tensors& inputs, std::int64_t batch_size) const {
  ArrayLoop loop(inputs, batch_size, "predict");
  loop.collect();
  run_all(loop, *predict_);
  return loop.collected();
}

Tensor Model::predict(const Tensor& x, std::int64_t batch_size) const {
  if (graph_.outputs().size() != 1) fail(ErrorCode::wrong_arity, "model '", name_, "' has ", graph_.outputs().size(), " outputs; give predict a list of inputs");
  return predict(Tensors{x}, batch_size)[0];
}

std::vector<Variable> Model::variables() const {
  std::vector<Variable> all;
  for (const LayerPtr& layer : layers())
    for (const Variable& variable : layer->variables()) all.push_back(variable);
  return all;
}

std::vector<Variable> Model::trainable_variables() const {
  std::vector<Variable> all;
  for (const LayerPtr& layer : layers())
    for (const Variable& variable : layer->trainable_variables()) all.push_back(variable);
  return all;
}

std::int64_t Model::count_params() const {
  std::int64_t count = 0;
  for (const LayerPtr& layer : layers()) count += layer->count_params();
  return count;
}

const Function& Model::train_function() const { return *compiled().train; }
const CompileOptions* Model::compile_options() const { return compiled_ ? &compiled_->options : nullptr; }
const std::shared_ptr<Optimizer>& Model::optimizer() const { return compiled().optimizer; }

}  // namespace tandem
