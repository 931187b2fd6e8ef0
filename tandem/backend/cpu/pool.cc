// Max pooling over NHWC: all loops run over the channels, which lie side by side.
#include <cstring>

#include "tandem/backend/cpu/compare.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/op/window.h"

namespace tandem::cpu {
namespace {

struct PoolSizes {
  std::int64_t batch = 0, channels = 0;
  Window rows, columns;
  std::int64_t input_image() const { return rows.input * columns.input * channels; }
  std::int64_t output_image() const { return rows.output * columns.output * channels; }
};

PoolSizes pool_sizes(const KernelCall& call) {
  const auto attrs = call.attr();
  const auto ksize = attrs.ints("ksize"), strides = attrs.ints("strides");
  const bool same = attrs.choice("padding") == "same";
  const Shape& input = call.shape(0);
  return {.batch = input[0],
          .channels = input[3],
          .rows = Window::make(input[1], ksize.front(), strides.front(), 1, same),
          .columns = Window::make(input[2], ksize.back(), strides.back(), 1, same)};
}

/// The part of a window that lies inside the axis.
struct Inside {
  std::int64_t first, last;
  Inside(const Window& w, std::int64_t o)
      : first(std::max<std::int64_t>(o * w.stride - w.pad_before, 0)),
        last(std::min(o * w.stride - w.pad_before + w.kernel, w.input)) {}
};

template <class T>
__attribute__((always_inline)) inline void pool_row(const PoolSizes& s, std::int64_t out_row, const T* image,
                                                    T* __restrict out) {
  const std::int64_t channels = s.channels;
  const Inside rows(s.rows, out_row);
  for (std::int64_t column = 0; column < s.columns.output; ++column, out += channels) {
    const Inside columns(s.columns, column);
    const T* corner = image + (rows.first * s.columns.input + columns.first) * channels;
    for (std::int64_t i = 0; i < channels; ++i) out[i] = corner[i];
    for (std::int64_t r = rows.first; r < rows.last; ++r)
      for (std::int64_t c = columns.first; c < columns.last; ++c) {
        const T* __restrict from = image + (r * s.columns.input + c) * channels;
        for (std::int64_t i = 0; i < channels; ++i)
          out[i] = beats(comparable(from[i]), comparable(out[i])) ? from[i] : out[i];
      }
  }
}

template <class T>
Prepared prepare_pool(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    const std::int64_t row_elements = s.columns.output * s.channels;
    const std::int64_t row_work = row_elements * s.rows.kernel * s.columns.kernel;  // bytes read
    parallel_ranges(s.batch * s.rows.output, row_work * sizeof(T), [&](std::int64_t first, std::int64_t last) {
      wide([&]() __attribute__((always_inline)) {
        for (std::int64_t row = first; row < last; ++row)
          pool_row(s, row % s.rows.output, args.input<T>() + row / s.rows.output * s.input_image(),
                   args.output<T>() + row * row_elements);
      });
    });
  });
}

constexpr std::int64_t kChannels = 256;  // searched at a time

/// The first maximum of each window, in row-major order, receives the gradient: channels [first, first + count).
template <class T>
__attribute__((always_inline)) inline void pixel_gradient(const PoolSizes& s, const Inside& rows, const Inside& columns,
                                                          const T* image, const T* __restrict gradient,
                                                          Comparable<T>* sums, std::int64_t first, std::int64_t count) {
  const auto at = [&](std::int64_t r, std::int64_t c) { return (r * s.columns.input + c) * s.channels + first; };
  Comparable<T> best[kChannels];
  std::int32_t winner[kChannels];
  const T* corner = image + at(rows.first, columns.first);
  for (std::int64_t i = 0; i < count; ++i) best[i] = comparable(corner[i]);
  for (std::int64_t i = 0; i < count; ++i) winner[i] = 0;
  std::int32_t tap = 0;
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c, ++tap) {
      const T* __restrict from = image + at(r, c);
      for (std::int64_t i = 0; i < count; ++i) {
        const Comparable<T> value = comparable(from[i]);
        const bool wins = beats(value, best[i]);
        best[i] = wins ? value : best[i];
        winner[i] = wins ? tap : winner[i];
      }
    }
  tap = 0;
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c, ++tap) {
      Comparable<T>* __restrict to = sums + at(r, c);
      for (std::int64_t i = 0; i < count; ++i) {
        const Comparable<T> whole = comparable(gradient[i]), share = winner[i] == tap ? whole : Comparable<T>(0);
        to[i] = static_cast<Comparable<T>>(to[i] + share);
      }
    }
}

/// `sums` is the result itself, unless that has too few bits to add up in.
template <class T>
void image_gradient(const PoolSizes& s, const T* image, const T* gradient, T* out) {
  using Sum = Comparable<T>;
  Sum* sums = nullptr;
  if constexpr (std::is_same_v<T, Sum>) sums = out;
  else sums = static_cast<Sum*>(scratch(ScratchUse::partials, s.input_image() * sizeof(Sum)));
  std::memset(sums, 0, s.input_image() * sizeof(Sum));
  wide([&]() __attribute__((always_inline)) {
    const T* from = gradient;
    for (std::int64_t r = 0; r < s.rows.output; ++r)
      for (std::int64_t c = 0; c < s.columns.output; ++c, from += s.channels)
        for (std::int64_t first = 0; first < s.channels; first += kChannels)
          pixel_gradient(s, Inside(s.rows, r), Inside(s.columns, c), image, from + first, sums, first,
                         std::min(kChannels, s.channels - first));
  });
  if constexpr (!std::is_same_v<T, Sum>)
    for (std::int64_t i = 0; i < s.input_image(); ++i) out[i] = T(sums[i]);
}

template <class T>
Prepared prepare_gradient(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    const std::int64_t image_work = s.output_image() * s.rows.kernel * s.columns.kernel * sizeof(T);
    // Windows of one image may overlap; images do not.
    parallel_ranges(s.batch, image_work, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n)
        image_gradient(s, args.input<T>(0) + n * s.input_image(), args.input<T>(2) + n * s.output_image(),
                       args.output<T>() + n * s.input_image());
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
