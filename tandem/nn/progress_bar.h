// What fit and evaluate print while they work: Keras' progress bar.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace tandem {

/// "accuracy: 0.9123 - loss: 0.2512", each with " - " before it.
std::string metrics_text(const std::map<std::string, double>& values);

/// verbose 0: nothing, 1: a bar that grows, 2: one line at the end.
class ProgressBar {
 public:
  /// `steps` below 0: not known before the end.
  ProgressBar(int verbose, std::int64_t steps);
  void show(std::int64_t done, const std::map<std::string, double>& values);
  void finish(std::int64_t done, const std::map<std::string, double>& values);

 private:
  using Clock = std::chrono::steady_clock;
  double step_seconds(std::int64_t done);
  void draw(std::int64_t done, const std::map<std::string, double>& values, bool last);

  int verbose_;
  std::int64_t steps_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point after_first_ = {};
  std::int64_t first_ = 0;  // steps done when the bar was first shown
  std::size_t width_ = 0;   // of what was drawn
};

}  // namespace tandem
