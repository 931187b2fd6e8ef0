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
  StepOptions step = {};
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
  bool amsgrad = false;  // the velocity never shrinks
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
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
  void update_amsgrad(const Variable& variable, const Tensor& gradient);
  /// Of a gradient made of rows; `decay` as in apply_adamw.
  void update_rows(const Variable& variable, const Tensor& gradient, const Tensor& decay);
  bool amsgrad() const { return options_.amsgrad; }

 private:
  void begin_step() override { corrected_.clear(); }
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;
  std::map<std::string, bool> flags() const override { return {{"amsgrad", options_.amsgrad}}; }

  AdamOptions options_;
  std::map<DType, Tensor> corrected_;
};

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
  GradientLimits limits = {};
  StepOptions step = {};
};
/// Adam that shrinks the weights by themselves, not by way of the gradients.
class AdamW final : public Adam {
 public:
  explicit AdamW(const AdamWOptions& o = {})
      : Adam({o.learning_rate, o.beta_1, o.beta_2, o.epsilon, o.amsgrad, o.weight_decay, o.limits, o.step}) {}
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
  bool centered = false;  // by the variance of the gradients, not their mean square
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
};
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
  std::string_view class_name() const override { return "RMSprop"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;
  std::map<std::string, bool> flags() const override { return {{"centered", options_.centered}}; }
  RMSpropOptions options_;
};

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
  double epsilon = 1e-7;
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
};
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const AdagradOptions& options = {});
  std::string_view class_name() const override { return "Adagrad"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;
  AdagradOptions options_;
};

struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
};
class Adadelta final : public Optimizer {
 public:
  explicit Adadelta(const AdadeltaOptions& options = {});
  std::string_view class_name() const override { return "Adadelta"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;
  AdadeltaOptions options_;
};

/// Of Adamax and Nadam.
struct AdamKinOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
};
class AdamKin : public Optimizer {
 protected:
  explicit AdamKin(const AdamKinOptions& options)
      : Optimizer(common(options), {.groups = {{0, 0}}}),
        options_(options) {}
  /// 1 - beta^t, of this step.
  Tensor left(double beta, DType dtype);
  AdamKinOptions options_;

 private:
  std::map<std::string, double> numbers() const override;
};
/// Adam by the largest gradient instead of the mean square.
class Adamax final : public AdamKin {
 public:
  explicit Adamax(const AdamKinOptions& options = {}) : AdamKin(options) {}
  std::string_view class_name() const override { return "Adamax"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
};
/// Adam with Nesterov's momentum.
class Nadam final : public AdamKin {
 public:
  explicit Nadam(const AdamKinOptions& options = {}) : AdamKin(options) {}
  std::string_view class_name() const override { return "Nadam"; }

 private:
  void begin_step() override { moved_on_ = false; }
  void update(const Variable& variable, const Tensor& gradient) override;
  std::vector<Variable> more_state() override { return {product_}; }
  /// The momentum of a step, counted from 1.
  Tensor momentum_at(const Tensor& step);
  /// The product of the momenta of all steps.
  Variable product_{Tensor::scalar(1.0, DType::f64), false, "u_product"};
  bool moved_on_ = false;
};

struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.99;
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
};
/// By the signs of the gradients alone.
class Lion final : public Optimizer {
 public:
  explicit Lion(const LionOptions& options = {});
  std::string_view class_name() const override { return "Lion"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override {
    return {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}};
  }
  LionOptions options_;
};

struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;
  double l2_regularization_strength = 0;
  double l2_shrinkage_regularization_strength = 0;
  double beta = 0;
  double weight_decay = 0;
  GradientLimits limits = {};
  StepOptions step = {};
};
class Ftrl final : public Optimizer {
 public:
  explicit Ftrl(const FtrlOptions& options = {});
  std::string_view class_name() const override { return "Ftrl"; }

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  std::map<std::string, double> numbers() const override;
  FtrlOptions options_;
};

/// By Keras' name, with its defaults: "sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "adamax", "nadam",
/// "lion", "ftrl". Throws for others, naming the known ones.
std::shared_ptr<Optimizer> make_optimizer(std::string_view name);
/// From Keras' name of the class and its arguments as JSON; null for what is not known here.
std::shared_ptr<Optimizer> read_optimizer(std::string_view class_name, std::string_view arguments);

}  // namespace tandem
