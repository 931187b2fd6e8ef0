// Optimizers: one fused update op a variable and step, with Keras' formulas and defaults. Their state is variables, so
// that a traced training step updates it like any other.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tandem/autodiff/row_notes.h"
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

/// What any optimizer can do around its formula, by Keras' names; 0: it does not.
struct StepOptions {
  bool use_ema = false;  // keeps a moving average of each variable; fit ends with these as the variables' values
  double ema_momentum = 0.99;
  std::int64_t ema_overwrite_frequency = 0;      // the variables become their averages every so many steps
  std::int64_t gradient_accumulation_steps = 0;  // one step with the mean of so many gradients; at least 2
  double loss_scale_factor = 0;                  // gradients are of a loss that was multiplied by this
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates each variable by its gradient; an undefined gradient leaves its variable alone. `homes`: the device of
  /// each variable and its state, where they have devices of their own. `rows`: those that each gradient is made of, as
  /// RowNotes::of_all gives them; of such a one Keras squares each row, so that one that a batch names twice counts
  /// twice, not as the square of a sum.
  void apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients,
                       const std::vector<std::string>& homes = {}, const RowNotes::Lists& rows = {});
  /// Makes the state for these variables; apply_gradients does so by itself.
  void build(const std::vector<Variable>& variables);

  /// That of the next step.
  double learning_rate() const;
  /// Throws where a schedule decides.
  void set_learning_rate(double rate);
  /// Multiplies losses by a scale, so that small float16 gradients do not vanish: halved when a gradient is not finite
  /// (that step is left out), doubled after so many steps that were. Keras' LossScaleOptimizer; models whose layers
  /// compute in mixed_float16 ask for it.
  void scale_losses(double initial_scale = 32768, std::int64_t growth_steps = 2000);
  bool scales_losses() const { return scaling_.has_value(); }
  /// 1 where losses are not scaled.
  double loss_scale() const;
  /// The loss whose gradients apply_gradients expects.
  Tensor scaled_loss(const Tensor& loss) const;
  /// The end of a training: with use_ema the variables become their averages.
  void finalize(const std::vector<Variable>& variables);
  /// As Keras' files have it: where losses are scaled what that needs; iterations, learning rate unless a schedule
  /// decides, averages, added up gradients, the slots, group by group, and what there is more.
  Tensors state(const std::vector<Variable>& variables);
  /// Throws shape_mismatch when it does not fit the variables; then nothing has changed.
  void set_state(const std::vector<Variable>& variables, const Tensors& state);
  /// Keras' name of the class, and its arguments as JSON.
  virtual std::string_view class_name() const = 0;
  std::string arguments() const;
  /// Steps made; gradients that were only added up are none.
  std::int64_t iterations() const { return iterations_.cell()->read().item<std::int64_t>() / gradients_a_step(); }

 protected:
  /// What is kept for each variable, by its first value. Files have a group of all variables before the next group.
  struct Slots {
    std::vector<std::vector<double>> groups = {};
    std::size_t unstored = 0;  // groups at the end that files do not have
  };
  /// The arguments that all have.
  struct Arguments {
    LearningRate learning_rate;
    double weight_decay;
    GradientLimits limits;
    StepOptions step;
  };
  Optimizer(const Arguments& arguments, Slots slots);
  template <class Options>
  static Arguments common(const Options& o) {
    return {o.learning_rate, o.weight_decay, o.limits, o.step};
  }

  /// A number of the formula in the dtype of a variable; made once.
  const Tensor& number(double value, DType dtype);
  Tensor rate(DType dtype) const;
  /// The count of this step, from 1.
  Tensor step(DType dtype) const;
  double weight_decay() const { return arguments_.weight_decay; }
  const Variable& slot(const Variable& variable, std::size_t index) { return slots_of(variable)[index]; }

  /// One op: variable, slots and then `rest` in, new variable and slots out.
  void run(const OpDef& op, const Variable& variable, const std::vector<Tensor>& rest);

  /// Whether this step's gradient is made of rows.
  bool has_rows(const Variable& variable) const { return rows_.contains(variable.id()); }
  /// The squares, or absolute values, of a gradient; of one made of rows their sum over the rows.
  Tensor squares(const Variable& variable, const Tensor& gradient) const;
  Tensor magnitudes(const Variable& variable, const Tensor& gradient) const;

  virtual void begin_step() {}
  virtual void update(const Variable& variable, const Tensor& gradient) = 0;
  /// Whether update() shrinks the variable by the weight decay itself.
  virtual bool decays_by_itself() const { return false; }
  /// Its own arguments, by Keras' names.
  virtual std::map<std::string, double> numbers() const = 0;
  virtual std::map<std::string, bool> flags() const { return {}; }
  /// What it keeps beside the slots; files have it behind them.
  virtual std::vector<Variable> more_state() { return {}; }

 private:
  using States = std::unordered_map<std::uint64_t, std::vector<Variable>>;  // by variable
  const std::vector<Variable>& slots_of(const Variable& variable);
  /// A value like the variable, made when it is asked for first.
  const Variable& beside(States& states, const Variable& variable, const char* name);
  std::int64_t gradients_a_step() const {
    return arguments_.step.gradient_accumulation_steps ? arguments_.step.gradient_accumulation_steps : 1;
  }
  /// Whether this step, counted from 1, is one of `every`.
  Tensor is_due(std::int64_t every) const;
  /// What files hold of the state.
  std::vector<Variable> stored(const std::vector<Variable>& variables);
  Tensors limited(const std::vector<Variable>& variables, Tensors gradients);
  /// Notes that the gradient was multiplied by a factor.
  void scale_rows(const Variable& variable, const Tensor& factor);
  void apply_now(const std::vector<Variable>& variables, const Tensors& gradients);
  void apply_scaled(const std::vector<Variable>& variables, const Tensors& gradients);
  void update_all(const std::vector<Variable>& variables, const Tensors& gradients);
  void accumulate(const std::vector<Variable>& variables, const Tensors& gradients);
  void average(const std::vector<Variable>& variables);

  /// The device that the variable was given for this step; null: any.
  const std::string* home_of(const Variable& variable) const;

  Arguments arguments_;
  std::unordered_map<std::uint64_t, std::string> homes_;  // by variable
  std::unordered_map<std::uint64_t, std::vector<RowNotes::Rows>> rows_;  // by variable; of this step
  Variable learning_rate_, iterations_;
  Slots slot_groups_;
  States slots_, averages_, sums_;
  struct Scaling {
    Variable scale, steps;  // steps since the scale grew or shrank
    std::int64_t growth_steps;
  };
  std::optional<Scaling> scaling_;
  std::map<std::pair<double, DType>, Tensor> numbers_;
};

}  // namespace tandem
