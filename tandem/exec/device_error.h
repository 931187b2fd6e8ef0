// Devices know what went wrong; which op it was is known to who runs it.
#pragma once
#include <string_view>

#include "tandem/base/error.h"

namespace tandem {

/// Did a device report it?
inline bool is_by_device(const Error& error) {
  return error.code() == ErrorCode::device_lost || error.code() == ErrorCode::device_failed;
}

/// Throws `error` again; when a device reported it, with the op's name in front.
[[noreturn]] inline void rethrow_naming(const Error& error, std::string_view op) {
  if (!is_by_device(error) || error.message().starts_with(text(op, ":"))) throw error;
  fail(error.code(), op, ": ", error.message());
}

}  // namespace tandem
