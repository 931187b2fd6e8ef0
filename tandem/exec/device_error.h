// Devices know what went wrong; which op it was is known to who runs it.
#pragma once
#include <string_view>

#include "tandem/base/error.h"

namespace tandem {

/// Throws `error` again; when a device reported it, with the op's name in front.
[[noreturn]] inline void rethrow_naming(const Error& error, std::string_view op) {
  const bool by_device = error.code() == ErrorCode::device_lost || error.code() == ErrorCode::device_failed;
  if (!by_device || error.message().starts_with(text(op, ":"))) throw error;
  fail(error.code(), op, ": ", error.message());
}

}  // namespace tandem
