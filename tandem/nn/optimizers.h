// Keras' optimizers, with its names, arguments and defaults.
#pragma once
#include "tandem/nn/optimizer.h"

namespace tandem {

struct SgdOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  GradientLimits limits = {};
};
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const SgdOptions& options = {});
  std::string_view class_name() const override { return "SGD"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override { return {{"momentum", momentum_}}; }
  std::map<std::string, bool> flags() const override { return {{"nesterov", nesterov_}}; }
  double momentum_;
  bool nesterov_;
};

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0;
  GradientLimits limits = {};
};
class Adam : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options = {});
  std::string_view class_name() const override { return "Adam"; }

 protected:
  /// The rate with the bias correction of this step; computed once a step and dtype.
  const Tensor& corrected_rate(DType dtype);
  /// Gradient, rate, betas and epsilon: what both formulas take.
  std::vector<Tensor> terms(const Tensor& gradient, DType dtype);

 private:
  void begin_step() override { corrected_.clear(); }
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;

  AdamOptions options_;
  std::map<DType, Tensor> corrected_;
};

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  GradientLimits limits = {};
};
/// Adam that shrinks the weights by themselves, not by way of the gradients.
class AdamW final : public Adam {
 public:
  explicit AdamW(const AdamWOptions& o = {}) : Adam({o.learning_rate, o.beta_1, o.beta_2, o.epsilon, o.weight_decay, o.limits}) {}
  std::string_view class_name() const override { return "AdamW"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  bool decays_by_itself() const override { return true; }
};

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  double weight_decay = 0;
  GradientLimits limits = {};
};
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
  std::string_view class_name() const override { return "RMSprop"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;
  RMSpropOptions options_;
};

/// By Keras' name, with its defaults: "sgd", "adam", "adamw", "rmsprop". Throws for others, naming the known ones.
std::shared_ptr<Optimizer> make_optimizer(std::string_view name);
/// From Keras' name of the class and its arguments as JSON; null for what is not known here.
std::shared_ptr<Optimizer> read_optimizer(std::string_view class_name, std::string_view arguments);

}  // namespace tandem
