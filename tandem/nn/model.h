// A model: a graph of layers that predicts and learns; the whole training step is one plan.
//
//   Symbol x = Input({784});
//   Model model({x}, {Dense(10, "softmax")(Dense(64, "relu")(x))});
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
//   History history = model.fit(images, labels, {.epochs = 5, .validation_split = 0.1});
//   Tensor y = model.predict(images);
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autodiff/explain.h"
#include "tandem/nn/callbacks.h"
#include "tandem/nn/compiled_model.h"
#include "tandem/nn/step_source.h"
#include "tandem/nn/symbol.h"

namespace tandem {

struct FitOptions {
  std::int64_t batch_size = 32;
  int epochs = 1;
  int verbose = 1;               // 0: silent, 1: a progress bar, 2: a line an epoch
  bool shuffle = true;           // of arrays
  double validation_split = 0;   // this part of the samples, from the end, is kept for validation; or:
  std::optional<Samples> validation_data = {};
  std::map<std::int64_t, double> class_weight = {};  // by class number; of models with one output
  Tensor sample_weight = {};     // one a sample
  int initial_epoch = 0;
  std::int64_t steps_per_epoch = 0;  // 0: to the end of the samples
  std::optional<Dataset> validation_dataset = {};  // of batches, instead of validation_data
  std::int64_t validation_batch_size = 0;          // 0: that of the training
  std::int64_t validation_steps = 0;               // 0: to the end
  int validation_freq = 1;                         // epochs from one validation to the next
  std::vector<CallbackRef> callbacks = {};
};

/// "loss", "accuracy", "val_loss": one value an epoch.
using History = std::map<std::string, std::vector<double>>;

/// A graph of layers, or a class of one's own: that gives its layers to track() and overrides call(). Either may
/// override the steps.
///
///   struct Twice : Model {
///     Twice() : Model("twice") {}
///     Tensors call(const Tensors& x, bool training) override { return {(*dense)((*dense)(x[0], training), training)};
///     } LayerPtr dense = track("dense", Dense(8));
///   };
class Model : public Steps {
 public:
  Model(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs, std::string name = "functional");
  Model(LayerGraph graph, std::string name);
  ~Model() override;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// Runs the layers: eagerly, or as part of a trace. The first form is for models of one input and one output.
  Tensor operator()(const Tensor& x, bool training = false) const;
  Tensors operator()(const Tensors& inputs, bool training = false) const;

  void compile(CompileOptions options);
  History fit(const Samples& samples, const FitOptions& options = {});
  History fit(const Tensor& x, const Tensor& y, const FitOptions& options = {}) { return fit(Samples(x, y), options); }
  /// A dataset of batches: (inputs, targets) or (inputs, targets, sample weights).
  History fit(const Dataset& dataset, const FitOptions& options = {});
  /// "loss" and the metrics over all samples.
  Logs evaluate(const Samples& samples, std::int64_t batch_size = 32) const;
  Logs evaluate(const Tensor& x, const Tensor& y, std::int64_t batch_size = 32) const {
    return evaluate(Samples(x, y), batch_size);
  }
  Logs evaluate(const Dataset& dataset) const;
  /// One step on these samples; loss and metrics of this batch.
  Logs train_on_batch(const Samples& batch);
  Logs test_on_batch(const Samples& batch) const;
  Tensors predict_on_batch(const Tensors& inputs) const { return predict_->call(inputs); }

  /// Batch by batch; needs no compile.
  Tensor predict(const Tensor& x, std::int64_t batch_size = 32) const;
  Tensors predict(const Tensors& inputs, std::int64_t batch_size = 32) const;
  /// Of a dataset of batches: inputs, or (inputs, targets, …), of which the first are used.
  Tensors predict(const Dataset& dataset) const;

  /// Called by callbacks: the training ends with this epoch, or with this step.
  enum class Stop { no, after_epoch, now };
  void stop_training(Stop when = Stop::after_epoch) { stop_ = when; }

  const std::string& name() const { return name_; }
  const std::vector<LayerPtr>& layers() const { return graph_.layers(); }
  /// Throws when there is none of this name, naming those there are.
  const LayerPtr& get_layer(std::string_view name) const;
  const LayerGraph& graph() const { return graph_; }
  std::vector<Variable> variables() const { return graph_.variables(); }
  std::vector<Variable> trainable_variables() const { return graph_.trainable_variables(); }
  std::int64_t count_params() const;
  /// The values of its variables, in their order. Throws shape_mismatch when number or shapes differ; then nothing has
  /// changed.
  Tensors get_weights() const;
  void set_weights(const Tensors& values);
  /// Freezes all its layers, or lets them learn; compile it afterwards.
  void set_trainable(bool trainable);
  /// Forgets what stateful layers kept of the batches before.
  void reset_states();
  /// Keras' table of the layers, their shapes and numbers of parameters.
  std::string summary() const;
  /// The graph of layers for Graphviz.
  std::string to_dot() const;
  /// The traced step, for those who want to look at its graph and its placement.
  const Function& train_function() const;
  const Function& predict_function() const { return *predict_; }

  /// What it is called with, as its file says or as its first layer was built for; sizes may be open. Throws
  /// invalid_argument when neither is known.
  std::vector<InputSpec> inputs() const;
  void set_inputs(std::vector<InputSpec> inputs) { inputs_ = std::move(inputs); }

  /// A .keras file that Keras opens too; written atomically. The layers must have been built.
  void save(const std::string& path) const;
  /// Keras' .weights.h5. Loading checks all of the file first: when it throws, nothing has changed.
  void save_weights(const std::string& path) const;
  void load_weights(const std::string& path);
  /// Builds the layers that are not built yet for the inputs that those of `other`, a model of the same layers, were
  /// built for.
  void build_like(const Model& other);

  /// What a file said beyond layers and weights; kept so that saving loses nothing.
  struct Origin;
  void set_origin(std::shared_ptr<const Origin> origin) { origin_ = std::move(origin); }
  const Origin* origin() const { return origin_.get(); }
  /// How the model was compiled; null if it was not.
  const CompileOptions* compile_options() const;
  const std::shared_ptr<Optimizer>& optimizer() const;  // throws if it was not

 protected:
  /// For classes of one's own, with so many inputs and outputs.
  explicit Model(std::string name, std::size_t inputs = 1, std::size_t outputs = 1);
  /// Makes a layer a part of a model of one's own; files keep it under `path`, which for Keras is the name of the
  /// attribute.
  LayerPtr track(std::string path, LayerPtr layer);
  /// What a model of one's own computes.
  virtual Tensors call(const Tensors& inputs, bool training);
  /// Adds to the loss of the step that calls it.
  static void add_loss(const Tensor& loss) { AddedLosses::add(loss); }

  // The steps, which are traced like everything else; overridden ones are made of what follows. They return the loss
  // that is shown.
  Tensor train_step(const Batch& batch) override { return compiled().learn(batch); }
  Tensor test_step(const Batch& batch) override { return compiled().check(batch); }
  virtual Tensors predict_step(const Tensors& inputs) { return (*this)(inputs, false); }
  /// By the losses of compile, and what layers cost.
  Tensor compute_loss(const Batch& batch, const Outputs& outputs) override {
    return compiled().loss_of(batch, outputs);
  }
  Outputs forward(const Tensors& inputs, bool training) const { return compiled().forward(inputs, training); }
  /// Gradients of the loss, and a step of the optimizer with them.
  void minimize(GradientTape& tape, const Tensor& loss) const { compiled().minimize(tape, loss); }
  void update_metrics(const Batch& batch, const Outputs& outputs) const { compiled().update_metrics(batch, outputs); }
  /// A mean that is shown beside the metrics; made once, after compile.
  Mean& add_metric(std::string name) { return compiled().add_mean(std::move(name)); }

  /// Puts a layer behind the output.
  void append(LayerPtr layer);

 private:
  friend class Training;
  CompiledModel& compiled() const;
  std::unique_ptr<StepSource> validation_steps(const std::optional<Samples>& samples, const FitOptions& options) const;
  void make_predict();

  LayerGraph graph_;
  std::vector<InputSpec> inputs_;
  std::string name_;
  std::unique_ptr<CompiledModel> compiled_;
  std::optional<Function> predict_;
  std::shared_ptr<const Origin> origin_;
  Stop stop_ = Stop::no;
};

/// Where the ops of a prediction for `batch` samples run, why, and what that is predicted to take; nothing runs.
Explanation explain(const Model& model, std::int64_t batch = 32, const ExplainOptions& options = {});
/// A call of a function whose inputs are these, open sizes filled in: the batch, and 32 for others.
Tensors sample_arguments(const std::vector<InputSpec>& inputs, std::int64_t batch = 32);

}  // namespace tandem
