// Max pooling over NHWC: all loops run over the channels, which lie side by side.
#include <cstring>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/backend/cpu/window.h"

namespace tandem::cpu {
namespace {

struct PoolSizes {
  std::int64_t batch = 0, channels = 0;
  Window rows, columns;
  std::int64_t input_image() const { return rows.in * columns.in * channels; }
  std::int64_t output_image() const { return rows.out * columns.out * channels; }
};

PoolSizes pool_sizes(const KernelCall& call) {
  const auto attrs = call.attr();
  const auto ksize = attrs.ints("ksize"), strides = attrs.ints("strides");
  const bool same = attrs.choice("padding") == "same";
  const Shape& input = call.shape(0);
  return {.batch = input[0],
          .channels = input[3],
          .rows = make_window(input[1], ksize[0], strides[0], 1, same),
          .columns = make_window(input[2], ksize[1], strides[1], 1, same)};
}

/// The part of a window that lies inside the axis.
struct Inside {
  std::int64_t first, last;
  Inside(const Window& w, std::int64_t o)
      : first(std::max<std::int64_t>(w.start(o), 0)), last(std::min(w.start(o) + w.size, w.in)) {}
};

/// What values are compared as.
template <class T>
struct Comparable {
  using type = T;
};
template <>
struct Comparable<Half> {
  using type = float;
};
template <>
struct Comparable<BFloat16> {
  using type = float;
};
template <class T>
bool greater(T a, T b) {
  using C = typename Comparable<T>::type;
  return static_cast<C>(a) > static_cast<C>(b);
}

template <class T>
__attribute__((always_inline)) inline void pool_row(const PoolSizes& s, std::int64_t out_row, const T* image, T* out) {
  const std::int64_t channels = s.channels;
  const Inside rows(s.rows, out_row);
  for (std::int64_t column = 0; column < s.columns.out; ++column, out += channels) {
    const Inside columns(s.columns, column);
    std::memcpy(static_cast<void*>(out), image + (rows.first * s.columns.in + columns.first) * channels,
                channels * sizeof(T));
    for (std::int64_t r = rows.first; r < rows.last; ++r)
      for (std::int64_t c = columns.first; c < columns.last; ++c) {
        const T* from = image + (r * s.columns.in + c) * channels;
        for (std::int64_t i = 0; i < channels; ++i) out[i] = greater(from[i], out[i]) ? from[i] : out[i];
      }
  }
}

template <class T>
Prepared prepare_pool(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    const std::int64_t row_elements = s.columns.out * s.channels;
    const std::int64_t row_work = row_elements * s.rows.size * s.columns.size;  // bytes read
    parallel_ranges(s.batch * s.rows.out, row_work * sizeof(T), [&](std::int64_t first, std::int64_t last) {
      wide([&]() __attribute__((always_inline)) {
        for (std::int64_t row = first; row < last; ++row)
          pool_row(s, row % s.rows.out, args.input<T>() + row / s.rows.out * s.input_image(),
                   args.output<T>() + row * row_elements);
      });
    });
  });
}

/// Buffers of one pixel's channels while its windows are searched.
template <class T>
struct Winners {
  T* value;
  std::int32_t* tap;
  explicit Winners(std::int64_t channels) {
    auto* bytes = static_cast<char*>(scratch(ScratchUse::columns, channels * (sizeof(T) + 4) + 64));
    tap = reinterpret_cast<std::int32_t*>(bytes);
    value = reinterpret_cast<T*>(bytes + (channels * 4 + 63) / 64 * 64);
  }
};

template <class T>
T plus(T a, T b) {
  using C = typename Comparable<T>::type;
  return static_cast<T>(static_cast<C>(a) + static_cast<C>(b));
}

/// The first maximum of each window, in row-major order, receives the gradient.
template <class T>
__attribute__((always_inline)) inline void pixel_gradient(const PoolSizes& s, const Inside& rows, const Inside& columns,
                                                          const T* image, const T* gradient, T* out, Winners<T> best) {
  const std::int64_t channels = s.channels;
  const auto at = [&](std::int64_t r, std::int64_t c) { return (r * s.columns.in + c) * channels; };
  std::memcpy(static_cast<void*>(best.value), image + at(rows.first, columns.first), channels * sizeof(T));
  std::memset(best.tap, 0, channels * 4);
  std::int32_t tap = 0;
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c, ++tap) {
      const T* from = image + at(r, c);
      for (std::int64_t i = 0; i < channels; ++i) {
        const bool wins = greater(from[i], best.value[i]);
        best.value[i] = wins ? from[i] : best.value[i];
        best.tap[i] = wins ? tap : best.tap[i];
      }
    }
  tap = 0;
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c, ++tap) {
      T* to = out + at(r, c);
      for (std::int64_t i = 0; i < channels; ++i) to[i] = best.tap[i] == tap ? plus(to[i], gradient[i]) : to[i];
    }
}

template <class T>
Prepared prepare_gradient(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    const std::int64_t image_work = s.output_image() * s.rows.size * s.columns.size * sizeof(T);
    // Windows of one image may overlap; images do not.
    parallel_ranges(s.batch, image_work, [&](std::int64_t first, std::int64_t last) {
      const Winners<T> best(s.channels);
      wide([&]() __attribute__((always_inline)) {
        for (std::int64_t n = first; n < last; ++n) {
          T* out = args.output<T>() + n * s.input_image();
          const T* gradient = args.input<T>(2) + n * s.output_image();
          std::memset(static_cast<void*>(out), 0, s.input_image() * sizeof(T));
          for (std::int64_t r = 0; r < s.rows.out; ++r)
            for (std::int64_t c = 0; c < s.columns.out; ++c, gradient += s.channels)
              pixel_gradient(s, Inside(s.rows, r), Inside(s.columns, c), args.input<T>(0) + n * s.input_image(),
                             gradient, out, best);
        }
      });
    });
  });
}

Support plain_pool(const KernelCall& call) {
  if (!kNumeric.contains(call.dtype())) return no("for numbers, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  return yes();
}

/// The numeric dtypes only: pooling of booleans has no meaning.
template <class F>
Prepared visit_numeric(DType dtype, F&& f) {
  return visit_dtype(dtype, [&](auto tag) -> Prepared {
    if constexpr (std::is_same_v<typename decltype(tag)::type, bool>) return nullptr;
    else return f(tag);
  });
}

}  // namespace

KernelList max_pool2d_kernels() {
  return {{"plain", plain_pool, [](const KernelCall& call) {
             return visit_numeric(call.dtype(), [&]<class T>(TypeTag<T>) { return prepare_pool<T>(pool_sizes(call)); });
           }}};
}

KernelList max_pool2d_grad_kernels() {
  return {{"plain", plain_pool, [](const KernelCall& call) {
             return visit_numeric(call.dtype(),
                                  [&]<class T>(TypeTag<T>) { return prepare_gradient<T>(pool_sizes(call)); });
           }}};
}

}  // namespace tandem::cpu
