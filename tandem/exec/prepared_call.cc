#include "tandem/exec/prepared_call.h"

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

struct Choice {
  Device* device;
  ReasonCode reason;
};

Choice choose_device(const OpCall& call, DeviceRegistry& devices, PlacementRules rules) {
  if (rules.to_host) return {&devices.host_device(), *rules.to_host};
  if (call.requested) {
    if (Device* device = devices.find(*call.requested)) return {device, ReasonCode::requested};
    if (!rules.soft_placement)
      fail(ErrorCode::device_unavailable, "Could not satisfy device specification '", call.requested->long_name(),
           "'. enable_soft_placement=0. All available devices [", device_list(devices.known()), "]. [Op:", call.op.name, "]");
    return {&devices.host_device(), ReasonCode::device_missing};
  }
  if (call.near)
    if (Device* device = devices.find(*call.near)) return {device, ReasonCode::near_its_data};
  return {&devices.host_device(), devices.known().size() == 1 ? ReasonCode::only_device : ReasonCode::near_its_data};
}

std::string dtypes_of(const std::vector<Operand>& operands) {
  std::vector<DType> dtypes;
  for (const Operand& operand : operands) dtypes.push_back(operand.dtype());
  return join(dtypes);
}

/// Tries a device's kernels in order, noting each refusal in `decision`; null when none takes the call.
Prepared choose_kernel(const KernelCall& call, Device& device, Decision& decision) {
  decision.device = device.name().short_name();
  const auto kernels = device.kernels().of(call.op);
  if (kernels.empty()) decision.candidates.push_back({decision.device, "any kernel", false, "there is none for this op"});
  for (const Kernel& kernel : kernels) {
    const Support support = kernel.supports ? kernel.supports(call) : yes();
    decision.candidates.push_back({decision.device, std::string(kernel.name), support.ok, support.reason});
    if (!support) continue;
    decision.kernel = kernel.name;
    return kernel.prepare(call);
  }
  return nullptr;
}

[[noreturn]] void no_kernel(const OpCall& call, const Decision& decision, DeviceRegistry& devices) {
  std::string refusals;
  for (const Candidate& c : decision.candidates) refusals += text("; ", c.kernel, ": ", c.refusal);
  fail(ErrorCode::no_kernel, call.op.name, ": no kernel on ", decision.device, " takes ", decision.signature, refusals,
       "; available devices [", device_list(devices.known()), "]; cast the operands or allow soft placement");
}

}  // namespace

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

std::unique_ptr<PreparedCall> prepare(const OpCall& call, DeviceRegistry& devices, PlacementRules rules) {
  auto prepared = std::make_unique<PreparedCall>(PreparedCall{.key = CallKey(call)});
  std::vector<const TensorSpec*> specs;
  std::vector<Operand> inputs, outputs;
  for (const TensorSpec& spec : prepared->key.inputs) {
    specs.push_back(&spec);
    inputs.emplace_back(spec);
  }
  prepared->outputs = infer(call.op, specs, call.attrs);
  for (const TensorSpec& spec : prepared->outputs) outputs.emplace_back(spec);

  const Choice choice = choose_device(call, devices, rules);
  prepared->device = choice.device;
  Decision decision{.op = std::string(call.op.name),
                    .signature = dtypes_of(inputs.empty() ? outputs : inputs),
                    .requested = call.requested ? call.requested->short_name() : "",
                    .device = choice.device->name().short_name(),
                    .reason = choice.reason};
  if (call.op.view) {
    decision.kernel = "view";
  } else {
    KernelCall kernel_call{call.op, call.attrs, inputs, outputs, choice.device};
    prepared->kernel = choose_kernel(kernel_call, *choice.device, decision);
    Device& host = devices.host_device();
    if (!prepared->kernel && choice.device != &host && rules.soft_placement) {
      decision.reason = ReasonCode::no_kernel;
      prepared->device = kernel_call.device = &host;
      prepared->kernel = choose_kernel(kernel_call, host, decision);
    }
    if (!prepared->kernel) no_kernel(call, decision, devices);
  }
  prepared->decision = intern(decision);
  return prepared;
}

}  // namespace tandem
