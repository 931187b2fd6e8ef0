#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/op/window.h"

namespace tandem::cpu {
namespace {

struct Pool : PoolGeometry {
  explicit Pool(const KernelCall& call) : Pool(call, call.shape()) {}
  Pool(const KernelCall& call, const Shape& input) : PoolGeometry(PoolGeometry::make(call.attr(), input)) {}

  /// Calls body(output, input of the first largest value) for each window.
  template <class T, class F>
  void for_each_window(const T* input, F body) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t oy = 0; oy < rows.output; ++oy)
        for (std::int64_t ox = 0; ox < columns.output; ++ox)
          for (std::int64_t c = 0; c < channels; ++c)
            body(((n * rows.output + oy) * columns.output + ox) * channels + c, largest(input, n, oy, ox, c));
  }

  /// Calls body(output, its inputs) for each window.
  template <class F>
  void for_each_window_members(F body) const {
    std::vector<std::int64_t> members;
    for (std::int64_t o = 0; o < batch * output_image(); ++o) {
      const std::int64_t c = o % channels, ox = o / channels % columns.output,
                         oy = o / channels / columns.output % rows.output;
      const std::int64_t n = o / output_image();
      members.clear();
      for (std::int64_t ky = 0; ky < rows.kernel; ++ky)
        for (std::int64_t kx = 0; kx < columns.kernel; ++kx) {
          const std::int64_t y = oy * rows.stride + ky - rows.pad_before,
                             x = ox * columns.stride + kx - columns.pad_before;
          if (y < 0 || y >= rows.input || x < 0 || x >= columns.input) continue;
          members.push_back(((n * rows.input + y) * columns.input + x) * channels + c);
        }
      body(o, members);
    }
  }

 private:
  template <class T>
  std::int64_t largest(const T* input, std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t c) const {
    std::int64_t best = -1;
    for (std::int64_t ky = 0; ky < rows.kernel; ++ky)
      for (std::int64_t kx = 0; kx < columns.kernel; ++kx) {
        const std::int64_t y = oy * rows.stride + ky - rows.pad_before,
                           x = ox * columns.stride + kx - columns.pad_before;
        if (y < 0 || y >= rows.input || x < 0 || x >= columns.input) continue;
        const std::int64_t at = ((n * rows.input + y) * columns.input + x) * channels + c;
        const auto value = widen(input[at]);
        if (best < 0 || value > widen(input[best]) || (value != value && widen(input[best]) == widen(input[best])))
          best = at;
      }
    return best;
  }
};

template <class T>
Prepared prepare_pool(const KernelCall& call) {
  return prepared([pool = Pool(call)](const KernelArgs& args) {
    const T* input = args.input<T>();
    pool.for_each_window(input, [&](std::int64_t o, std::int64_t i) { args.output<T>()[o] = input[i]; });
  });
}

template <class T>
Prepared prepare_pool_grad(const KernelCall& call) {
  return prepared([pool = Pool(call), size = call.shape().elements()](const KernelArgs& args) {
    std::vector<Wide<T>> sums(static_cast<std::size_t>(size), 0);
    pool.for_each_window(args.input<T>(), [&](std::int64_t o, std::int64_t i) {
      sums[static_cast<std::size_t>(i)] += widen(args.input<T>(2)[o]);
    });
    for (std::int64_t i = 0; i < size; ++i) args.output<T>()[i] = narrow<T>(sums[static_cast<std::size_t>(i)]);
  });
}

template <class T>
Prepared prepare_argmax(const KernelCall& call) {
  const bool wide = call.outputs[1].dtype() == DType::i64,
             include_batch = call.attr().boolean("include_batch_in_index");
  return prepared([=, pool = Pool(call)](const KernelArgs& args) {
    const T* input = args.input<T>();
    pool.for_each_window(input, [&](std::int64_t o, std::int64_t i) {
      const std::int64_t at = include_batch ? i : i % pool.input_image();
      args.output<T>()[o] = input[i];
      if (wide) args.output<std::int64_t>(1)[o] = at;
      else args.output<std::int32_t>(1)[o] = static_cast<std::int32_t>(at);
    });
  });
}

template <class T>
Prepared prepare_mean(const KernelCall& call) {
  return prepared([pool = Pool(call)](const KernelArgs& args) {
    pool.for_each_window_members([&](std::int64_t o, const std::vector<std::int64_t>& members) {
      Wide<T> sum = 0;
      for (std::int64_t i : members) sum += widen(args.input<T>()[i]);
      args.output<T>()[o] = narrow<T>(sum / static_cast<Wide<T>>(members.size()));
    });
  });
}

template <class T>
Prepared prepare_mean_grad(const KernelCall& call) {
  const Shape& input = call.outputs[0].shape();
  return prepared([pool = Pool(call, input), size = input.elements()](const KernelArgs& args) {
    std::vector<Wide<T>> sums(static_cast<std::size_t>(size), 0);
    pool.for_each_window_members([&](std::int64_t o, const std::vector<std::int64_t>& members) {
      for (std::int64_t i : members)
        sums[static_cast<std::size_t>(i)] += widen(args.input<T>()[o]) / static_cast<Wide<T>>(members.size());
    });
    for (std::int64_t i = 0; i < size; ++i) args.output<T>()[i] = narrow<T>(sums[static_cast<std::size_t>(i)]);
  });
}

}  // namespace

Kernel reference_max_pool_with_argmax() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_argmax<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_avg_pool2d() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_mean<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_avg_pool2d_grad() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(),
                            [&](auto tag) { return prepare_mean_grad<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_max_pool2d() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_pool<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_max_pool2d_grad() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(),
                            [&](auto tag) { return prepare_pool_grad<typename decltype(tag)::type>(call); });
          }};
}

}  // namespace tandem::cpu
