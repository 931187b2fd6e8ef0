#include "tandem/python/device_scopes.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/base/decision.h"
#include "tandem/base/error.h"
#include "tandem/graph/trace.h"
#include "tandem/op/dispatcher.h"
#include "tandem/runtime/runtime.h"

namespace tandem::python {
namespace {

struct Entered {
  std::uint64_t by;                // the Scope
  std::optional<DeviceName> name;  // none: it leaves the choice to the scopes outside
  bool hides = false;
  std::unique_ptr<DeviceScope> scope;
};

/// A scope stands on the stack of the thread that entered it: it is that thread's to take away, at the latest when it
/// ends.
std::vector<Entered>& entered() {
  thread_local std::vector<Entered> list;
  return list;
}

/// "/GPU", "/device:GPU:*": a kind of device and no index.
bool leaves_index_open(std::string_view name) {
  for (const auto part : std::views::split(name, '/')) {
    std::string_view word(part.begin(), part.end());
    if (word.empty() || word.starts_with("job:") || word.starts_with("replica:") || word.starts_with("task:")) continue;
    if (word.starts_with("device:")) word.remove_prefix(7);
    return word.find(':') == word.npos || word.ends_with(":*");
  }
  return false;
}

/// As TensorFlow merges names: what the inner one leaves open is as in the outer one.
std::optional<DeviceName> inside_others(const std::string& name) {
  std::optional<DeviceName> inner = DeviceName::parse_request(name);
  const std::optional<DeviceName> outer = requested_device();
  if (inner && outer && inner->kind == outer->kind && leaves_index_open(name)) inner->index = outer->index;
  return inner;
}

}  // namespace

Scope::Scope(std::optional<std::string> name) : name_(std::move(name)) {
  static std::atomic<std::uint64_t> scopes{0};
  id_ = ++scopes;
  if (name_) DeviceName::parse_request(*name_);
}

void Scope::enter() const {
  Entered now{.by = id_, .hides = !name_};
  if (name_) now.name = inside_others(*name_);
  now.scope = name_ ? std::make_unique<DeviceScope>(now.name ? now.name->long_name() : "")
                    : std::make_unique<DeviceScope>(nullptr);
  entered().push_back(std::move(now));
}

void Scope::exit() const {
  auto& list = entered();
  const auto last = std::find_if(list.rbegin(), list.rend(), [&](const Entered& one) { return one.by == id_; });
  if (last != list.rend()) list.erase(std::next(last).base());
}

std::optional<DeviceName> requested_device() {
  for (const Entered& one : std::views::reverse(entered()))
    if (one.name || one.hides) return one.name;
  return {};
}

Tensor where_it_was_made(const Tensor& of_host) {
  const std::optional<DeviceName> wanted = requested_device();
  if (!wanted || of_host.device() == wanted->long_name() || of_host.is_symbolic() || of_host.dtype() == DType::string ||
      of_host.size() == 0 || Trace::current())
    return of_host;
  const std::span<Device* const> devices = default_runtime().devices();
  const auto device = std::ranges::find(devices, *wanted, &Device::name);
  if (device == devices.end()) return of_host;
  try {
    of_host.impl()->storage->read((*device)->memory());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory || !default_runtime().soft_device_placement()) throw;
    return of_host;
  }
  const std::string name = wanted->short_name();
  return of_host.sharing(
      of_host.spec(), intern({.op = "constant", .requested = name, .device = name, .reason = ReasonCode::requested}));
}

}  // namespace tandem::python
