// `with tf.device(name)`: the scopes that the calling thread has entered.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tandem/core/device.h"
#include "tandem/core/tensor.h"

namespace tandem::python {

/// One `tf.device(name)`; no name hides the scopes outside. It may be entered again, also inside itself, and by several
/// threads: each leaves what it has entered itself.
class Scope {
 public:
  explicit Scope(std::optional<std::string> name);
  void enter() const;
  void exit() const;

 private:
  std::optional<std::string> name_;
  std::uint64_t id_;
};

/// What the innermost scope of the thread asks for, if any does.
std::optional<DeviceName> requested_device();

/// A tensor just made of the program's data. Where a scope asks for a device with a memory of its own, its bytes are on
/// their way there and it lies on both; what that device does not hold stays on the host.
Tensor where_it_was_made(const Tensor& of_host);

}  // namespace tandem::python
