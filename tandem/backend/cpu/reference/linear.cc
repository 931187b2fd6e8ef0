#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/op/window.h"

namespace tandem::cpu {
namespace {

template <class T>
Prepared prepare_matmul(const KernelCall& call) {
  const bool ta = call.attr().boolean("transpose_a"), tb = call.attr().boolean("transpose_b");
  const Shape out = call.outputs[0].shape();
  const int rank = out.rank();
  Strides a = broadcast_strides(call.inputs[0], out), b = broadcast_strides(call.inputs[1], out);
  // The matrix axes are no broadcast: take them from the operands themselves.
  const int ra = call.shape(0).rank(), rb = call.shape(1).rank();
  const std::int64_t a_row = call.inputs[0].strides[ra - (ta ? 1 : 2)], a_k = call.inputs[0].strides[ra - (ta ? 2 : 1)];
  const std::int64_t b_k = call.inputs[1].strides[rb - (tb ? 1 : 2)], b_col = call.inputs[1].strides[rb - (tb ? 2 : 1)];
  a[rank - 2] = a_row, a[rank - 1] = 0, b[rank - 2] = 0, b[rank - 1] = b_col;
  const std::int64_t depth = call.shape(0)[ta ? -2 : -1];
  return prepared([=](const KernelArgs& args) {
    std::int64_t at = 0;
    for_each_position(out, [&](const Position& p) {
      const T* x = args.input<T>(0) + offset(a, p, rank);
      const T* y = args.input<T>(1) + offset(b, p, rank);
      Wide<T> sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += widen(x[k * a_k]) * widen(y[k * b_k]);
      args.output<T>()[at++] = narrow<T>(sum);
    });
  });
}

struct Conv : ConvGeometry {
  /// Calls body(input, filter, output) with the element indices of each product.
  template <class F>
  void for_each_product(F body) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t oy = 0; oy < rows.output; ++oy)
        for (std::int64_t ox = 0; ox < columns.output; ++ox)
          for (std::int64_t ky = 0; ky < rows.kernel; ++ky)
            for (std::int64_t kx = 0; kx < columns.kernel; ++kx) {
              const std::int64_t y = oy * rows.stride + ky * rows.dilation - rows.pad_before;
              const std::int64_t x = ox * columns.stride + kx * columns.dilation - columns.pad_before;
              if (y < 0 || y >= rows.input || x < 0 || x >= columns.input) continue;
              for (std::int64_t c = 0; c < group_inputs(); ++c)
                for (std::int64_t o = 0; o < out_channels; ++o)
                  body(((n * rows.input + y) * columns.input + x) * in_channels + o / group_outputs() * group_inputs() +
                           c,
                       ((ky * columns.kernel + kx) * group_inputs() + c) * out_channels + o,
                       ((n * rows.output + oy) * columns.output + ox) * out_channels + o);
            }
  }
};

/// Which of input, filter and output is computed from the other two.
enum class Part { input, filter, output };

template <class T, Part kResult>
Prepared prepare_conv(const KernelCall& call, const Conv& conv) {
  const std::int64_t size = call.outputs[0].shape().elements();
  return prepared([=](const KernelArgs& args) {
    std::vector<Wide<T>> sums(static_cast<std::size_t>(size), 0);
    const T* first = args.input<T>(0);
    const T* second = args.input<T>(1);
    conv.for_each_product([&](std::int64_t i, std::int64_t f, std::int64_t o) {
      if constexpr (kResult == Part::output) sums[static_cast<std::size_t>(o)] += widen(first[i]) * widen(second[f]);
      if constexpr (kResult == Part::input) sums[static_cast<std::size_t>(i)] += widen(first[f]) * widen(second[o]);
      if constexpr (kResult == Part::filter) sums[static_cast<std::size_t>(f)] += widen(first[i]) * widen(second[o]);
    });
    for (std::int64_t i = 0; i < size; ++i) args.output<T>()[i] = narrow<T>(sums[static_cast<std::size_t>(i)]);
  });
}

template <Part kResult>
Prepared conv_kernel(const KernelCall& call, const Shape& input, const Shape& filter) {
  const Conv conv{ConvGeometry::make(call.attr(), input, filter)};
  return by_dtype(call.dtype(),
                  [&](auto tag) { return prepare_conv<typename decltype(tag)::type, kResult>(call, conv); });
}

}  // namespace

Kernel reference_matmul() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_matmul<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_conv2d() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return conv_kernel<Part::output>(call, call.shape(0), call.shape(1));
          }};
}
Kernel reference_conv2d_backprop_input() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return conv_kernel<Part::input>(call, call.outputs[0].shape(), call.shape(0));
          }};
}
Kernel reference_conv2d_backprop_filter() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return conv_kernel<Part::filter>(call, call.shape(0), call.outputs[0].shape());
          }};
}

}  // namespace tandem::cpu
