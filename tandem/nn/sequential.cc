#include "tandem/nn/sequential.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>

#include "tandem/autodiff/tape.h"
#include "tandem/op/random_state.h"

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

/// Rows of a host tensor, in a given order, as batches. The rows are copied into tensors that are used again.
class Batches {
 public:
  Batches(const Tensor& data, std::int64_t batch) : data_(data), batch_(batch), row_bytes_(data.spec().bytes() / static_cast<std::size_t>(std::max<std::int64_t>(data.shape()[0], 1))) {}

  Tensor at(const std::vector<std::int64_t>& order, std::int64_t begin) const {
    const std::int64_t rows = std::min<std::int64_t>(batch_, static_cast<std::int64_t>(order.size()) - begin);
    std::vector<std::int64_t> sizes(data_.shape().begin(), data_.shape().end());
    sizes[0] = rows;
    Tensor out = Tensor::uninitialized({data_.dtype(), Shape(std::span<const std::int64_t>(sizes))}, host_memory(), data_.impl()->decision);
    auto* to = static_cast<char*>(out.storage().address());
    const auto* from = static_cast<const char*>(data_.raw_data());
    for (std::int64_t i = 0; i < rows; ++i, to += row_bytes_)
      std::memcpy(to, from + static_cast<std::size_t>(order[static_cast<std::size_t>(begin + i)]) * row_bytes_, row_bytes_);
    return out;
  }

 private:
  Tensor data_;
  std::int64_t batch_;
  std::size_t row_bytes_;
};

std::vector<std::int64_t> in_order(std::int64_t samples) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// By the seed of the process: the same order in the same program.
void shuffle(std::vector<std::int64_t>& order) {
  const auto call = random_state().next();
  std::seed_seq seed{call.key, call.key >> 32, call.counter};
  std::mt19937_64 random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
}

void check_data(const Tensor& x, const Tensor& y, std::int64_t batch_size) {
  if (x.rank() < 1 || y.rank() < 1 || x.shape()[0] != y.shape()[0])
    fail(ErrorCode::shape_mismatch, "fit: x and y need the same number of samples, got ", x.shape(), " and ", y.shape());
  if (x.shape()[0] == 0) fail(ErrorCode::invalid_argument, "fit: x has no samples");
  if (batch_size < 1) fail(ErrorCode::invalid_argument, "fit: batch_size must be positive, got ", batch_size);
}

}  // namespace

struct Sequential::Compiled {
  Loss loss;
  bool accuracy = false;
  std::shared_ptr<Optimizer> optimizer;
  // What the metrics have seen since the epoch began: kept by the plan, read when shown.
  Variable loss_sum{Tensor(0.0f), false, "loss_sum"}, right{Tensor(0.0f), false, "right"}, seen{Tensor(0.0f), false, "seen"};
  std::optional<Function> train, test, predict;

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
};

Sequential::Sequential(std::vector<LayerPtr> layers, std::string name) : layers_(std::move(layers)), name_(std::move(name)) {}

Tensor Sequential::operator()(const Tensor& x, bool training) const {
  Tensor value = x;
  for (const LayerPtr& layer : layers_) value = (*layer)(value, training);
  return value;
}

Tensor Sequential::logits(const Tensor& x, bool training) const {
  Tensor value = x;
  for (std::size_t i = 0; i + 1 < layers_.size(); ++i) value = (*layers_[i])(value, training);
  layers_.back()->build(value.shape());
  return layers_.back()->logits(value, training);
}

void Sequential::compile(CompileOptions options) {
  if (layers_.empty()) fail(ErrorCode::invalid_argument, "compile: model '", name_, "' has no layers");
  auto compiled = std::make_shared<Compiled>();
  compiled->loss = find_loss(options.loss);
  compiled->optimizer = options.optimizer_object ? options.optimizer_object : make_optimizer(options.optimizer);
  for (const std::string& metric : options.metrics) {
    if (metric != "accuracy") fail(ErrorCode::invalid_argument, "unknown metric '", metric, "'; the known one is accuracy");
    compiled->accuracy = true;
  }
  // Cross entropies read what goes into the softmax: the same value without its rounding.
  const bool crossentropy = compiled->loss != Loss::mse;
  if (crossentropy && !options.from_logits && !layers_.back()->ends_with_softmax())
    fail(ErrorCode::invalid_argument, "compile: ", options.loss, " needs a last layer with activation 'softmax', or from_logits = true");
  Compiled* state = compiled.get();  // the functions below live in it
  compiled->train.emplace([this, state, crossentropy](const Tensors& batch) -> Tensors {
    GradientTape tape;
    const Tensor output = crossentropy ? logits(batch[0], true) : (*this)(batch[0], true);
    const Tensor loss = state->observe(batch[1], output);
    const std::vector<Variable> variables = trainable_variables();
    state->optimizer->apply_gradients(variables, tape.gradient(loss, Tensors(variables.begin(), variables.end())));
    return {loss};
  }, FunctionOptions{.name = name_ + " train step"});
  compiled->test.emplace([this, state, crossentropy](const Tensors& batch) -> Tensors {
    return {state->observe(batch[1], crossentropy ? logits(batch[0], false) : (*this)(batch[0], false))};
  }, FunctionOptions{.name = name_ + " test step"});
  compiled->predict.emplace([this](const Tensors& batch) -> Tensors { return {(*this)(batch[0], false)}; }, FunctionOptions{.name = name_ + " predict step"});
  compiled_ = std::move(compiled);
}

Sequential::Compiled& Sequential::compiled() const {
  if (!compiled_) fail(ErrorCode::invalid_argument, "model '", name_, "' must be compiled first: compile({.optimizer = …, .loss = …})");
  return *compiled_;
}

History Sequential::fit(const Tensor& x, const Tensor& y, FitOptions options) {
  Compiled& state = compiled();
  check_data(x, y, options.batch_size);
  const std::int64_t samples = x.shape()[0];
  const Batches inputs(x, options.batch_size), targets(y, options.batch_size);
  auto order = in_order(samples);
  History history;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    if (options.shuffle) shuffle(order);
    state.reset();
    for (std::int64_t begin = 0; begin < samples; begin += options.batch_size)
      state.train->call({inputs.at(order, begin), targets.at(order, begin)});
    std::string line = text("Epoch ", epoch + 1, "/", options.epochs);
    for (const auto& [name, value] : state.read()) {
      history[name].push_back(value);
      line += text(" - ", name, ": ", value);
    }
    if (options.verbose) std::printf("%s\n", line.c_str());
  }
  return history;
}

std::map<std::string, double> Sequential::evaluate(const Tensor& x, const Tensor& y, std::int64_t batch_size) const {
  const Compiled& state = compiled();
  check_data(x, y, batch_size);
  const Batches inputs(x, batch_size), targets(y, batch_size);
  const auto order = in_order(x.shape()[0]);
  state.reset();
  for (std::int64_t begin = 0; begin < x.shape()[0]; begin += batch_size)
    state.test->call({inputs.at(order, begin), targets.at(order, begin)});
  return state.read();
}

Tensor Sequential::predict(const Tensor& x, std::int64_t batch_size) const {
  const Compiled& state = compiled();
  check_data(x, x, batch_size);
  const Batches inputs(x, batch_size);
  const auto order = in_order(x.shape()[0]);
  Tensors outputs;
  for (std::int64_t begin = 0; begin < x.shape()[0]; begin += batch_size)
    outputs.push_back(state.predict->call({inputs.at(order, begin)})[0]);
  return outputs.size() == 1 ? outputs[0] : concat(outputs, 0);
}

std::vector<Variable> Sequential::variables() const {
  std::vector<Variable> all;
  for (const LayerPtr& layer : layers_) all.insert(all.end(), layer->variables().begin(), layer->variables().end());
  return all;
}

std::vector<Variable> Sequential::trainable_variables() const {
  std::vector<Variable> all;
  for (const LayerPtr& layer : layers_)
    for (const Variable& variable : layer->trainable_variables()) all.push_back(variable);
  return all;
}

std::int64_t Sequential::count_params() const {
  std::int64_t count = 0;
  for (const LayerPtr& layer : layers_) count += layer->count_params();
  return count;
}

const Function& Sequential::train_function() const { return *compiled().train; }

}  // namespace tandem
