// Pooling over NHWC: all loops run over the channels, which lie side by side.
#include <cstring>

#include "tandem/backend/cpu/compare.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/op/window.h"

namespace tandem::cpu {
namespace {

using PoolSizes = PoolGeometry;

PoolSizes pool_sizes(const KernelCall& call) { return PoolGeometry::make(call.attr(), call.shape(0)); }

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

/// The first maximum of a window, in row-major order, of channels [first, first + count): its value and which of the
/// window's pixels it is.
template <class T>
struct Winners {
  Comparable<T> best[kChannels];
  std::int32_t tap[kChannels];
};

template <class T>
__attribute__((always_inline)) inline void find_winners(const PoolSizes& s, const Inside& rows, const Inside& columns,
                                                        const T* image, std::int64_t first, std::int64_t count,
                                                        Winners<T>& w) {
  const auto at = [&](std::int64_t r, std::int64_t c) { return (r * s.columns.input + c) * s.channels + first; };
  const T* corner = image + at(rows.first, columns.first);
  for (std::int64_t i = 0; i < count; ++i) w.best[i] = comparable(corner[i]);
  for (std::int64_t i = 0; i < count; ++i) w.tap[i] = 0;
  std::int32_t tap = 0;
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c, ++tap) {
      const T* __restrict from = image + at(r, c);
      for (std::int64_t i = 0; i < count; ++i) {
        const Comparable<T> value = comparable(from[i]);
        const bool wins = beats(value, w.best[i]);
        w.best[i] = wins ? value : w.best[i];
        w.tap[i] = wins ? tap : w.tap[i];
      }
    }
}

/// The winner of each window receives the gradient: channels [first, first + count).
template <class T>
__attribute__((always_inline)) inline void pixel_gradient(const PoolSizes& s, const Inside& rows, const Inside& columns,
                                                          const T* image, const T* __restrict gradient,
                                                          Comparable<T>* sums, std::int64_t first, std::int64_t count) {
  Winners<T> w;
  find_winners(s, rows, columns, image, first, count, w);
  std::int32_t tap = 0;
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c, ++tap) {
      Comparable<T>* __restrict to = sums + (r * s.columns.input + c) * s.channels + first;
      for (std::int64_t i = 0; i < count; ++i) {
        const Comparable<T> whole = comparable(gradient[i]), share = w.tap[i] == tap ? whole : Comparable<T>(0);
        to[i] = static_cast<Comparable<T>>(to[i] + share);
      }
    }
}

/// Writes values and positions of one line of windows.
template <class T, class Index>
__attribute__((always_inline)) inline void argmax_row(const PoolSizes& s, std::int64_t out_row, const T* image, T* out,
                                                      Index* where, std::int64_t image_start) {
  const Inside rows(s.rows, out_row);
  Winners<T> w;
  for (std::int64_t column = 0; column < s.columns.output; ++column)
    for (std::int64_t first = 0; first < s.channels; first += kChannels) {
      const Inside columns(s.columns, column);
      const std::int64_t count = std::min(kChannels, s.channels - first), to = column * s.channels + first;
      find_winners(s, rows, columns, image, first, count, w);
      const std::int64_t across = columns.last - columns.first;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t r = rows.first + w.tap[i] / across, c = columns.first + w.tap[i] % across;
        const std::int64_t at = (r * s.columns.input + c) * s.channels + first + i;
        out[to + i] = image[at];
        where[to + i] = static_cast<Index>(image_start + at);
      }
    }
}

template <class T, class Index>
Prepared prepare_argmax(const PoolSizes& s, bool include_batch) {
  return prepared([=](const KernelArgs& args) {
    const std::int64_t row_elements = s.columns.output * s.channels;
    const std::int64_t row_work = row_elements * s.rows.kernel * s.columns.kernel;
    parallel_ranges(s.batch * s.rows.output, row_work * sizeof(T), [&](std::int64_t first, std::int64_t last) {
      wide([&]() __attribute__((always_inline)) {
        for (std::int64_t row = first; row < last; ++row) {
          const std::int64_t start = row / s.rows.output * s.input_image();
          argmax_row(s, row % s.rows.output, args.input<T>() + start, args.output<T>(0) + row * row_elements,
                     args.output<Index>(1) + row * row_elements, include_batch ? start : 0);
        }
      });
    });
  });
}

template <class T>
__attribute__((always_inline)) inline void mean_row(const PoolSizes& s, std::int64_t out_row, const T* image, T* out) {
  const Inside rows(s.rows, out_row);
  for (std::int64_t column = 0; column < s.columns.output; ++column, out += s.channels) {
    const Inside columns(s.columns, column);
    const auto pixels = static_cast<Comparable<T>>((rows.last - rows.first) * (columns.last - columns.first));
    for (std::int64_t first = 0; first < s.channels; first += kChannels) {
      const std::int64_t count = std::min(kChannels, s.channels - first);
      Comparable<T> sums[kChannels];
      for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
      for (std::int64_t r = rows.first; r < rows.last; ++r)
        for (std::int64_t c = columns.first; c < columns.last; ++c) {
          const T* __restrict from = image + (r * s.columns.input + c) * s.channels + first;
          for (std::int64_t i = 0; i < count; ++i) sums[i] += comparable(from[i]);
        }
      for (std::int64_t i = 0; i < count; ++i) out[first + i] = T(sums[i] / pixels);
    }
  }
}

template <class T>
Prepared prepare_mean(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    const std::int64_t row_elements = s.columns.output * s.channels;
    const std::int64_t row_work = row_elements * s.rows.kernel * s.columns.kernel;
    parallel_ranges(s.batch * s.rows.output, row_work * sizeof(T), [&](std::int64_t first, std::int64_t last) {
      wide([&]() __attribute__((always_inline)) {
        for (std::int64_t row = first; row < last; ++row)
          mean_row(s, row % s.rows.output, args.input<T>() + row / s.rows.output * s.input_image(),
                   args.output<T>() + row * row_elements);
      });
    });
  });
}

/// Every pixel of a window receives an equal share.
template <class T>
__attribute__((always_inline)) inline void spread_gradient(const PoolSizes& s, const Inside& rows,
                                                           const Inside& columns, const T* __restrict gradient,
                                                           Comparable<T>* sums) {
  const auto pixels = static_cast<Comparable<T>>((rows.last - rows.first) * (columns.last - columns.first));
  for (std::int64_t r = rows.first; r < rows.last; ++r)
    for (std::int64_t c = columns.first; c < columns.last; ++c) {
      Comparable<T>* __restrict to = sums + (r * s.columns.input + c) * s.channels;
      for (std::int64_t i = 0; i < s.channels; ++i) to[i] += comparable(gradient[i]) / pixels;
    }
}

/// Adds up what add_window(rows, columns, channels of the gradient, sums) gives for each window of an image. The sums
/// are the result itself, unless that has too few bits to add up in.
template <class T, class F>
void image_gradient(const PoolSizes& s, const T* gradient, T* out, const F& add_window) {
  using Sum = Comparable<T>;
  Sum* sums = nullptr;
  if constexpr (std::is_same_v<T, Sum>) sums = out;
  else sums = static_cast<Sum*>(scratch(ScratchUse::partials, s.input_image() * sizeof(Sum)));
  std::memset(sums, 0, s.input_image() * sizeof(Sum));
  wide([&]() __attribute__((always_inline)) {
    const T* from = gradient;
    for (std::int64_t r = 0; r < s.rows.output; ++r)
      for (std::int64_t c = 0; c < s.columns.output; ++c, from += s.channels)
        add_window(Inside(s.rows, r), Inside(s.columns, c), from, sums);
  });
  if constexpr (!std::is_same_v<T, Sum>)
    for (std::int64_t i = 0; i < s.input_image(); ++i) out[i] = T(sums[i]);
}

/// Calls body(n) for each image; windows of one image may overlap, images do not.
template <class T, class F>
void for_each_image(const PoolSizes& s, const F& body) {
  const std::int64_t image_work = s.output_image() * s.rows.kernel * s.columns.kernel * sizeof(T);
  parallel_ranges(s.batch, image_work, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t n = first; n < last; ++n) body(n);
  });
}

template <class T>
Prepared prepare_gradient(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    for_each_image<T>(s, [&](std::int64_t n) {
      const T* image = args.input<T>(0) + n * s.input_image();
      image_gradient(s, args.input<T>(2) + n * s.output_image(), args.output<T>() + n * s.input_image(),
                     [&](const Inside& rows, const Inside& columns, const T* from, Comparable<T>* sums)
                         __attribute__((always_inline)) {
                           for (std::int64_t first = 0; first < s.channels; first += kChannels)
                             pixel_gradient(s, rows, columns, image, from + first, sums, first,
                                            std::min(kChannels, s.channels - first));
                         });
    });
  });
}

template <class T>
Prepared prepare_mean_gradient(const PoolSizes& s) {
  return prepared([s](const KernelArgs& args) {
    for_each_image<T>(s, [&](std::int64_t n) {
      image_gradient(s, args.input<T>(0) + n * s.output_image(), args.output<T>() + n * s.input_image(),
                     [&](const Inside& rows, const Inside& columns, const T* from, Comparable<T>* sums)
                         __attribute__((always_inline)) { spread_gradient(s, rows, columns, from, sums); });
    });
  });
}

Support plain_pool(const KernelCall& call) {
  if (!kNumeric.contains(call.dtype())) return no("for numbers, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  return yes();
}

/// The floating dtypes only.
template <class F>
Prepared visit_floating(DType dtype, F&& f) {
  return visit_dtype(dtype, [&](auto tag) -> Prepared {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_floating_point_v<Comparable<T>>) return f(tag);
    else return nullptr;
  });
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

KernelList max_pool_with_argmax_kernels() {
  return {{"plain", plain_pool, [](const KernelCall& call) {
             const bool batch = call.attr().boolean("include_batch_in_index");
             return visit_numeric(call.dtype(), [&]<class T>(TypeTag<T>) {
               return call.outputs[1].dtype() == DType::i32 ? prepare_argmax<T, std::int32_t>(pool_sizes(call), batch)
                                                            : prepare_argmax<T, std::int64_t>(pool_sizes(call), batch);
             });
           }}};
}

KernelList avg_pool2d_kernels() {
  return {{"plain", plain_pool, [](const KernelCall& call) {
             return visit_floating(call.dtype(),
                                   [&]<class T>(TypeTag<T>) { return prepare_mean<T>(pool_sizes(call)); });
           }}};
}

KernelList avg_pool2d_grad_kernels() {
  return {{"plain", plain_pool, [](const KernelCall& call) {
             const auto sizes = PoolGeometry::make(call.attr(), call.outputs[0].shape());
             return visit_floating(call.dtype(), [&]<class T>(TypeTag<T>) { return prepare_mean_gradient<T>(sizes); });
           }}};
}

}  // namespace tandem::cpu
