// Casts between uint64 and floats, which the lanes of formulas cannot do; all other casts are loops as elementwise ops.
#include <limits>

#include "tandem/backend/cpu/loop_kernels.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/kernel/elementwise_program.h"

namespace tandem::cpu {
namespace {

template <class T>
constexpr bool kIsFloat = std::is_same_v<Wide<T>, double>;

/// Towards zero; a negative number wraps as a signed one does, and what does not fit is 2^63, as with the processor's casts.
std::uint64_t to_uint64(double value) {
  if (value > -0x1p63 && value < 0x1p63) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  if (value >= 0x1p63 && value < 0x1p64) return static_cast<std::uint64_t>(value);
  return std::uint64_t{1} << 63;
}

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_same_v<To, std::uint64_t>) return to_uint64(widen(value));
  else if constexpr (std::is_same_v<To, double>) return static_cast<double>(value);
  else return To(static_cast<float>(value));
}

template <class From, class To>
Prepared prepare_between(const KernelCall& call) {
  const Operand in = call.inputs[0], out = call.outputs[0];
  return prepared([in, out](const KernelArgs& args) {
    const From* from = args.input<From>();
    To* to = args.output<To>();
    const int rank = out.shape().rank();
    for_each_position(out.shape(), [&](const Position& position) {
      to[offset(out.strides, position, rank)] = converted<To>(from[offset(in.strides, position, rank)]);
    });
  });
}

Support supports(const KernelCall& call) {
  return is_uint64_float_cast(call) ? yes() : no("for casts between uint64 and floats, got ", call.dtype(), " to ", call.outputs[0].dtype());
}

Prepared prepare(const KernelCall& call) {
  const bool from_floats = call.outputs[0].dtype() == DType::u64;
  return visit_dtype(from_floats ? call.dtype() : call.outputs[0].dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    if constexpr (kIsFloat<T>)
      return from_floats ? prepare_between<T, std::uint64_t>(call) : prepare_between<std::uint64_t, T>(call);
    TANDEM_CHECK(false, "a cast that supports() refused");
    return nullptr;
  });
}

}  // namespace

KernelList cast_kernels() {
  KernelList kernels = elementwise_kernels();
  kernels.insert(kernels.begin(), {.name = "uint64", .supports = supports, .prepare = prepare});
  return kernels;
}

}  // namespace tandem::cpu
