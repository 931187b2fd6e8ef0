#include "tandem/base/error.h"

#include <array>
#include <cstdio>

namespace tandem {
namespace {

constexpr std::array kErrors{
    ErrorInfo{ErrorCode::invalid_shape, "invalid_shape",
              "A shape is impossible: negative, too many axes, or too large."},
    ErrorInfo{ErrorCode::shape_mismatch, "shape_mismatch", "The shapes of the operands do not fit each other."},
    ErrorInfo{ErrorCode::invalid_axis, "invalid_axis", "An axis lies outside the tensor or is named twice."},
    ErrorInfo{ErrorCode::invalid_argument, "invalid_argument", "An argument has a value the op cannot use."},
    ErrorInfo{ErrorCode::index_out_of_range, "index_out_of_range", "An index points outside the tensor."},
    ErrorInfo{ErrorCode::wrong_arity, "wrong_arity", "An op was given the wrong number of tensors."},
    ErrorInfo{ErrorCode::dtype_mismatch, "dtype_mismatch", "Two dtypes were mixed; dtypes never mix silently."},
    ErrorInfo{ErrorCode::unsupported_dtype, "unsupported_dtype", "The op is not defined for this dtype."},
    ErrorInfo{ErrorCode::cannot_convert, "cannot_convert", "A value cannot be converted to what is needed."},
    ErrorInfo{ErrorCode::out_of_memory, "out_of_memory", "The memory of a device or of the host does not suffice."},
    ErrorInfo{ErrorCode::unknown_device, "unknown_device", "A device name cannot be understood."},
    ErrorInfo{ErrorCode::device_unavailable, "device_unavailable", "The requested device does not exist here."},
    ErrorInfo{ErrorCode::no_kernel, "no_kernel", "No kernel of the device accepts the op with these operands."},
    ErrorInfo{ErrorCode::device_lost, "device_lost", "A device disappeared while it was in use."},
    ErrorInfo{ErrorCode::device_failed, "device_failed", "A device or its driver failed at what it was asked to do."},
    ErrorInfo{ErrorCode::too_late, "too_late", "A setting can no longer be changed: the devices are in use."},
    ErrorInfo{ErrorCode::seed_needed, "seed_needed", "A random op was run without a seed while determinism is on."},
    ErrorInfo{ErrorCode::file_error, "file_error", "A file cannot be opened, read or written."},
    ErrorInfo{ErrorCode::bad_file, "bad_file", "A file's content is damaged or of another format."},
    ErrorInfo{ErrorCode::no_gradient, "no_gradient", "There is no gradient for what was asked."},
    ErrorInfo{ErrorCode::tape_used_up, "tape_used_up", "A tape that is not persistent was asked twice."},
    ErrorInfo{ErrorCode::symbolic_value, "symbolic_value",
              "The value of a traced tensor was read before its function runs."},
    ErrorInfo{ErrorCode::cannot_trace, "cannot_trace", "A function does something that cannot be traced into a graph."},
    ErrorInfo{ErrorCode::not_finite, "not_finite", "An op produced NaN or Inf while numerics were checked."},
    ErrorInfo{ErrorCode::internal, "internal", "A check inside TandemFlow failed; please report it."},
};

}  // namespace

std::span<const ErrorInfo> error_list() { return kErrors; }

const ErrorInfo& error_info(ErrorCode code) {
  for (const ErrorInfo& info : kErrors)
    if (info.code == code) return info;
  return kErrors.back();
}

std::string error_id(ErrorCode code) {
  char id[8];
  std::snprintf(id, sizeof id, "E%04d", static_cast<int>(code));
  return id;
}

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(error_id(code) + " " + message),
      code_(code) {}

std::string_view Error::message() const { return std::string_view(what()).substr(error_id(code_).size() + 1); }

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  fail(ErrorCode::internal, "check failed: ", condition, " at ", file, ":", line, message.empty() ? "" : ": ", message);
}

}  // namespace tandem
