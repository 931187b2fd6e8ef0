// Device scopes, decisions, logging and faults.
#include "tandem/runtime/runtime.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "tandem/base/event_sink.h"
#include "tandem/base/fault.h"
#include "tandem/base/log.h"
#include "tandem/exec/placement_log.h"
#include "tandem/python/convert.h"
#include "tandem/python/device_scopes.h"
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
  out["remedy"] = decision.remedy();
  return out;
}

/// (op, signature, device, kernel, start and end in ticks, thread) of what ran from that tick on.
nb::list spans_since(std::uint64_t begin) {
  nb::list out;
  for (const Span& span : recorded_spans()) {
    if (span.start < begin || !span.decision) continue;
    const Decision& d = *span.decision;
    out.append(nb::make_tuple(d.op, d.signature, d.device, d.kernel, span.start, span.end, span.thread));
  }
  return out;
}

}  // namespace

void add_runtime(nb::module_& module) {
  nb::class_<Scope>(module, "DeviceScope")
      .def(nb::init<std::optional<std::string>>(), nb::arg("name").none())
      .def("enter", &Scope::enter)
      .def("exit", &Scope::exit);
  module.def("device_long_name", [](const std::string& name) { return DeviceName::parse(name).long_name(); });
  module.def("set_log_device_placement", set_log_device_placement);
  module.def("get_log_device_placement", log_device_placement);
  module.def("set_log_level", [](int level) { set_log_level(static_cast<LogLevel>(std::clamp(level, 0, 3))); });
  module.def("get_log_level", [] { return static_cast<int>(log_level()); });
  module.def("set_faults", [](const std::string& plan) { set_faults(plan); });
  module.def("get_faults", faults);
  module.def("fault_list", [] {
    nb::list out;
    for (const FaultInfo& info : fault_list())
      out.append(nb::make_tuple(std::string(info.name), std::string(info.simulates)));
    return out;
  });
  module.def("explain", [](nb::handle value) {
    const Tensor tensor = to_tensor(value.ptr());
    nb::dict out = decision_dict(explain(tensor));
    out["dtype"] = std::string(dtype_name(tensor.dtype()));
    out["shape"] = text(tensor.shape());
    return out;
  });
  module.def("last_decisions", [](std::uint64_t most) {
    nb::list out;
    for (const Decision* decision : last_decisions(most)) out.append(decision_dict(*decision));
    return out;
  });
  module.def("ticks", ticks);
  module.def("nanoseconds_per_tick", nanoseconds_per_tick);
  module.def("spans", spans_since);
}

}  // namespace tandem::python
