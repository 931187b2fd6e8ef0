#include <cmath>

#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/network_kernels.h"

namespace tandem::cpu {
namespace {

/// x seen as [rows, features]; statistics over the rows (batch) or over the features (layer).
struct Sizes {
  std::int64_t rows, features;
  explicit Sizes(const Shape& x)
      : rows(x[-1] ? x.elements() / x[-1] : Shape(x.sizes().first(static_cast<std::size_t>(x.rank() - 1))).elements()),
        features(x[-1]) {}
};

/// The groups of elements that are normalised together: group g has `count` elements, `step` apart from `start`.
struct Groups {
  std::int64_t groups, count, start_step, step;
  Groups(const Sizes& s, bool batch)
      : groups(batch ? s.features : s.rows),
        count(batch ? s.rows : s.features),
        start_step(batch ? 1 : s.features),
        step(batch ? s.features : 1) {}
};

template <class T>
Prepared prepare_forward(const KernelCall& call, bool batch) {
  const Sizes s(call.shape(0));
  return prepared([=, g = Groups(s, batch), epsilon = call.attr().real("epsilon")](const KernelArgs& args) {
    const T* x = args.input<T>(0);
    for (std::int64_t k = 0; k < g.groups; ++k) {
      double mean = 0, variance = 0;
      const auto at = [&](std::int64_t i) { return k * g.start_step + i * g.step; };
      for (std::int64_t i = 0; i < g.count; ++i) mean += widen(x[at(i)]);
      mean /= static_cast<double>(g.count);
      for (std::int64_t i = 0; i < g.count; ++i) variance += std::pow(widen(x[at(i)]) - mean, 2);
      variance /= static_cast<double>(g.count);
      const double inverse = 1 / std::sqrt(variance + epsilon);
      args.output<T>(1)[k] = narrow<T>(mean);
      args.output<T>(2)[k] = narrow<T>(batch ? variance : inverse);
      for (std::int64_t i = 0; i < g.count; ++i) {
        const std::int64_t feature = at(i) % s.features;
        args.output<T>(0)[at(i)] = narrow<T>((widen(x[at(i)]) - mean) * inverse * widen(args.input<T>(1)[feature]) +
                                             widen(args.input<T>(2)[feature]));
      }
    }
  });
}

template <class T>
Prepared prepare_gradient(const KernelCall& call, bool batch) {
  const Sizes s(call.shape(1));
  return prepared([=, g = Groups(s, batch), epsilon = call.attr().real("epsilon")](const KernelArgs& args) {
    const T *dy = args.input<T>(0), *x = args.input<T>(1), *scale = args.input<T>(2);
    std::vector<double> by_scale(static_cast<std::size_t>(s.features)), by_offset(by_scale);
    for (std::int64_t k = 0; k < g.groups; ++k) {
      const double mean = widen(args.input<T>(3)[k]), spread = widen(args.input<T>(4)[k]);
      const double inverse = batch ? 1 / std::sqrt(spread + epsilon) : spread;
      const auto at = [&](std::int64_t i) { return k * g.start_step + i * g.step; };
      const auto normal = [&](std::int64_t i) { return (widen(x[at(i)]) - mean) * inverse; };
      const auto scaled = [&](std::int64_t i) { return widen(dy[at(i)]) * widen(scale[at(i) % s.features]); };
      double sum = 0, product = 0;
      for (std::int64_t i = 0; i < g.count; ++i) {
        const auto feature = static_cast<std::size_t>(at(i) % s.features);
        sum += scaled(i), product += scaled(i) * normal(i);
        by_scale[feature] += widen(dy[at(i)]) * normal(i), by_offset[feature] += widen(dy[at(i)]);
      }
      for (std::int64_t i = 0; i < g.count; ++i)
        args.output<T>(0)[at(i)] =
            narrow<T>(inverse * (scaled(i) - (sum + normal(i) * product) / static_cast<double>(g.count)));
    }
    for (std::int64_t f = 0; f < s.features; ++f) {
      args.output<T>(1)[f] = narrow<T>(by_scale[static_cast<std::size_t>(f)]);
      args.output<T>(2)[f] = narrow<T>(by_offset[static_cast<std::size_t>(f)]);
    }
  });
}

}  // namespace

Kernel reference_normalization() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            const bool batch = call.op.name.starts_with("batch"), gradient = call.op.name.ends_with("_grad");
            return by_dtype(call.dtype(), [&](auto tag) {
              using T = typename decltype(tag)::type;
              return gradient ? prepare_gradient<T>(call, batch) : prepare_forward<T>(call, batch);
            });
          }};
}

}  // namespace tandem::cpu
