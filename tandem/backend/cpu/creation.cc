// Constants and ranges.
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/fill.h"
#include "tandem/backend/cpu/loop_kernels.h"

namespace tandem::cpu {
namespace {

template <class T>
Prepared prepare_fill(std::int64_t count) {
  return prepared([count](const KernelArgs& args) {
    const T value = element_of<T>(std::bit_cast<double>(args.run_time[0]));
    T* out = args.output<T>();
    parallel_ranges(count, sizeof(T),
                    [&](std::int64_t begin, std::int64_t end) { fill_elements(out + begin, out + end, value); });
  });
}

/// Floats as TensorFlow makes them: start + i * delta, rounded once in the dtype's arithmetic.
template <class T>
Prepared prepare_range(std::int64_t count) {
  return prepared([count](const KernelArgs& args) {
    const double start = std::bit_cast<double>(args.run_time[0]), delta = std::bit_cast<double>(args.run_time[1]);
    T* out = args.output<T>();
    parallel_ranges(count, sizeof(T), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_integral_v<T>)
          out[i] = static_cast<T>(static_cast<std::int64_t>(start) + i * static_cast<std::int64_t>(delta));
        else out[i] = element_of<T>(start + static_cast<double>(i) * delta);
      }
    });
  });
}

Prepared prepare(const KernelCall& call) {
  const std::int64_t count = call.outputs[0].shape().elements();
  const bool fill = call.op.name == "fill";
  return visit_dtype(call.outputs[0].dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return fill ? prepare_fill<T>(count) : prepare_range<T>(count);
  });
}

}  // namespace

KernelList creation_kernels() { return {{.name = "plain", .prepare = prepare}}; }

}  // namespace tandem::cpu
