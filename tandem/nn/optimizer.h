// Optimizers: one fused update op a variable and step, with Keras' formulas and defaults.
#pragma once
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
  double learning_rate() const { return learning_rate_; }
  void set_learning_rate(double rate) { learning_rate_ = rate; }
  std::int64_t iterations() const { return iterations_; }

 protected:
  explicit Optimizer(double learning_rate) : learning_rate_(learning_rate) {}
  /// Called once a step, before the updates.
  virtual void begin_step() {}
  virtual void update(const Variable& variable, const Tensor& gradient) = 0;
  double learning_rate_;
  std::int64_t iterations_ = 0;
};

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;
};
class Sgd final : public Optimizer {
 public:
  explicit Sgd(SgdOptions options = {});

 private:
  void update(const Variable& variable, const Tensor& gradient) override;
  double momentum_;
  std::unordered_map<std::uint64_t, Tensor> velocity_;  // by variable
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

 private:
  /// The scalars of the update, made once and kept, in one dtype.
  struct Scalars {
    Tensor rate, beta_1, beta_2, epsilon;
    std::int64_t step = -1;
  };
  struct Slots {
    Tensor m, v;
  };
  void update(const Variable& variable, const Tensor& gradient) override;
  const Scalars& scalars(DType dtype);
  AdamOptions options_;
  std::unordered_map<int, Scalars> scalars_;          // by dtype
  std::unordered_map<std::uint64_t, Slots> slots_;    // by variable
};

}  // namespace tandem
