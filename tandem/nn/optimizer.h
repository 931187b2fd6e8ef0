// Optimizers: one fused update op a variable and step, with Keras' formulas and defaults. Their state is variables, so
// that a traced training step updates it like any other.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tandem/autodiff/variable.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/schedules.h"

namespace tandem {

/// What is done to all gradients before they are used; 0: nothing.
struct GradientLimits {
  double clipnorm = 0;         // each gradient is shortened to this norm
  double global_clipnorm = 0;  // all of them together are
  double clipvalue = 0;        // each element is kept within +- this
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates each variable by its gradient; an undefined gradient leaves its variable alone.
  void apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients);
  /// Makes the state for these variables; apply_gradients does so by itself.
  void build(const std::vector<Variable>& variables);

  /// That of the next step.
  double learning_rate() const;
  /// Throws where a schedule decides.
  void set_learning_rate(double rate);
  /// As Keras' files have it: iterations, learning rate unless a schedule decides, then the slots of each variable in turn.
  Tensors state(const std::vector<Variable>& variables);
  /// Throws shape_mismatch when it does not fit the variables; then nothing has changed.
  void set_state(const std::vector<Variable>& variables, const Tensors& state);
  /// Keras' name of the class, and its arguments as JSON.
  virtual std::string_view class_name() const = 0;
  std::string arguments() const;
  std::int64_t iterations() const { return iterations_.cell()->read().item<std::int64_t>(); }

 protected:
  /// `slots` values are kept for each variable, zero at first; the first `stored` of them are written to files.
  struct Slots {
    int count = 0, stored = count;
  };
  Optimizer(const LearningRate& learning_rate, Slots slots, const GradientLimits& limits, double weight_decay);

  /// A number of the formula in the dtype of a variable; made once.
  const Tensor& number(double value, DType dtype);
  Tensor rate(DType dtype) const;
  /// The count of this step, from 1.
  Tensor step(DType dtype) const;
  double weight_decay() const { return weight_decay_; }

  /// One op: variable, slots and then `rest` in, new variable and slots out.
  void run(const OpDef& op, const Variable& variable, const std::vector<Tensor>& rest);

  virtual void begin_step() {}
  virtual void update(const Variable& variable, const Tensor& gradient) = 0;
  /// Whether update() shrinks the variable by the weight decay itself.
  virtual bool decays_by_itself() const { return false; }
  /// Its own arguments, by Keras' names.
  virtual std::map<std::string, double> numbers() const = 0;
  virtual std::map<std::string, bool> flags() const { return {}; }

 private:
  const std::vector<Variable>& slots_of(const Variable& variable);
  /// What files hold of the state.
  std::vector<Variable> stored(const std::vector<Variable>& variables);
  Tensors limited(Tensors gradients) const;

  Variable learning_rate_, iterations_;
  RateSchedule schedule_;
  Slots slot_counts_;
  GradientLimits limits_;
  double weight_decay_;
  std::unordered_map<std::uint64_t, std::vector<Variable>> slots_;  // by variable
  std::map<std::pair<double, DType>, Tensor> numbers_;
};

}  // namespace tandem
