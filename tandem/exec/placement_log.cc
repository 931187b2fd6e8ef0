#include "tandem/exec/placement_log.h"

#include <cctype>
#include <mutex>
#include <set>

#include "tandem/base/log.h"
#include "tandem/base/text.h"
#include "tandem/core/device.h"

namespace tandem {
namespace detail {
std::atomic<bool> log_each_placement{false};
}

namespace {

/// What does not follow from the rule "each word with a capital letter".
struct OtherName {
  std::string_view op, tensorflow;
};
constexpr OtherName kOtherNames[] = {
    {"add", "AddV2"},
    {"multiply", "Mul"},
    {"subtract", "Sub"},
    {"divide", "RealDiv"},
    {"negative", "Neg"},
    {"matmul", "MatMul"},
    {"conv2d", "Conv2D"},
    {"conv2d_backprop_input", "Conv2DBackpropInput"},
    {"conv2d_backprop_filter", "Conv2DBackpropFilter"},
    {"max_pool2d", "MaxPool"},
    {"max_pool2d_grad", "MaxPoolGrad"},
    {"reduce_sum", "Sum"},
    {"reduce_mean", "Mean"},
    {"reduce_max", "Max"},
    {"reduce_min", "Min"},
    {"reduce_prod", "Prod"},
    {"reduce_all", "All"},
    {"reduce_any", "Any"},
    {"argmax", "ArgMax"},
    {"argmin", "ArgMin"},
    {"concat", "ConcatV2"},
    {"gather", "GatherV2"},
    {"where", "SelectV2"},
    {"random_normal", "RandomStandardNormal"},
    {"pad", "PadV2"},
};

}  // namespace

std::string tensorflow_op_name(std::string_view op) {
  for (const OtherName& other : kOtherNames)
    if (other.op == op) return std::string(other.tensorflow);
  std::string name;
  bool capital = true;
  for (char c : op) {
    if (c != '_') name += capital ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    capital = c == '_';
  }
  return name;
}

void log_fallback(const Decision& decision) {
  static auto& mutex = *new std::mutex;
  static auto& said = *new std::set<std::string>;
  // A device that is not there is missed by every op of a program alike: one line says it all.
  const bool by_device = decision.reason == ReasonCode::device_missing || decision.reason == ReasonCode::device_lost ||
                         decision.reason == ReasonCode::not_visible;
  const std::string op = by_device ? "" : text(decision.op, '|', decision.signature);
  {
    std::lock_guard lock(mutex);
    if (!said.insert(text(op, '|', reason_name(decision.reason), '|', decision.requested)).second) return;
  }
  log(LogLevel::warning, text(decision.text(), " (", reason_name(decision.reason), "). ", decision.remedy(),
                              ". This is said once for this ", by_device ? "device." : "op, dtype and reason."));
}

void set_log_device_placement(bool on) { detail::log_each_placement.store(on); }

void log_placement(const Decision& decision) {
  log(LogLevel::info, text("Executing op ", tensorflow_op_name(decision.op), " in device ",
                           DeviceName::parse(decision.device).long_name()));
}

}  // namespace tandem
