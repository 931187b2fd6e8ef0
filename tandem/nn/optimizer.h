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

namespace tandem {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Updates each variable by its gradient; an undefined gradient leaves its variable alone.
  void apply_gradients(const std::vector<Variable>& variables, const Tensors& gradients);
  /// Makes the state for these variables; apply_gradients does so by itself.
  void build(const std::vector<Variable>& variables);

  double learning_rate() const { return learning_rate_.cell()->read().item<double>(); }
  void set_learning_rate(double rate) { learning_rate_.assign(Tensor::scalar(rate, learning_rate_.dtype())); }
  /// As Keras' files have it: iterations, learning rate, then the slots of each variable in turn.
  Tensors state(const std::vector<Variable>& variables);
  /// Throws shape_mismatch when it does not fit the variables; then nothing has changed.
  void set_state(const std::vector<Variable>& variables, const Tensors& state);
  /// Keras' name of the class and its arguments.
  virtual std::string_view class_name() const = 0;
  virtual std::map<std::string, double> arguments() const = 0;
  std::int64_t iterations() const { return iterations_.cell()->read().item<std::int64_t>(); }

 protected:
  /// `slots` values are kept for each variable, zero at first.
  Optimizer(double learning_rate, int slots);

  /// A number of the formula in the dtype of a variable; made once.
  const Tensor& number(double value, DType dtype);
  Tensor rate(DType dtype) const;
  /// The count of this step, from 1.
  Tensor step(DType dtype) const;

  /// One op: variable, slots and then `rest` in, new variable and slots out.
  void run(const OpDef& op, const Variable& variable, const std::vector<Tensor>& rest);

  virtual void begin_step() {}
  virtual void update(const Variable& variable, const Tensor& gradient) = 0;

 private:
  const std::vector<Variable>& slots_of(const Variable& variable);

  Variable learning_rate_, iterations_;
  int slot_count_;
  std::unordered_map<std::uint64_t, std::vector<Variable>> slots_;  // by variable
  std::map<std::pair<double, DType>, Tensor> numbers_;
};

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;
};
class Sgd final : public Optimizer {
 public:
  explicit Sgd(SgdOptions options = {});
  std::string_view class_name() const override { return "SGD"; }
  std::map<std::string, double> arguments() const override { return {{"learning_rate", learning_rate()}, {"momentum", momentum_}}; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  double momentum_;
};

struct AdamOptions {
  double learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
};
class Adam final : public Optimizer {
 public:
  explicit Adam(AdamOptions options = {});
  std::string_view class_name() const override { return "Adam"; }
  std::map<std::string, double> arguments() const override;

 private:
  void begin_step() override { corrected_.clear(); }
  void update(const Variable& variable, const Tensor& gradient) override;
  /// The rate with the bias correction of this step; computed once a step and dtype.
  const Tensor& corrected_rate(DType dtype);

  AdamOptions options_;
  std::map<DType, Tensor> corrected_;
};

/// By Keras' name, with its defaults: "sgd", "adam". Throws for others, naming the known ones.
std::shared_ptr<Optimizer> make_optimizer(std::string_view name);

}  // namespace tandem
