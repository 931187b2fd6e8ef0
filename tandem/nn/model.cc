#include "tandem/nn/model.h"

#include <typeinfo>

#include "tandem/nn/division.h"
#include "tandem/nn/sequential.h"

namespace tandem {

Model::Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, std::string name)
    : Model(graph_between(inputs, outputs), std::move(name)) {}
Model::Model(LayerGraph graph, std::string name) : graph_(std::move(graph)), name_(std::move(name)) { make_predict(); }
Model::~Model() = default;

namespace {

/// The only node of a model of one's own.
class OwnCall final : public Layer {
 public:
  using Body = std::function<Tensors(const Tensors&, bool training)>;
  OwnCall(std::string name, Body body)
      : Layer(LayerConfig("", std::move(name)), std::nullopt),
        body_(std::move(body)) {}

 private:
  Tensor call(const Tensor& x, bool training) override { return body_({x}, training)[0]; }
  Tensors call_all(const Tensors& inputs, bool training) override { return body_(inputs, training); }
  Body body_;
};

}  // namespace

Model::Model(std::string name, std::size_t inputs, std::size_t outputs) : name_(std::move(name)) {
  std::vector<LayerGraph::Value> ends;
  for (std::size_t i = 0; i < inputs; ++i) ends.push_back(graph_.add_input());
  const LayerGraph::Value made = graph_.add(
      std::make_shared<OwnCall>(name_, [this](const Tensors& x, bool training) { return call(x, training); }),
      std::move(ends));
  ends.clear();
  for (std::size_t i = 0; i < outputs; ++i) ends.push_back({made.node, i});
  graph_.set_outputs(std::move(ends));
  graph_.set_layers({});
  make_predict();
}

LayerPtr Model::track(std::string path, LayerPtr layer) {
  graph_.track(std::move(path), layer);
  return layer;
}

Tensors Model::call(const Tensors&, bool) {
  fail(ErrorCode::invalid_argument, "model '", name_,
       "' does not say what it computes; override call(inputs, training)");
}

void Model::make_predict() {
  predict_.emplace(
      [this](const Tensors& batch) {
        const MirroredStrategy* strategy = compiled_ ? compiled_->strategy() : nullptr;
        if (!strategy) return predict_step(batch);
        const PerReplica parts =
            strategy->run([this](const Tensors& mine) { return predict_step(mine); }, strategy->distribute(batch));
        Tensors whole;
        for (std::size_t i = 0; i < graph_.outputs().size(); ++i) whole.push_back(strategy->gather(parts, 0, i));
        return whole;
      },
      FunctionOptions{.name = name_ + " predict step"});
}

void Model::append(LayerPtr layer) {
  graph_.set_outputs({graph_.add(std::move(layer), graph_.outputs())});
  make_predict();  // what was traced is without the layer
}

Tensors Model::operator()(const Tensors& inputs, bool training) const { return graph_.run(inputs, training); }

Tensor Model::operator()(const Tensor& x, bool training) const {
  if (graph_.outputs().size() != 1)
    fail(ErrorCode::wrong_arity, "model '", name_, "' has ", graph_.outputs().size(),
         " outputs; call it with a list of inputs");
  return graph_.run({x}, training)[0];
}

void Model::compile(CompileOptions options) {
  if (layers().empty()) fail(ErrorCode::invalid_argument, "compile: model '", name_, "' has no layers");
  const bool own_steps = typeid(*this) != typeid(Model) && typeid(*this) != typeid(Sequential);
  compiled_ = std::make_unique<CompiledModel>(graph_, *this, own_steps, name_, std::move(options));
  make_predict();  // what was traced knows no strategy, or another
}

CompiledModel& Model::compiled() const {
  if (!compiled_)
    fail(ErrorCode::invalid_argument, "model '", name_,
         "' must be compiled first: compile({.optimizer = …, .loss = …})");
  return *compiled_;
}

Tensors Model::predict(const Tensors& inputs, std::int64_t batch_size) const {
  const bool strings = std::ranges::any_of(inputs, [](const Tensor& input) { return input.dtype() == DType::string; });
  if (strings)
    return const_cast<Model*>(this)->predict_step(inputs);  // layers of strings look at values, which a trace has not
  ArrayLoop loop(inputs, batch_size, "predict");
  loop.collect();
  constexpr double kNoLimit = 1e9;  // seconds
  while (loop.done() < loop.steps()) {
    const std::string key = compiled_ ? compiled_->key() : "";
    const auto full = predict_->concrete(loop.batch(0), key);
    const auto rest = loop.remainder() ? predict_->concrete(loop.batch(loop.steps() - 1), key) : nullptr;
    loop.run(*full, rest.get(), loop.done(), loop.steps(), kNoLimit);
  }
  return loop.collected();
}

Tensors Model::predict(const Dataset& dataset) const {
  if (dataset.cardinality() == -1)
    fail(ErrorCode::invalid_argument, "predict: the dataset never ends; let it end with take()");
  std::vector<Tensors> parts;
  DatasetIterator batches = dataset.iterate();
  while (const std::optional<Value> element = batches.next()) {
    Tensors inputs;
    for (const Leaf& leaf : element->leaves())
      if (inputs.size() < graph_.input_count()) inputs.push_back(leaf.tensor);
    const Tensors made = predict_on_batch(inputs);
    parts.resize(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) parts[i].push_back(made[i]);
  }
  if (parts.empty()) fail(ErrorCode::invalid_argument, "predict: the dataset gave no batches");
  Tensors out;
  for (const Tensors& batches_of_one : parts)
    out.push_back(batches_of_one.size() == 1 ? batches_of_one[0] : concat(batches_of_one, 0));
  return out;
}

Tensor Model::predict(const Tensor& x, std::int64_t batch_size) const {
  if (graph_.outputs().size() != 1)
    fail(ErrorCode::wrong_arity, "model '", name_, "' has ", graph_.outputs().size(),
         " outputs; give predict a list of inputs");
  return predict(Tensors{x}, batch_size)[0];
}

const LayerPtr& Model::get_layer(std::string_view name) const {
  std::vector<std::string> known;
  for (const LayerPtr& layer : layers()) {
    if (layer->name() == name) return layer;
    known.push_back(layer->name());
  }
  fail(ErrorCode::invalid_argument, "No such layer: ", name, ". Existing layers are: ", join(known));
}

std::int64_t Model::count_params() const {
  std::int64_t count = 0;
  for (const LayerPtr& layer : layers()) count += layer->count_params();
  return count;
}

Tensors Model::get_weights() const {
  Tensors values;
  for (const Variable& variable : variables()) values.push_back(variable.value());
  return values;
}

void Model::set_weights(const Tensors& values) {
  const std::vector<Variable> all = variables();
  if (values.size() != all.size())
    fail(ErrorCode::shape_mismatch, "model '", name_, "' has ", all.size(), " variables, but ", values.size(),
         " values were given");
  for (std::size_t i = 0; i < all.size(); ++i)
    if (values[i].shape() != all[i].shape())
      fail(ErrorCode::shape_mismatch, "variable '", all[i].name(), "' has shape ", all[i].shape(),
           ", but a value of shape ", values[i].shape(), " was given");
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].assign(values[i].dtype() == all[i].dtype() ? values[i] : cast(values[i], all[i].dtype()));
}

void Model::set_trainable(bool trainable) {
  for (const LayerPtr& layer : layers()) layer->set_trainable(trainable);
}

void Model::reset_states() {
  for (const LayerPtr& layer : layers()) layer->reset_state();
}

void Model::build_like(const Model& other) {
  if (other.layers().size() != layers().size())
    fail(ErrorCode::shape_mismatch, "model '", name_, "' has ", layers().size(), " layers, the other has ",
         other.layers().size());
  for (std::size_t i = 0; i < layers().size(); ++i)
    if (!layers()[i]->built() && other.layers()[i]->built()) layers()[i]->build(other.layers()[i]->built_for());
}

const Function& Model::train_function() const { return compiled().train(); }
const CompileOptions* Model::compile_options() const { return compiled_ ? &compiled_->options() : nullptr; }
const std::shared_ptr<Optimizer>& Model::optimizer() const { return compiled().optimizer(); }

}  // namespace tandem
