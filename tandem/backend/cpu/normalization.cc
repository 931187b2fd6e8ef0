// Normalisation over rows [rows, features]: loops over features, which lie side by side, in several passes while a
// block of rows stays in the cache. Sums over rows are taken slice by slice; the slices depend on the shape only.
#include <cmath>
#include <cstring>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"

// Vectors are never handed to a function that is not inlined: there is no calling convention to differ.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tandem::cpu {
namespace {

/// Rows of f32 are added up in blocks of so many before they go into a sum of f64.
constexpr std::int64_t kBlockRows = 32;
constexpr std::int64_t kMostSlices = 16;
constexpr int kLanes = 16;

struct Sizes {
  std::int64_t rows, features;
  std::int64_t slices, slice_rows;  // the grid of sums over rows
  explicit Sizes(const Shape& x) : rows(x.elements() / std::max<std::int64_t>(x[-1], 1)), features(x[-1]) {
    constexpr std::int64_t kSliceElements = 16 << 10;
    const std::int64_t wanted = std::clamp<std::int64_t>(rows * features / kSliceElements, 1, kMostSlices);
    slice_rows = std::max<std::int64_t>((rows + wanted - 1) / wanted, 1);
    slices = (rows + slice_rows - 1) / slice_rows;
  }
};

/// Adds f(i) for i in [0, n) in sixteen lanes, then the lanes: vectors, and the same bits everywhere.
template <class T, class F>
__attribute__((always_inline)) inline T lane_sum(std::int64_t n, const F& f) {
  T lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lanes[k] += f(i + k);
  for (int k = 0; i < n; ++i, ++k) lanes[k] += f(i);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
  return lanes[0];
}

/// Some numbers at once. Their order in sums is that of single ones, and so are the bits.
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(32)));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class V, class T>
constexpr std::int64_t kWidth = sizeof(V) / sizeof(T);

template <class V, class T>
__attribute__((always_inline)) inline V at(const T* from) {
  V value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class V, class T>
__attribute__((always_inline)) inline void put(const V& value, T* to) {
  std::memcpy(to, &value, sizeof value);
}

/// Sums of two functions over rows [first, last), of the columns of two vectors from c on: sums [2, features].
template <class V, class T, class F>
__attribute__((always_inline)) inline void sum_columns(const Sizes& s, std::int64_t first, std::int64_t last,
                                                       std::int64_t c, T* sums, const F& f) {
  constexpr std::int64_t width = kWidth<V, T>;
  V a0{}, a1{}, b0{}, b1{};
  for (std::int64_t row = first; row < last; ++row) {
    f(row, c, a0, b0);
    f(row, c + width, a1, b1);
  }
  put(a0, sums + c);
  put(a1, sums + c + width);
  put(b0, sums + s.features + c);
  put(b1, sums + s.features + c + width);
}

/// Column sums of two functions over all rows, as doubles: sums [2, features]. f(row, column, a, b) adds to a and b,
/// which are numbers or vectors of them. Sums of a block of rows stay in registers. each_row(row) comes before, for
/// what else needs a row while it is in the cache.
template <class T, class F, class EachRow>
void column_sums(const Sizes& s, double* sums, const F& f, const EachRow& each_row) {
  const std::int64_t width = 2 * s.features;
  auto* partials = static_cast<double*>(scratch(ScratchUse::partials, s.slices * width * sizeof(double)));
  parallel(s.slices, [&](std::int64_t slice) {
    double* total = partials + slice * width;
    auto* block = static_cast<T*>(scratch(ScratchUse::rows, width * sizeof(T)));
    const std::int64_t end = std::min((slice + 1) * s.slice_rows, s.rows);
    std::fill_n(total, width, 0.0);
    wide([&]() __attribute__((always_inline)) {
      constexpr std::int64_t step = 2 * kWidth<Vector<T>, T>;
      for (std::int64_t first = slice * s.slice_rows; first < end; first += kBlockRows) {
        const std::int64_t last = std::min(first + kBlockRows, end);
        for (std::int64_t row = first; row < last; ++row) each_row(row);
        std::int64_t c = 0;
        for (; c + step <= s.features; c += step) sum_columns<Vector<T>, T>(s, first, last, c, block, f);
        for (; c < s.features; ++c) {
          T a{}, b{};
          for (std::int64_t row = first; row < last; ++row) f(row, c, a, b);
          block[c] = a;
          block[s.features + c] = b;
        }
        for (std::int64_t i = 0; i < width; ++i) total[i] += static_cast<double>(block[i]);
      }
    });
  });
  std::fill_n(sums, width, 0.0);
  for (std::int64_t slice = 0; slice < s.slices; ++slice)
    for (std::int64_t c = 0; c < width; ++c) sums[c] += partials[slice * width + c];
}

template <class T, class F>
void column_sums(const Sizes& s, double* sums, const F& f) {
  column_sums<T>(s, sums, f, [](std::int64_t) {});
}

/// Two values a feature, kept while a batch is normalised.
template <class T>
T* feature_vectors(std::int64_t features, int count) {
  return static_cast<T*>(scratch(ScratchUse::columns, static_cast<std::size_t>(features * count) * sizeof(T)));
}

/// body(row) for every row, in slices.
template <class T, class F>
void for_rows(const Sizes& s, const F& body) {
  parallel_ranges(s.rows, s.features * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    wide([&]() __attribute__((always_inline)) {
                      for (std::int64_t row = first; row < last; ++row) body(row);
                    });
                  });
}

/// f(i, column, to[i]) for every element, in slices; elements are numbers or vectors of them. Short rows are walked
/// down column by column: a loop a row would mostly begin and end.
template <class T, class F>
void for_elements(const Sizes& s, T* to, const F& f) {
  using V = Vector<T>;
  constexpr std::int64_t width = kWidth<V, T>;
  const bool short_rows = s.features % (2 * width) == 0 && s.features <= 8 * width;
  parallel_ranges(s.rows, s.features * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    wide([&]() __attribute__((always_inline)) {
                      V value, next;
                      if (short_rows) {
                        for (std::int64_t c = 0; c < s.features; c += 2 * width)  // a cache line at a time
                          for (std::int64_t i = first * s.features + c; i < last * s.features; i += s.features) {
                            f(i, c, value);
                            f(i + width, c + width, next);
                            put(value, to + i);
                            put(next, to + i + width);
                          }
                        return;
                      }
                      for (std::int64_t row = first * s.features; row < last * s.features; row += s.features) {
                        std::int64_t c = 0;
                        for (; c + width <= s.features; c += width) {
                          f(row + c, c, value);
                          put(value, to + row + c);
                        }
                        for (; c < s.features; ++c) f(row + c, c, to[row + c]);
                      }
                    });
                  });
}

template <class T>
Prepared batch_forward(const KernelCall& call) {
  return prepared([s = Sizes(call.shape(0)), epsilon = call.attr().real("epsilon")](const KernelArgs& args) {
    const T *x = args.input<T>(0), *scale = args.input<T>(1), *offset = args.input<T>(2);
    T *y = args.output<T>(0), *mean = args.output<T>(1), *variance = args.output<T>(2);
    const auto n = static_cast<double>(s.rows);
    auto* sums = static_cast<double*>(scratch(ScratchUse::weights, 2 * s.features * sizeof(double)));
    column_sums<T>(s, sums, [=]<class V>(std::int64_t row, std::int64_t c, V& a, V&) __attribute__((always_inline)) {
      a += at<V>(x + row * s.features + c);
    });
    for (std::int64_t c = 0; c < s.features; ++c) mean[c] = static_cast<T>(sums[c] / n);
    column_sums<T>(s, sums, [=]<class V>(std::int64_t row, std::int64_t c, V& a, V& b) __attribute__((always_inline)) {
      const V d = at<V>(x + row * s.features + c) - at<V>(mean + c);
      a += d * d, b += d;
    });
    T* factor = feature_vectors<T>(s.features, 2);
    T* term = factor + s.features;
    for (std::int64_t c = 0; c < s.features; ++c) {
      const double rest = sums[s.features + c] / n;  // what rounding the mean left over
      variance[c] = static_cast<T>(sums[c] / n - rest * rest);
      factor[c] = static_cast<T>(static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon));
      term[c] = offset[c];
    }
    for_elements(s, y, [=]<class V>(std::int64_t i, std::int64_t c, V& to) __attribute__((always_inline)) {
      to = (at<V>(x + i) - at<V>(mean + c)) * at<V>(factor + c) + at<V>(term + c);
    });
  });
}

template <class T>
Prepared batch_gradient(const KernelCall& call) {
  return prepared([s = Sizes(call.shape(1)), epsilon = call.attr().real("epsilon")](const KernelArgs& args) {
    const T *dy = args.input<T>(0), *x = args.input<T>(1), *scale = args.input<T>(2), *mean = args.input<T>(3);
    const T* variance = args.input<T>(4);
    T* dx = args.output<T>(0);
    const auto n = static_cast<double>(s.rows);
    auto* sums = static_cast<double*>(scratch(ScratchUse::weights, 2 * s.features * sizeof(double)));
    column_sums<T>(s, sums, [=]<class V>(std::int64_t row, std::int64_t c, V& a, V& b) __attribute__((always_inline)) {
      const std::int64_t i = row * s.features + c;
      a += at<V>(dy + i) * (at<V>(x + i) - at<V>(mean + c)), b += at<V>(dy + i);
    });
    // dx = scale * inverse * (dy - sum(dy)/n - (x - mean) * inverse^2 * sum(dy * (x - mean))/n)
    T* factor = feature_vectors<T>(s.features, 3);
    T *share = factor + s.features, *slope = share + s.features;
    for (std::int64_t c = 0; c < s.features; ++c) {
      const double inverse = 1 / std::sqrt(static_cast<double>(variance[c]) + epsilon);
      args.output<T>(1)[c] = static_cast<T>(sums[c] * inverse);
      args.output<T>(2)[c] = static_cast<T>(sums[s.features + c]);
      factor[c] = static_cast<T>(static_cast<double>(scale[c]) * inverse);
      share[c] = static_cast<T>(sums[s.features + c] / n);
      slope[c] = static_cast<T>(sums[c] / n * inverse * inverse);
    }
    for_elements(s, dx, [=]<class V>(std::int64_t i, std::int64_t c, V& to) __attribute__((always_inline)) {
      to = at<V>(factor + c) * (at<V>(dy + i) - at<V>(share + c) - (at<V>(x + i) - at<V>(mean + c)) * at<V>(slope + c));
    });
  });
}

template <class T>
Prepared layer_forward(const KernelCall& call) {
  return prepared([s = Sizes(call.shape(0)),
                   epsilon = static_cast<T>(call.attr().real("epsilon"))](const KernelArgs& args) {
    const T *x = args.input<T>(0), *scale = args.input<T>(1), *offset = args.input<T>(2);
    T *y = args.output<T>(0), *means = args.output<T>(1), *inverses = args.output<T>(2);
    for_rows<T>(s, [&](std::int64_t row) __attribute__((always_inline)) {
      const T* __restrict from = x + row * s.features;
      T* __restrict to = y + row * s.features;
      const auto n = static_cast<T>(s.features);
      const T mean =
          lane_sum<T>(s.features, [&](std::int64_t c) __attribute__((always_inline)) { return from[c]; }) / n;
      const T variance =
          lane_sum<T>(s.features, [&](std::int64_t c)
                                      __attribute__((always_inline)) { return (from[c] - mean) * (from[c] - mean); }) /
          n;
      const T inverse = 1 / std::sqrt(variance + epsilon);
      means[row] = mean;
      inverses[row] = inverse;
      for (std::int64_t c = 0; c < s.features; ++c) to[c] = (from[c] - mean) * inverse * scale[c] + offset[c];
    });
  });
}

template <class T>
Prepared layer_gradient(const KernelCall& call) {
  return prepared([s = Sizes(call.shape(1))](const KernelArgs& args) {
    const T *dy = args.input<T>(0), *x = args.input<T>(1), *scale = args.input<T>(2), *means = args.input<T>(3);
    const T* inverses = args.input<T>(4);
    T* dx = args.output<T>(0);
    auto by_x = [=](std::int64_t row) __attribute__((always_inline)) {
      const T* __restrict from = x + row * s.features, * __restrict grad = dy + row * s.features;
      T* __restrict to = dx + row * s.features;
      const T mean = means[row], inverse = inverses[row], n = static_cast<T>(s.features);
      const T sum =
          lane_sum<T>(s.features, [&](std::int64_t c) __attribute__((always_inline)) { return grad[c] * scale[c]; }) /
          n;
      const T product = lane_sum<T>(s.features, [&](std::int64_t c) __attribute__((
                                                    always_inline)) { return grad[c] * scale[c] * (from[c] - mean); }) *
                        inverse / n;
      for (std::int64_t c = 0; c < s.features; ++c)
        to[c] = inverse * (grad[c] * scale[c] - sum - (from[c] - mean) * inverse * product);
    };
    auto* sums = static_cast<double*>(scratch(ScratchUse::weights, 2 * s.features * sizeof(double)));
    column_sums<T>(
        s, sums,
        [=]<class V>(std::int64_t row, std::int64_t c, V& a, V& b) __attribute__((always_inline)) {
          const std::int64_t i = row * s.features + c;
          a += at<V>(dy + i) * ((at<V>(x + i) - means[row]) * inverses[row]), b += at<V>(dy + i);
        },
        by_x);
    for (std::int64_t c = 0; c < s.features; ++c) {
      args.output<T>(1)[c] = static_cast<T>(sums[c]);
      args.output<T>(2)[c] = static_cast<T>(sums[s.features + c]);
    }
  });
}

Support plain_rows(const KernelCall& call) {
  if (call.dtype() != DType::f32 && call.dtype() != DType::f64)
    return no("for float32 and float64, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  if (call.inputs[call.inputs.size() == 5 ? 1 : 0].shape().elements() == 0) return no("nothing to compute: x is empty");
  return yes();
}

using Prepare = Prepared (*)(const KernelCall&);

/// The kernel for float, and that for double.
template <Prepare kFloat, Prepare kDouble>
KernelList both() {
  return {{"rows", plain_rows,
           [](const KernelCall& call) { return call.dtype() == DType::f32 ? kFloat(call) : kDouble(call); }}};
}

}  // namespace

KernelList batch_normalization_training_kernels() { return both<batch_forward<float>, batch_forward<double>>(); }
KernelList batch_normalization_grad_kernels() { return both<batch_gradient<float>, batch_gradient<double>>(); }
KernelList layer_normalization_kernels() { return both<layer_forward<float>, layer_forward<double>>(); }
KernelList layer_normalization_grad_kernels() { return both<layer_gradient<float>, layer_gradient<double>>(); }

}  // namespace tandem::cpu
