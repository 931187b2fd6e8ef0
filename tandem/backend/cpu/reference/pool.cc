#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/op/window.h"

namespace tandem::cpu {
namespace {

struct Pool {
  Window rows, columns;
  std::int64_t batch, channels;

  explicit Pool(const KernelCall& call) : batch(call.shape()[0]), channels(call.shape()[3]) {
    const auto ksize = call.attr().ints("ksize"), strides = call.attr().ints("strides");
    const bool same = call.attr().choice("padding") == "same";
    rows = Window::make(call.shape()[1], ksize.front(), strides.front(), 1, same);
    columns = Window::make(call.shape()[2], ksize.back(), strides.back(), 1, same);
  }

  /// Calls body(output, input of the first largest value) for each window.
  template <class T, class F>
  void for_each_window(const T* input, F body) const {
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t oy = 0; oy < rows.output; ++oy)
        for (std::int64_t ox = 0; ox < columns.output; ++ox)
          for (std::int64_t c = 0; c < channels; ++c)
            body(((n * rows.output + oy) * columns.output + ox) * channels + c, largest(input, n, oy, ox, c));
  }

 private:
  template <class T>
  std::int64_t largest(const T* input, std::int64_t n, std::int64_t oy, std::int64_t ox, std::int64_t c) const {
    std::int64_t best = -1;
    for (std::int64_t ky = 0; ky < rows.kernel; ++ky)
      for (std::int64_t kx = 0; kx < columns.kernel; ++kx) {
        const std::int64_t y = oy * rows.stride + ky - rows.pad_before, x = ox * columns.stride + kx - columns.pad_before;
        if (y < 0 || y >= rows.input || x < 0 || x >= columns.input) continue;
        const std::int64_t at = ((n * rows.input + y) * columns.input + x) * channels + c;
        const auto value = widen(input[at]);
        if (best < 0 || value > widen(input[best]) || (value != value && widen(input[best]) == widen(input[best]))) best = at;
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

}  // namespace

Kernel reference_max_pool2d() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_pool<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_max_pool2d_grad() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_pool_grad<typename decltype(tag)::type>(call); });
          }};
}

}  // namespace tandem::cpu
