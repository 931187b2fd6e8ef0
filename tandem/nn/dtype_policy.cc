#include "tandem/nn/dtype_policy.h"

#include <mutex>
#include <optional>

#include "tandem/base/nearest.h"
#include "tandem/nn/layer_json.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

constexpr std::string_view kNames[] = {"float32", "float16", "bfloat16", "float64", "mixed_float16", "mixed_bfloat16"};
constexpr std::string_view kMixed = "mixed_";

std::mutex mutex;
DTypePolicy of_process;

}  // namespace

DTypePolicy DTypePolicy::named(std::string_view name) {
  for (const std::string_view known : kNames) {
    if (known != name) continue;
    const bool mixed = name.starts_with(kMixed);
    const DType compute = *parse_dtype(mixed ? name.substr(kMixed.size()) : name);
    return {std::string(name), compute, mixed ? DType::f32 : compute};
  }
  fail(ErrorCode::invalid_argument, "unknown dtype policy '", name, "'", nearest_hint(name, kNames),
       "; the known ones are ", join(kNames));
}

DTypePolicy DTypePolicy::of(const LayerConfig& config) {
  if (!config.has("dtype")) return dtype_policy();
  const std::string name = config.activation("dtype", "float32");  // a name, or an object with one in it
  try {
    return named(name);
  } catch (const Error& error) {
    config.refuse(error.message());
  }
}

void set_dtype_policy(std::string_view name) {
  DTypePolicy policy = DTypePolicy::named(name);
  const std::lock_guard lock(mutex);
  of_process = std::move(policy);
}

DTypePolicy dtype_policy() {
  const std::lock_guard lock(mutex);
  return of_process;
}

LayerConfig with_dtype_policy(const LayerConfig& config) {
  const DTypePolicy policy = dtype_policy();
  if (config.has("dtype") || policy == DTypePolicy()) return config;
  Json json = config.json().value;
  json["dtype"] = {{"module", "keras"},
                   {"class_name", "DTypePolicy"},
                   {"config", {{"name", policy.name}}},
                   {"registered_name", nullptr}};
  return LayerConfig(config.class_name(), std::make_shared<LayerConfig::Json>(LayerConfig::Json{std::move(json)}));
}

thread_local ComputeScope* ComputeScope::current_ = nullptr;

void ComputeScope::run(OpCall& call) {
  std::optional<DType> first;
  bool differ = false;
  for (const TensorRef& input : call.inputs) {
    if (!input->defined() || !is_floating(input->dtype())) continue;
    differ = differ || (first && *first != input->dtype());
    first = input->dtype();
  }
  if (!differ) return next()->run(call);
  Tensors operands;
  for (const TensorRef& input : call.inputs) operands.push_back(input->defined() ? in_float(*input, dtype_) : *input);
  const std::vector<TensorRef> refs(operands.begin(), operands.end());
  OpCall same{call.op, refs, call.attrs, call.outputs, call.requested, call.near, 0, call.owner, call.scoped};
  next()->run(same);
}

Tensor in_float(const Tensor& value, DType dtype) {
  return is_floating(value.dtype()) && value.dtype() != dtype ? cast(value, dtype) : value;
}
Tensor at_least_float32(const Tensor& value) {
  return value.dtype() == DType::f64 ? value : in_float(value, DType::f32);
}

}  // namespace tandem
