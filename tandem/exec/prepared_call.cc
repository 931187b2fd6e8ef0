#include "tandem/exec/prepared_call.h"

namespace tandem {
namespace {

bool same_request(const std::optional<DeviceName>& kept, const DeviceName* asked) {
  return asked ? kept == *asked : !kept.has_value();
}

std::string device_list(const std::vector<Device*>& devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->name().long_name());
  return join(names);
}

Device* find(const std::vector<Device*>& devices, const DeviceName& name) {
  for (Device* device : devices)
    if (device->name() == name) return device;
  return nullptr;
}

struct Choice {
  Device* device;
  ReasonCode reason;
};

Choice choose_device(const OpCall& call, const DeviceSet& set) {
  if (!call.requested) return {set.devices.front(), ReasonCode::only_device};
  if (Device* device = find(set.devices, *call.requested)) return {device, ReasonCode::requested};
  if (!set.soft_placement)
    fail(ErrorCode::device_unavailable, "Could not satisfy device specification '", call.requested->long_name(),
         "'. enable_soft_placement=0. All available devices [", device_list(set.devices), "]. [Op:", call.op.name, "]");
  return {set.devices.front(), ReasonCode::device_missing};
}

std::string dtypes_of(const std::vector<Operand>& operands) {
  std::vector<DType> dtypes;
  for (const Operand& operand : operands) dtypes.push_back(operand.dtype());
  return join(dtypes);
}

/// Tries the kernels in order, noting each refusal in `decision`.
Prepared choose_kernel(const KernelCall& call, Device& device, Decision& decision) {
  for (const Kernel& kernel : device.kernels().of(call.op)) {
    const Support support = kernel.supports ? kernel.supports(call) : yes();
    decision.candidates.push_back({decision.device, std::string(kernel.name), support.ok, support.reason});
    if (!support) continue;
    decision.kernel = kernel.name;
    return kernel.prepare(call);
  }
  fail(ErrorCode::no_kernel, call.op.name, ": no kernel on ", decision.device, " takes ", decision.signature);
}

}  // namespace

CallKey::CallKey(const OpCall& call) : op(&call.op), attrs(call.attrs) {
  for (const TensorRef& input : call.inputs) inputs.push_back(input->spec());
  if (call.requested) requested = *call.requested;
}

bool CallKey::matches(const OpCall& call) const {
  if (op != &call.op || inputs.size() != call.inputs.size() || !attrs.same_key(call.attrs)) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(inputs[i] == call.inputs[i]->unchecked()->spec)) return false;
  return same_request(requested, call.requested);
}

std::uint64_t hash_of(const OpCall& call) {
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(&call.op), call.attrs.hash());
  for (const TensorRef& input : call.inputs) hash = mix(hash, input->impl()->spec.hash());
  if (call.requested)
    hash = mix(hash, static_cast<std::uint64_t>(call.requested->kind[0]) << 32 | static_cast<unsigned>(call.requested->index));
  return hash;
}

std::unique_ptr<PreparedCall> prepare(const OpCall& call, const DeviceSet& set) {
  auto prepared = std::make_unique<PreparedCall>(PreparedCall{.key = CallKey(call)});
  std::vector<const TensorSpec*> specs;
  std::vector<Operand> inputs, outputs;
  for (const TensorSpec& spec : prepared->key.inputs) {
    specs.push_back(&spec);
    inputs.emplace_back(spec);
  }
  prepared->outputs = infer(call.op, specs, call.attrs);
  for (const TensorSpec& spec : prepared->outputs) outputs.emplace_back(spec);

  const Choice choice = choose_device(call, set);
  prepared->device = choice.device;
  Decision decision{.op = std::string(call.op.name),
                    .signature = dtypes_of(inputs.empty() ? outputs : inputs),
                    .requested = call.requested ? call.requested->short_name() : "",
                    .device = choice.device->name().short_name(),
                    .reason = choice.reason};
  if (call.op.view) decision.kernel = "view";
  else prepared->kernel = choose_kernel({call.op, call.attrs, inputs, outputs, choice.device}, *choice.device, decision);
  prepared->decision = intern(decision);
  return prepared;
}

}  // namespace tandem
