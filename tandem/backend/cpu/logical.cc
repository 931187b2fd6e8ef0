// Logical ops on whole tensors of bools: bytes, which vectors hold four times as many of as lanes.
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {
namespace {

using Byte = unsigned char;  // not bool, which may be 0 or 1 only

Support supports(const KernelCall& call) {
  if (!all_dense(call)) return no("needs dense operands");
  for (const Operand& input : call.inputs)
    if (input.shape() != call.outputs[0].shape()) return no("needs operands of one shape");
  return yes();
}

/// The result may lie where an operand does, element for element; bytes may alias anything, which must not stop
/// vectors.
template <class F>
[[gnu::always_inline]] inline void run(const Byte* a, const Byte* b, Byte* __restrict out, std::int64_t count, F f) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i] != 0, b[i] != 0);
}

template <class F>
Prepared prepare_with(std::int64_t count, std::size_t second, F f) {
  return prepared([=](const KernelArgs& args) {
    const auto *a = static_cast<const Byte*>(args.inputs[0]), *b = static_cast<const Byte*>(args.inputs[second]);
    auto* out = static_cast<Byte*>(args.outputs[0]);
    parallel_ranges(count, 3, [=](std::int64_t begin, std::int64_t end) {
      wide([=]() __attribute__((always_inline)) { run(a + begin, b + begin, out + begin, end - begin, f); });
    });
  });
}

Prepared prepare(const KernelCall& call) {
  const std::int64_t count = call.outputs[0].shape().elements();
  if (call.op.name == "logical_and") return prepare_with(count, 1, [](Byte a, Byte b) -> Byte { return a & b; });
  if (call.op.name == "logical_or") return prepare_with(count, 1, [](Byte a, Byte b) -> Byte { return a | b; });
  if (call.op.name == "logical_xor") return prepare_with(count, 1, [](Byte a, Byte b) -> Byte { return a ^ b; });
  return prepare_with(count, 0, [](Byte a, Byte) -> Byte { return a ^ 1; });
}

}  // namespace

KernelList logical_kernels() {
  KernelList kernels = elementwise_kernels();
  kernels.insert(kernels.begin(), {.name = "bytes", .supports = supports, .prepare = prepare});
  return kernels;
}

}  // namespace tandem::cpu
