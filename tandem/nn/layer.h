// A layer: what a model is made of. Those of Keras are in layers.h.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/autodiff/variable.h"
#include "tandem/nn/initializers.h"
#include "tandem/nn/layer_config.h"
#include "tandem/op/ops.h"

namespace tandem {

class Layer;
class Symbol;

/// Results of a layer, and which steps of the first count; the mask is undefined where all do.
struct Masked {
  Tensors values;
  Tensor mask;
};

/// A layer. Called on values it runs; called on the symbols of a model that is being drawn (symbol.h) it becomes a part of it.
class LayerPtr : public std::shared_ptr<Layer> {
 public:
  using shared_ptr::shared_ptr;
  LayerPtr(std::shared_ptr<Layer> layer) : shared_ptr(std::move(layer)) {}  // NOLINT: a layer is one
  Tensor operator()(const Tensor& x, bool training = false) const;
  Symbol operator()(const Symbol& x) const;
  Symbol operator()(const std::vector<Symbol>& inputs) const;
};

/// Built at the first call, from the shape of what it is given; variables live on from then. A layer of one's own defines
/// `call` and, if it has variables, `make_variables`; to be loaded from files it takes its arguments from a LayerConfig.
class Layer {
 public:
  explicit Layer(std::string name) : Layer(LayerConfig("", std::move(name))) {}
  explicit Layer(LayerConfig config) : config_(std::move(config)), name_(config_.name()) {}
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
  /// The activation at its end that it can leave out, "softmax" or "sigmoid"; empty: none. What losses from logits read.
  virtual std::string_view last_activation() const { return {}; }
  virtual Tensor logits(const Tensor& x, bool training) { return call(x, training); }

  const std::string& name() const { return name_; }
  const LayerConfig& config() const { return config_; }
  /// Its own, then those of the layers inside it.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const;
  std::int64_t count_params() const;
  /// What its variables cost, by the regularizers in its arguments; those of the layers inside it too.
  Tensors losses() const;

  /// The layers inside it and where Keras' files keep them: "forward_layer".
  virtual std::vector<std::pair<std::string, LayerPtr>> children() const { return {}; }
  const std::vector<Variable>& own_variables() const { return variables_; }
  /// Where Keras' files keep its own variables.
  virtual std::string variables_path() const { return "vars"; }
  /// Gives its own variables these values, now or when they are made. Throws when number or shapes differ; then
  /// nothing has changed.
  void set_weights(Tensors values);

 protected:
  virtual void make_variables(const Shape&) {}
  virtual Tensor call(const Tensor& x, bool training) = 0;
  virtual Tensors call_all(const Tensors& inputs, bool training);
  /// For layers that look at masks or make one.
  virtual Masked call_masked(const Tensors& inputs, const Tensors& masks, bool training);
  /// Makes a variable. Its value is what set_weights has given, else what the argument NAME_initializer says, else `initial`.
  Variable add_weight(std::string name, const Shape& shape, const Initializer& initial, bool trainable = true);

 private:
  LayerConfig config_;
  std::string name_;
  std::vector<Variable> variables_;
  Tensors given_;  // by set_weights before the variables were made
  bool has_given_ = false;
  std::vector<std::pair<Variable, std::string>> penalties_;  // what a regularizer, as its argument has it, is for
  bool built_ = false;
  Shape built_for_;
};

/// "relu", "sigmoid", "softmax" and Keras' others; "linear" and "" for none. Throws for unknown ones, naming the known.
using Activation = Tensor (*)(const Tensor&);
Activation find_activation(std::string_view name);

}  // namespace tandem
