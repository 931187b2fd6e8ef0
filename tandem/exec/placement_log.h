// What is said aloud about placement: the first fallback of each kind, and each op when the user wants to see them all.
#pragma once
#include <atomic>
#include <string>
#include <string_view>

#include "tandem/base/decision.h"

namespace tandem {

/// One line with the remedy the first time an op with these dtypes falls back for this reason.
void log_fallback(const Decision& decision);

/// On: each op writes "Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0".
void set_log_device_placement(bool on);
namespace detail {
extern std::atomic<bool> log_each_placement;
}
inline bool log_device_placement() { return detail::log_each_placement.load(std::memory_order_relaxed); }
void log_placement(const Decision& decision);

/// The name TensorFlow gives an op inside graphs and logs: "MatMul" for matmul, "Sum" for reduce_sum.
std::string tensorflow_op_name(std::string_view op);

}  // namespace tandem
