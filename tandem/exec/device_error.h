// Devices know what went wrong; which op it was is known to who runs it.
#pragma once
#include <cstdint>
#include <string_view>

#include "tandem/base/error.h"
#include "tandem/graph/device_group.h"

namespace tandem {

/// Did a device report it?
inline bool is_by_device(const Error& error) {
  return error.code() == ErrorCode::device_lost || error.code() == ErrorCode::device_failed;
}

/// May a run that failed, begun after `before` departures from its group, be done again without the device that failed?
/// Another run may have made it leave since then, also at this moment.
inline bool goes_on_after(const Error& error, DeviceGroup& group, std::uint64_t before) {
  const auto has_left = [&] { return group.departures() != before; };
  return is_by_device(error) && (has_left() || group.leave(error) || has_left());
}

/// Throws `error` again; when a device reported it, with the op's name in front.
[[noreturn]] inline void rethrow_naming(const Error& error, std::string_view op) {
  if (!is_by_device(error) || error.message().starts_with(text(op, ":"))) throw error;
  fail(error.code(), op, ": ", error.message());
}

}  // namespace tandem
