#include "tandem/exec/prepared_call.h"

#include <algorithm>

#include "tandem/exec/placement_log.h"

namespace tandem {
namespace {

bool same_name(const std::optional<DeviceName>& kept, const DeviceName* asked) {
  return asked ? kept == *asked : !kept.has_value();
}

std::uint64_t hash_of(const DeviceName& name) {
  return static_cast<std::uint64_t>(name.kind[0]) << 32 | static_cast<unsigned>(name.index);
}

std::string device_list(std::span<Device* const> devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->name().long_name());
  return join(names);
}

DeviceChoice choose_device(const OpCall& call, DeviceRegistry& devices, const PlacementRules& rules) {
  if (rules.chosen) return *rules.chosen;
  if (call.requested) {
    if (Device* device = devices.find(*call.requested)) return {device, ReasonCode::requested};
    return {&devices.host_device(), devices.why_missing(*call.requested)};
  }
  if (rules.policy == PlacementPolicy::first_gpu)
    if (Device* device = devices.find({"GPU", 0})) return {device, ReasonCode::requested};
  if (call.near)
    if (Device* device = devices.find(*call.near)) return {device, ReasonCode::near_its_data};
  return {&devices.host_device(), devices.known().size() == 1 ? ReasonCode::only_device : ReasonCode::near_its_data};
}

std::string dtypes_of(const std::vector<Operand>& operands) {
  std::vector<DType> dtypes;
  for (const Operand& operand : operands) dtypes.push_back(operand.dtype());
  return join(dtypes);
}

/// find_kernel, noted in `decision`.
const Kernel* note_kernel(const KernelCall& call, Decision& decision) {
  decision.device = call.device->name().short_name();
  const Kernel* kernel = find_kernel(call, decision.candidates);
  if (kernel) decision.kernel = kernel->name;
  return kernel;
}

/// The kinds of device with a kernel that takes the call: "CPU, GPU".
std::string kinds_that_can(const KernelCall& call, std::span<Device* const> devices) {
  std::vector<std::string> kinds;
  for (Device* device : devices) {
    if (std::find(kinds.begin(), kinds.end(), device->name().kind) != kinds.end()) continue;
    std::vector<Candidate> ignored;
    KernelCall there{call.op, call.attrs, call.inputs, call.outputs, device};
    if (call.op.view || find_kernel(there, ignored)) kinds.push_back(device->name().kind);
  }
  return join(kinds);
}

[[noreturn]] void cannot_run(const Decision& decision) {
  std::string refusals;
  for (const Candidate& c : decision.candidates) refusals += text("; ", c.device, " ", c.kernel, ": ", c.refusal);
  fail(ErrorCode::no_kernel, decision.op, ": no kernel takes ", decision.signature, refusals, "; cast the operands");
}

/// TensorFlow's message, and what it leaves out: dtypes, why not, and what would help.
[[noreturn]] void cannot_satisfy(const OpCall& call, const KernelCall& kernel_call, const Decision& decision,
                                 DeviceRegistry& devices) {
  std::string refusals;
  for (const Candidate& c : decision.candidates)
    if (!c.accepted) refusals += text("; ", c.device, " ", c.kernel, ": ", c.refusal);
  const bool no_kernel = decision.reason == ReasonCode::no_kernel;
  const DeviceName& wanted = call.requested ? *call.requested : kernel_call.device->name();
  fail(no_kernel ? ErrorCode::no_kernel : ErrorCode::device_unavailable, "Could not satisfy device specification '",
       wanted.long_name(), "'. enable_soft_placement=0. Supported device types [",
       kinds_that_can(kernel_call, devices.known()), "]. All available devices [", device_list(devices.known()), "]. ",
       decision.op, "(", decision.signature, "): ",
       no_kernel ? text("no kernel of ", wanted.short_name(), " takes it", refusals)
                 : text(wanted.short_name(), " is not there (", reason_name(decision.reason), ")"),
       "; ", decision.remedy(), ". [Op:", call.op.name, "]");
}

}  // namespace

const Kernel* find_kernel(const KernelCall& call, std::vector<Candidate>& asked) {
  const std::string device = call.device->name().short_name();
  const auto kernels = call.device->kernels().of(call.op);
  if (kernels.empty()) asked.push_back({device, "any kernel", false, "there is none for this op"});
  for (const Kernel& kernel : kernels) {
    const Support support = kernel.supports ? kernel.supports(call) : yes();
    asked.push_back({device, std::string(kernel.name), support.ok, support.reason});
    if (support) return &kernel;
  }
  return nullptr;
}

CallKey::CallKey(const OpCall& call) : op(&call.op), attrs(call.attrs) {
  for (const TensorRef& input : call.inputs) inputs.push_back(input->spec());
  if (call.requested) requested = *call.requested;
  if (call.near) near = *call.near;
}

bool CallKey::matches(const OpCall& call) const {
  if (op != &call.op || inputs.size() != call.inputs.size() || !attrs.same_key(call.attrs)) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(inputs[i] == call.inputs[i]->unchecked()->spec)) return false;
  return same_name(requested, call.requested) && same_name(near, call.near);
}

std::uint64_t hash_of(const OpCall& call) {
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(&call.op), call.attrs.hash());
  for (const TensorRef& input : call.inputs) hash = mix(hash, input->impl()->spec.hash());
  if (call.requested) hash = mix(hash, hash_of(*call.requested));
  if (call.near) hash = mix(hash, ~hash_of(*call.near));
  return hash;
}

std::unique_ptr<PreparedCall> prepare(const OpCall& call, DeviceRegistry& devices, const PlacementRules& rules) {
  auto prepared = std::make_unique<PreparedCall>(PreparedCall{.key = CallKey(call)});
  if (call.owner) prepared->owner = *call.owner;
  std::vector<const TensorSpec*> specs;
  std::vector<Operand> inputs, outputs;
  for (const TensorSpec& spec : prepared->key.inputs) {
    specs.push_back(&spec);
    inputs.emplace_back(spec);
  }
  prepared->outputs = infer(call.op, specs, call.attrs);
  for (const TensorSpec& spec : prepared->outputs) outputs.emplace_back(spec);

  const DeviceChoice choice = choose_device(call, devices, rules);
  prepared->device = choice.device;
  Decision decision{.op = std::string(call.op.name),
                    .signature = dtypes_of(inputs.empty() ? outputs : inputs),
                    .requested = call.requested ? call.requested->short_name() : "",
                    .device = choice.device->name().short_name(),
                    .reason = choice.reason};
  KernelCall kernel_call{call.op, call.attrs, inputs, outputs, choice.device};
  const bool missing = is_fallback(choice.reason) && !rules.chosen;
  if (missing && !rules.soft_placement) cannot_satisfy(call, kernel_call, decision, devices);
  if (call.op.view) {
    decision.kernel = "view";
  } else {
    const Kernel* kernel = note_kernel(kernel_call, decision);
    Device& host = devices.host_device();
    if (!kernel && choice.device != &host) {
      decision.reason = ReasonCode::no_kernel;
      if (!rules.soft_placement) cannot_satisfy(call, kernel_call, decision, devices);
      prepared->device = kernel_call.device = &host;
      kernel = note_kernel(kernel_call, decision);
    }
    if (!kernel) {
      decision.reason = ReasonCode::no_kernel;
      cannot_run(decision);
    }
    prepared->kernel = kernel->prepare(kernel_call);
  }
  prepared->decision = intern(decision);
  const bool policy_asked = decision.requested.empty() && rules.policy == PlacementPolicy::first_gpu;
  if (is_fallback(decision.reason) && !rules.placed && !policy_asked) log_fallback(decision);
  return prepared;
}

}  // namespace tandem
