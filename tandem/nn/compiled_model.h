// A model with what it is trained for: loss, optimizer, metrics; its steps are traced functions, one plan a batch
// shape.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autodiff/function.h"
#include "tandem/autodiff/tape.h"
#include "tandem/dist/mirrored.h"
#include "tandem/nn/layer_graph.h"
#include "tandem/nn/losses.h"
#include "tandem/nn/metrics.h"
#include "tandem/nn/optimizer.h"
#include "tandem/nn/step_source.h"

namespace tandem {

struct CompileOptions {
  std::string optimizer = "adam";               // by name, or:
  std::shared_ptr<Optimizer> optimizer_object = {};
  LossConfig loss = {};  // of every output: "mse", {"Huber", {.delta = 0.3}}, any of Keras; or:
  std::vector<LossConfig> losses = {};  // one an output; or:
  LossFunction loss_function = {};  // one's own, of every output
  std::vector<double> loss_weights = {};  // one an output; none: 1 each
  bool from_logits = false;  // the model's output has not been through softmax or sigmoid
  std::vector<MetricConfig> metrics = {};  // of every output: "accuracy", {"AUC", {.curve = "PR"}}; or:
  std::vector<std::vector<MetricConfig>> output_metrics = {};  // a list an output
  std::vector<MetricConfig> weighted_metrics = {};  // of every output, by the weights of the samples
  bool run_eagerly = false;  // steps run op by op, so that one can look inside
  bool auto_scale_loss = true;  // with layers that compute in mixed_float16 the optimizer scales its losses
};

class Division;

/// "loss", "accuracy" and their values.
using Logs = std::map<std::string, double>;

/// A batch, or the rows of it that one device has: what the model reads, a target an output, and weights of the
/// samples.
struct Batch {
  Tensors inputs, targets;
  Tensor weights;  // may be undefined
};
/// What a model gives for a batch, and which steps of it count; masks are undefined where all do.
using Outputs = LayerGraph::MaskedOutputs;

/// What a model does in a step; Model lets it be overridden.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual Tensor train_step(const Batch& batch) = 0;
  virtual Tensor test_step(const Batch& batch) = 0;
  virtual Tensor compute_loss(const Batch& batch, const Outputs& outputs) = 0;
};

class CompiledModel {
 public:
  /// The graph and the steps must outlive it. `own_steps`: they may be overridden, so that outputs keep their
  /// activations. Throws for losses, metrics and optimizers that are not known.
  CompiledModel(const LayerGraph& graph, Steps& steps, bool own_steps, const std::string& name, CompileOptions options);
  ~CompiledModel();
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;

  const CompileOptions& options() const { return options_; }
  const std::shared_ptr<Optimizer>& optimizer() const { return optimizer_; }
  /// A batch is the inputs, a target an output and, if there are any, the weights of the samples; they return the loss.
  const Function& train() const { return *train_; }
  const Function& test() const { return *test_; }

  /// As run_eagerly says, and as batches are divided now.
  ModelStep train_step() const { return {*train_, options_.run_eagerly ? train_body_ : nullptr, key()}; }
  ModelStep test_step() const { return {*test_, options_.run_eagerly ? test_body_ : nullptr, key()}; }
  /// The strategy in whose scope it was compiled; null: none.
  const MirroredStrategy* strategy() const { return strategy_ ? &*strategy_ : nullptr; }
  /// What the steps are traced for beside shapes: how batches are divided.
  std::string key() const { return strategy_ ? strategy_->division()->key() : ""; }
  /// How the batches of this model are divided among the replicas; there must be a strategy.
  Division& division() const { return *division_; }
  /// The gradients of a batch, as one device computes them: to see how fast it is.
  Tensors gradients(const Tensors& batch) const;

  /// What the metrics have seen since the last reset.
  Logs read() const;
  void reset() const;
  /// A mean that is shown beside the metrics.
  Mean& add_mean(std::string name) { return means_.emplace_back(std::move(name)); }

  // What steps are made of.
  Outputs forward(const Tensors& inputs, bool training) const;
  /// By the losses, of the outputs, and what layers cost; in a replica its share of that of the whole batch.
  Tensor loss_of(const Batch& batch, const Outputs& outputs) const;
  /// With the gradients of all replicas, where there are several.
  void minimize(GradientTape& tape, const Tensor& loss) const;
  void update_metrics(const Batch& batch, const Outputs& outputs) const;
  Tensor learn(const Batch& batch) const;
  Tensor check(const Batch& batch) const;

 private:
  struct Output {
    std::function<LossValues(const Tensor& y_true, const Tensor& y_pred)> loss;
    std::string reduction;
    double weight = 1;
    std::string_view left_out;  // the activation that the loss does without
    std::optional<Mean> mean;  // of its loss, when there are several outputs
    struct Watched {
      MetricRef metric;
      bool weighted;
    };
    std::vector<Watched> metrics;
  };

  void add_output(std::size_t index);
  Batch split(const Tensors& batch) const;
  std::vector<Variable> trainable_variables() const { return graph_.trainable_variables(); }
  /// The mean loss of one output over a batch, of the steps that count; `all` rows, if the batch is a part.
  Tensor loss_of(const Output& output, const Tensor& y_true, const Tensor& y_pred, const Tensor& mask,
                 const Tensor& weights, std::int64_t all) const;
  /// `added`: what layers added while they ran.
  Tensor loss_of(const Batch& batch, const Outputs& outputs, const Tensors& added) const;
  /// What the layers cost: by their variables, and by what they added.
  Tensor penalties(const Tensors& added) const;
  void constrain() const;
  /// A step by several devices: each has its rows, and the gradients are added up.
  Tensor run_mirrored(const Batch& batch, bool training) const;
  /// The same by steps that may be overridden: once in each replica.
  Tensor run_own_steps(const Batch& batch, bool training) const;
  ReplicaGroup replicas_for(const Batch& batch) const;
  /// One step of the optimizer, with the sums of what the replicas on these devices bring: gradients, then the rows,
  /// lists like those of `shape`, that some are made of.
  void apply(const std::vector<Variable>& variables, const PerReplica& brought, const std::vector<std::string>& devices,
             const RowNotes::Lists& shape) const;

  const LayerGraph& graph_;
  Steps& steps_;
  const bool own_steps_;
  CompileOptions options_;
  std::shared_ptr<Optimizer> optimizer_;
  std::vector<Output> outputs_;
  std::vector<bool> as_logits_;
  Mean loss_{"loss"};
  std::deque<Mean> means_;
  Function::Body train_body_, test_body_;
  std::optional<Function> train_, test_;
  std::optional<MirroredStrategy> strategy_;
  std::unique_ptr<Division> division_;
};

}  // namespace tandem
