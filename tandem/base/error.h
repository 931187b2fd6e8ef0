// Errors: thrown when the user or the machine is at fault. Each has a code with a page in docs/errors.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tandem/base/text.h"

namespace tandem {

enum class ErrorCode : std::uint16_t {
  invalid_shape = 101,
  shape_mismatch = 102,
  invalid_axis = 103,
  invalid_argument = 104,
  index_out_of_range = 105,
  wrong_arity = 106,
  dtype_mismatch = 201,
  unsupported_dtype = 202,
  cannot_convert = 203,
  out_of_memory = 301,
  unknown_device = 401,
  device_unavailable = 402,
  no_kernel = 403,
  device_lost = 404,
  device_failed = 405,
  too_late = 406,
  seed_needed = 407,
  file_error = 501,
  bad_file = 502,
  no_gradient = 601,
  tape_used_up = 602,
  symbolic_value = 701,
  cannot_trace = 702,
  not_finite = 703,
  internal = 901,
};

/// What the documentation and the tests need to know about a code.
struct ErrorInfo {
  ErrorCode code;
  std::string_view name;   // "shape_mismatch"
  std::string_view title;  // one sentence for people
};
std::span<const ErrorInfo> error_list();
const ErrorInfo& error_info(ErrorCode code);

/// "E0102"
std::string error_id(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message);
  ErrorCode code() const { return code_; }
  /// What what() says after the code.
  std::string_view message() const;

 private:
  ErrorCode code_;
};

template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Error(code, text(parts...));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& message);

}  // namespace tandem

/// For what can only be our own fault; a user's mistake is an Error with a code of its own.
#define TANDEM_CHECK(condition, ...)                 \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? void()                                      \
       : ::tandem::check_failed(#condition, __FILE__, __LINE__, ::tandem::text(__VA_ARGS__)))
