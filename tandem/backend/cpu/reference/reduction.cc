#include <cmath>
#include <limits>

#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/kernel/fold_kind.h"
#include "tandem/op/rules.h"

namespace tandem::cpu {
namespace {

/// Strides of the output under the input's shape: 0 along reduced axes.
Strides output_strides(const Shape& input, AxisSet axes) {
  Strides strides{};
  std::int64_t stride = 1;
  for (int i = input.rank() - 1; i >= 0; --i) {
    if (axes.contains(i)) continue;
    strides[i] = stride;
    stride *= std::max<std::int64_t>(input[i], 1);
  }
  return strides;
}

template <class T>
Wide<T> start_value(FoldKind kind) {
  if (kind == FoldKind::prod) return 1;
  if (kind != FoldKind::max && kind != FoldKind::min) return 0;
  const bool lowest = kind == FoldKind::max;
  if constexpr (std::is_same_v<Wide<T>, double>) return (lowest ? -1 : 1) * std::numeric_limits<double>::infinity();
  else return lowest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <class W>
W combine(FoldKind kind, W total, W value) {
  switch (kind) {
    case FoldKind::max: return total != total ? total : (value > total || value != value ? value : total);
    case FoldKind::min: return total != total ? total : (value < total || value != value ? value : total);
    case FoldKind::prod: return total * value;
    default: return total + value;
  }
}

template <class T>
Prepared prepare_reduction(const KernelCall& call) {
  const Shape shape = call.shape(0);
  const AxisSet axes = reduced_axes(call.op.name, call.attr().ints("axis"), shape.rank());
  const Strides in = call.inputs[0].strides, out = output_strides(shape, axes);
  const std::int64_t results = call.outputs[0].shape().elements();
  const std::int64_t count = results ? shape.elements() / results : 0;
  return prepared([=, kind = fold_kind(call.op)](const KernelArgs& args) {
    std::vector<Wide<T>> totals(static_cast<std::size_t>(results), start_value<T>(kind));
    for_each_position(shape, [&](const Position& p) {
      auto& total = totals[static_cast<std::size_t>(offset(out, p, shape.rank()))];
      total = combine(kind, total, widen(args.input<T>()[offset(in, p, shape.rank())]));
    });
    for (std::int64_t i = 0; i < results; ++i) {
      Wide<T> total = totals[static_cast<std::size_t>(i)];
      if (kind == FoldKind::mean) {
        if constexpr (std::is_same_v<Wide<T>, double>) total /= static_cast<double>(count);
        else total = count ? total / count : 0;
      }
      args.output<T>()[i] = narrow<T>(total);
    }
  });
}

template <class T>
Prepared prepare_argmax(const KernelCall& call) {
  const Shape shape = call.shape(0);
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  const Strides in = call.inputs[0].strides, out = output_strides(shape, {1u << axis});
  const std::int64_t results = call.outputs[0].shape().elements();
  const DType output = call.outputs[0].dtype();
  return prepared([=, least = &call.op == &argmin_op](const KernelArgs& args) {
    std::vector<std::int64_t> best(static_cast<std::size_t>(results), -1);
    std::vector<Wide<T>> largest(static_cast<std::size_t>(results));
    for_each_position(shape, [&](const Position& p) {
      const auto at = static_cast<std::size_t>(offset(out, p, shape.rank()));
      Wide<T> value = widen(args.input<T>()[offset(in, p, shape.rank())]);
      if constexpr (std::is_floating_point_v<Wide<T>>)
        if (std::isnan(value)) value = (least ? 1 : -1) * std::numeric_limits<double>::infinity();
      const bool nearer = least ? value < largest[at] : value > largest[at];
      if (best[at] >= 0 && !nearer) return;
      best[at] = p[axis];
      largest[at] = value;
    });
    for (std::int64_t i = 0; i < results; ++i) {
      if (output == DType::i32)
        args.output<std::int32_t>()[i] = static_cast<std::int32_t>(best[static_cast<std::size_t>(i)]);
      else args.output<std::int64_t>()[i] = best[static_cast<std::size_t>(i)];
    }
  });
}

}  // namespace

Kernel reference_reduction() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(),
                            [&](auto tag) { return prepare_reduction<typename decltype(tag)::type>(call); });
          }};
}

Kernel reference_argmax() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_argmax<typename decltype(tag)::type>(call); });
          }};
}

}  // namespace tandem::cpu
