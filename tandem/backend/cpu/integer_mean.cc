// Means of integers over the last axes: sums in 64 bits, which the folds of 32-bit lanes have not.
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/op/rules.h"

namespace tandem::cpu {
namespace {

AxisSet axes_of(const KernelCall& call) {
  return reduced_axes(call.op.name, call.attr().ints("axis"), call.shape().rank());
}

/// Whether the reduced axes come last, so that each result is the mean of a run of memory.
bool reduces_runs(const KernelCall& call) {
  const AxisSet axes = axes_of(call);
  bool reduced = false;
  for (int i = 0; i < call.shape().rank(); ++i) {
    if (call.shape()[i] == 1) continue;
    if (reduced && !axes.contains(i)) return false;
    reduced |= axes.contains(i);
  }
  return true;
}

Support supports(const KernelCall& call) {
  const DType dtype = call.dtype();
  if (is_floating(dtype) || dtype_size(dtype) > 4 || dtype == DType::boolean)
    return no("is for integers of up to 32 bits, got ", dtype);
  if (!all_dense(call)) return no("needs dense operands");
  if (!reduces_runs(call)) return no("the reduced axes do not come last");
  return yes();
}

template <class T>
std::int64_t sum(const T* from, std::int64_t count) {
  std::int64_t total = 0;
  wide([&]() __attribute__((always_inline)) {
    std::int64_t part = 0;
    for (std::int64_t i = 0; i < count; ++i) part += from[i];
    total = part;
  });
  return total;
}

constexpr std::int64_t kPiece = 32 << 10;  // elements of a long run that one thread adds up

template <class T>
void run_means(const T* from, std::int64_t runs, std::int64_t length, T* to) {
  const std::int64_t pieces = std::max<std::int64_t>(1, (length + kPiece - 1) / kPiece);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(runs * pieces));
  parallel_ranges(runs * pieces, std::min(length, kPiece) * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) {
                      const std::int64_t begin = i % pieces * kPiece;
                      sums[static_cast<std::size_t>(i)] =
                          sum(from + i / pieces * length + begin, std::min(kPiece, length - begin));
                    }
                  });
  for (std::int64_t run = 0; run < runs; ++run) {
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < pieces; ++i) total += sums[static_cast<std::size_t>(run * pieces + i)];
    to[run] = static_cast<T>(length ? total / length : 0);
  }
}

Prepared prepare(const KernelCall& call) {
  const std::int64_t runs = call.outputs[0].shape().elements(), length = runs ? call.shape().elements() / runs : 0;
  return visit_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    if constexpr (std::is_integral_v<T>)
      return prepared([=](const KernelArgs& args) { run_means(args.input<T>(), runs, length, args.output<T>()); });
    else return nullptr;
  });
}

}  // namespace

KernelList mean_kernels() {
  KernelList kernels = reduction_kernels();
  kernels.insert(kernels.begin(), {.name = "integer runs", .supports = supports, .prepare = prepare});
  return kernels;
}

}  // namespace tandem::cpu
