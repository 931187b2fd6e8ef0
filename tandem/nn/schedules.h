// Learning rates that change from step to step, with Keras' names and formulas. They are computed by the plan of a
// step.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

class LearningRateSchedule {
 public:
  virtual ~LearningRateSchedule() = default;
  /// The rate of a step, counted from 0; a scalar of f64 in and out.
  virtual Tensor at(const Tensor& step) const = 0;
  /// Keras' name of the class, and its arguments as JSON.
  virtual std::string_view class_name() const = 0;
  virtual std::string arguments() const = 0;
};
using RateSchedule = std::shared_ptr<const LearningRateSchedule>;

/// A number, or a schedule.
class LearningRate {
 public:
  LearningRate(double rate) : rate_(rate) {}                           // NOLINT: a number is a rate
  LearningRate(RateSchedule schedule) : schedule_(std::move(schedule)) {}  // NOLINT: so is a schedule
  double number() const { return rate_; }
  const RateSchedule& schedule() const { return schedule_; }

 private:
  double rate_ = 0;
  RateSchedule schedule_;
};

struct ExponentialDecayOptions {
  double initial_learning_rate, decay_steps, decay_rate;
  bool staircase = false;
};
RateSchedule ExponentialDecay(const ExponentialDecayOptions& options);

struct PolynomialDecayOptions {
  double initial_learning_rate, decay_steps;
  double end_learning_rate = 1e-4, power = 1;
  bool cycle = false;  // beyond decay_steps: a decay twice, three times … as long
};
RateSchedule PolynomialDecay(const PolynomialDecayOptions& options);

struct InverseTimeDecayOptions {
  double initial_learning_rate, decay_steps, decay_rate;
  bool staircase = false;
};
RateSchedule InverseTimeDecay(const InverseTimeDecayOptions& options);

struct CosineDecayOptions {
  double initial_learning_rate, decay_steps;
  double alpha = 0;
  double warmup_target = 0, warmup_steps = 0;  // no steps: no warm-up
};
RateSchedule CosineDecay(const CosineDecayOptions& options);

struct CosineDecayRestartsOptions {
  double initial_learning_rate, first_decay_steps;
  double t_mul = 2, m_mul = 1;  // how much longer each period is than the one before, and how much higher it starts
  double alpha = 0;
};
RateSchedule CosineDecayRestarts(const CosineDecayRestartsOptions& options);

/// values[i] up to and including step boundaries[i]; the last value after them all.
RateSchedule PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values);

/// From the class and arguments in a file; null for what is not known here.
RateSchedule read_schedule(std::string_view class_name, std::string_view arguments);

}  // namespace tandem
