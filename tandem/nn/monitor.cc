#include "tandem/nn/monitor.h"

#include <cmath>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/base/log.h"

namespace tandem {
namespace {

bool grows(const std::string& metric) {
  for (const char* word : {"acc", "auc", "precision", "recall", "f1", "iou", "r2", "cosine_similarity"})
    if (metric.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

Monitor::Monitor(std::string who, std::string metric, const std::string& mode, double min_delta)
    : who_(std::move(who)),
      metric_(std::move(metric)),
      sign_(mode == "max" || (mode == "auto" && grows(metric_)) ? 1 : -1),
      min_delta_(std::abs(min_delta)) {
  if (mode != "auto" && mode != "min" && mode != "max")
    fail(ErrorCode::invalid_argument, who_, ": mode must be 'auto', 'min' or 'max', got '", mode, "'");
}

std::optional<double> Monitor::read(const std::map<std::string, double>& logs) {
  if (const auto found = logs.find(metric_); found != logs.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, value] : logs) known.push_back(name);
  if (!warned_)
    log(LogLevel::warning, text(who_, " watches '", metric_, "', which is not there; the metrics are ", join(known)));
  warned_ = true;
  return std::nullopt;
}

bool Monitor::is_better(double value) const { return !best_ || sign_ * (value - *best_) > min_delta_; }

bool Monitor::improves(double value) {
  if (!is_better(value)) return false;
  best_ = value;
  return true;
}

}  // namespace tandem
