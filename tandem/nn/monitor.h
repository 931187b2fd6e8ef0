// A metric that callbacks watch, and whether it gets better.
#pragma once
#include <map>
#include <optional>
#include <string>

namespace tandem {

class Monitor {
 public:
  /// `mode`: "min", "max" or "auto"; throws for others, in the name of `who`.
  Monitor(std::string who, std::string metric, const std::string& mode, double min_delta = 0);

  /// The metric of an epoch. Nothing, and a warning the first time, when it is not among the logs.
  std::optional<double> read(const std::map<std::string, double>& logs);
  bool is_better(double value) const;
  /// Remembers `value` if it is the best so far.
  bool improves(double value);
  std::optional<double> best() const { return best_; }
  void forget() { best_.reset(); }

 private:
  std::string who_, metric_;
  double sign_, min_delta_;  // sign: 1 when more is better
  std::optional<double> best_;
  bool warned_ = false;
};

}  // namespace tandem
