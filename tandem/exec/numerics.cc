#include "tandem/exec/numerics.h"

#include <atomic>
#include <cmath>

#include "tandem/base/environment.h"
#include "tandem/core/half.h"

namespace tandem {
namespace {

std::atomic<bool>& enabled() {
  static std::atomic<bool> on{environment_switch("TANDEM_CHECK_NUMERICS").value_or(false)};
  return on;
}

struct Count {
  std::int64_t nan = 0, infinite = 0;
};

Count count_bad(const TensorSpec& spec, const void* bytes) {
  Count count;
  visit_dtype(spec.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      const T* values = static_cast<const T*>(bytes);
      for (std::int64_t i = 0; i < spec.shape().elements(); ++i) {
        const auto value =
            static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(values[i]));
        count.nan += std::isnan(value);
        count.infinite += std::isinf(value);
      }
    }
  });
  return count;
}

/// A copy on the host, waited for.
std::vector<std::byte> fetch(Device& device, const void* address, std::size_t bytes) {
  std::vector<std::byte> copy(bytes);
  if (bytes) wait(device.memory().copy_to_host(copy.data(), address, bytes));
  return copy;
}

bool all_finite(Device& device, const std::vector<TensorSpec>& specs, const void* const* addresses) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!is_floating(specs[i].dtype())) continue;
    const Count count = count_bad(specs[i], fetch(device, addresses[i], specs[i].bytes()).data());
    if (count.nan + count.infinite) return false;
  }
  return true;
}

}  // namespace

bool check_numerics() { return enabled().load(std::memory_order_relaxed); }
void set_check_numerics(bool on) { enabled().store(on); }

void require_finite(const PreparedCall& call, const KernelArgs& args) {
  for (std::size_t k = 0; k < call.outputs.size(); ++k) {
    const TensorSpec& spec = call.outputs[k];
    if (!is_floating(spec.dtype())) continue;
    const Count count = count_bad(spec, fetch(*call.device, args.outputs[k], spec.bytes()).data());
    if (count.nan + count.infinite == 0) continue;
    const bool fed = !all_finite(*call.device, call.key.inputs, args.inputs);
    fail(ErrorCode::not_finite, call.key.op->name, " on ", call.device->name().short_name(), " produced ",
         count.nan ? "NaN" : "Inf", ": ", count.nan + count.infinite, " of ", spec.shape().elements(),
         " values of its ", spec, " result are not finite",
         fed ? "; its operands hold such values already" : ", its operands are finite");
  }
}

}  // namespace tandem
