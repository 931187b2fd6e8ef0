// A layer: what a model is made of. Those of Keras are in layers.h.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/autodiff/variable.h"
#include "tandem/nn/constraints.h"
#include "tandem/nn/dtype_policy.h"
#include "tandem/nn/initializers.h"
#include "tandem/nn/layer_config.h"
#include "tandem/nn/regularizers.h"
#include "tandem/op/ops.h"

namespace tandem {

class Layer;
class Symbol;

/// Results of a layer, and which steps of the first count; the mask is undefined where all do.
struct Masked {
  Tensors values;
  Tensor mask;
};

/// What layers add to the loss while they run, for as long as it lives: costs of activity, and add_loss of one's own
/// layers.
class AddedLosses {
 public:
  AddedLosses();
  ~AddedLosses();
  AddedLosses(const AddedLosses&) = delete;
  AddedLosses& operator=(const AddedLosses&) = delete;
  const Tensors& values() const { return values_; }
  void clear() { values_.clear(); }
  /// The one that collects now; null: nobody does.
  static AddedLosses* current();
  /// Does nothing where nobody collects.
  static void add(const Tensor& loss);

 private:
  Tensors values_;
  AddedLosses* outer_;
};

/// A layer. Called on values it runs; called on the symbols of a model that is being drawn (symbol.h) it becomes a part
/// of it.
class LayerPtr : public std::shared_ptr<Layer> {
 public:
  using shared_ptr::shared_ptr;
  LayerPtr(std::shared_ptr<Layer> layer) : shared_ptr(std::move(layer)) {}  // NOLINT: a layer is one
  Tensor operator()(const Tensor& x, bool training = false) const;
  Symbol operator()(const Symbol& x) const;
  Symbol operator()(const std::vector<Symbol>& inputs) const;
};

/// Built at the first call, from the shape of what it is given; variables live on from then. A layer of one's own
/// defines `call` and, if it has variables, `make_variables`; to be loaded from files it takes its arguments from a
/// LayerConfig.
class Layer {
 public:
  explicit Layer(std::string name) : Layer(LayerConfig("", std::move(name))) {}
  explicit Layer(const LayerConfig& config) : Layer(with_dtype_policy(config), DTypePolicy::of(config)) {}
  /// Without a policy it takes and gives values in whatever dtypes they have.
  Layer(LayerConfig config, std::optional<DTypePolicy> policy);
  virtual ~Layer() = default;

  Tensor operator()(const Tensor& x, bool training = false);
  /// For layers of several inputs or outputs.
  Tensors operator()(const Tensors& inputs, bool training = false);
  /// The same with masks: of each input which steps count, undefined for all of them.
  Masked operator()(const Tensors& inputs, const Tensors& masks, bool training);
  /// Does the mask of its first input hold for its result too?
  virtual bool passes_mask() const;
  /// Makes the variables for inputs of this shape, batch axis included; once.
  void build(const Shape& input);
  bool built() const { return built_; }
  /// True while values were given whose variables are not made yet.
  bool waits_for_input() const { return !built_ && !given_.empty(); }
  /// The input's shape that the variables were made for.
  const Shape& built_for() const { return built_for_; }
  /// The activation at its end that it can leave out, "softmax" or "sigmoid"; empty: none. What losses from logits
  /// read.
  virtual std::string_view last_activation() const { return {}; }
  /// Its result without that activation.
  Tensor as_logits(const Tensor& x, bool training);

  const std::string& name() const { return name_; }
  const LayerConfig& config() const { return config_; }
  /// In which dtypes it computes and keeps its variables.
  DTypePolicy policy() const { return policy_.value_or(DTypePolicy()); }
  /// Its own, then those of the layers inside it.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  /// A frozen layer has no trainable variables, nor have those inside it; batch normalisation then keeps its
  /// statistics. Compile the model after a change.
  bool trainable() const { return trainable_; }
  void set_trainable(bool trainable);
  std::int64_t count_params() const;
  /// What its variables cost, by the regularizers in its arguments; those of the layers inside it too.
  Tensors losses() const;
  /// Brings its variables to what the constraints in its arguments allow; those of the layers inside it too.
  void constrain() const;

  /// The layers inside it and where Keras' files keep them: "forward_layer".
  virtual std::vector<std::pair<std::string, LayerPtr>> children() const { return {}; }
  const std::vector<Variable>& own_variables() const { return variables_; }
  /// Those that Keras' files keep for it, and of their values those that are its own: a wrapper may list a variable of
  /// the layer inside it too.
  virtual std::vector<Variable> stored_variables() const { return variables_; }
  virtual Tensors own_of_stored(Tensors values) const { return values; }
  /// What files call its only variable; empty: variables are numbered.
  virtual std::string_view variable_name() const { return {}; }
  /// Where Keras' files keep its own variables.
  virtual std::string variables_path() const { return "vars"; }
  /// Forgets what a stateful layer kept of the batches before; those inside it too.
  virtual void reset_state();
  /// The file beside the variables in which a .keras archive keeps what it learned, such as a vocabulary; empty: none.
  virtual std::string_view asset() const { return {}; }
  virtual void load_asset(std::string_view /*bytes*/) {}
  virtual std::string saved_asset() const { return {}; }
  /// Gives its own variables these values, now or when they are made. Throws when number or shapes differ; then
  /// nothing has changed.
  void set_weights(Tensors values);

 protected:
  virtual void make_variables(const Shape&) {}
  virtual Tensor call(const Tensor& x, bool training) = 0;
  virtual Tensor logits(const Tensor& x, bool training) { return call(x, training); }
  virtual Tensors call_all(const Tensors& inputs, bool training);
  /// For layers that look at masks or make one.
  virtual Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training);
  /// Makes a variable. Its value is what set_weights has given, else what the argument NAME_initializer says, else
  /// `initial`.
  Variable add_weight(std::string name, const Shape& shape, const Initializer& initial, bool trainable = true);
  /// Changes what is written when it is saved: for what it learned beside its variables.
  void set_argument(std::string_view key, std::string_view json) { config_.set_json(key, json); }
  /// Adds to the loss of the step that calls it.
  void add_loss(const Tensor& loss) const { AddedLosses::add(loss); }
  /// The cost of activity by a regularizer, a sample.
  void add_activity_loss(const Regularizer& regularizer, const Tensor& output) const;

 private:
  void note_activity(const Tensors& outputs) const;
  /// True where inputs are used as they come and results are given as they are made.
  bool is_direct() const {
    return channels_last_ && (!policy_ || (policy_->compute == DType::f32 && !ComputeScope::any()));
  }
  /// Calls `body` with the inputs in the dtype and the order of axes that it computes in.
  template <class F>
  Masked adapted(const Tensors& inputs, F body);

  LayerConfig config_;
  std::string name_;
  std::optional<DTypePolicy> policy_;
  bool channels_last_;
  std::vector<Variable> variables_;
  Tensors given_;  // by set_weights before the variables were made
  bool has_given_ = false;
  std::vector<std::pair<Variable, Regularizer>> penalties_;
  std::vector<std::pair<Variable, Constraint>> constraints_;
  Regularizer activity_;
  bool trainable_, built_ = false;
  Shape built_for_;
};

/// "relu", "sigmoid", "softmax" and Keras' others; "linear" and "" for none. Throws for unknown ones, naming the known.
using Activation = Tensor (*)(const Tensor&);
Activation find_activation(std::string_view name);

}  // namespace tandem
