// Devices, placement and decisions.
#include "tandem/runtime/runtime.h"

#include <nanobind/stl/string.h>

#include <memory>

#include "tandem/base/event_sink.h"
#include "tandem/op/dispatcher.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

nb::dict decision_dict(const Decision& decision) {
  nb::list candidates;
  for (const Candidate& candidate : decision.candidates) {
    nb::dict entry;
    entry["device"] = candidate.device;
    entry["kernel"] = candidate.kernel;
    entry["accepted"] = candidate.accepted;
    entry["refusal"] = candidate.refusal;
    candidates.append(entry);
  }
  nb::dict out;
  out["op"] = decision.op;
  out["signature"] = decision.signature;
  out["requested"] = decision.requested;
  out["device"] = decision.device;
  out["kernel"] = decision.kernel;
  out["reason"] = std::string(reason_name(decision.reason));
  out["candidates"] = candidates;
  out["text"] = decision.text();
  return out;
}

/// `with tf.device(name)`. Scopes may be entered again, also inside themselves.
class Scope {
 public:
  explicit Scope(std::string name) : name_(std::move(name)) { DeviceName::parse(name_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  void enter() { entered_.push_back(std::make_unique<DeviceScope>(name_)); }
  void exit() {
    if (!entered_.empty()) entered_.pop_back();
  }

 private:
  std::string name_;
  std::vector<std::unique_ptr<DeviceScope>> entered_;
};

nb::list devices() {
  nb::list out;
  for (const Device* device : default_runtime().devices()) {
    const DeviceProperties& p = device->properties();
    out.append(nb::make_tuple(p.name.kind, p.name.index, p.description, p.memory_bytes));
  }
  return out;
}

}  // namespace

void add_runtime(nb::module_& module) {
  nb::class_<Scope>(module, "DeviceScope")
      .def(nb::init<std::string>())
      .def("enter", &Scope::enter)
      .def("exit", &Scope::exit);
  module.def("devices", devices, "Kind, index, description and memory of every device.");
  module.def("device_long_name", [](const std::string& name) { return DeviceName::parse(name).long_name(); });
  module.def("set_soft_device_placement", [](bool on) { default_runtime().set_soft_device_placement(on); });
  module.def("get_soft_device_placement", [] { return default_runtime().soft_device_placement(); });
  module.def("explain", [](nb::handle tensor) { return decision_dict(explain(to_tensor(tensor.ptr()))); });
  module.def("last_decisions", [](std::uint64_t most) {
    nb::list out;
    for (const Decision* decision : last_decisions(most)) out.append(decision_dict(*decision));
    return out;
  });
}

}  // namespace tandem::python
