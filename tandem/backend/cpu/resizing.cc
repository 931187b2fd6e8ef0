// Bilinear resizing and its gradient: a row of the result at a time, first between two rows, then between the pixels of
// that row. Threads share rows of the result, so every sum has one order.
#include <algorithm>
#include <memory>
#include <vector>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/kernel/between_pixels.h"
#include "tandem/op/network_records.h"

namespace tandem::cpu {
namespace {

/// Small images and their resized ones.
struct ResizePlan {
  std::int64_t batch, height, width, channels;
  std::int64_t new_height, new_width;
  std::vector<BetweenPixels> rows, columns;  // of the resized images

  ResizePlan(const Shape& images, const Shape& resized)
      : batch(images[0]),
        height(images[1]),
        width(images[2]),
        channels(images[3]),
        new_height(resized[1]),
        new_width(resized[2]),
        rows(between_pixels(height, new_height)),
        columns(between_pixels(width, new_width)) {}
  std::int64_t row_size() const { return width * channels; }
  std::int64_t new_row_size() const { return new_width * channels; }
};

template <class T>
T* row_buffer(std::int64_t elements) {
  return static_cast<T*>(scratch(ScratchUse::rows, static_cast<std::size_t>(elements) * sizeof(T)));
}

/// kChannels > 0: their number, known to the compiler.
template <int kChannels, class T>
[[gnu::always_inline]] inline void resize_row(const ResizePlan& plan, const T* __restrict from, T* __restrict to) {
  const std::int64_t channels = kChannels > 0 ? kChannels : plan.channels;
  for (const BetweenPixels& column : plan.columns) {
    const T *lower = from + column.lower * channels, *upper = from + column.upper * channels;
    const auto share = static_cast<T>(column.share);
    for (std::int64_t k = 0; k < channels; ++k) to[k] = lower[k] + (upper[k] - lower[k]) * share;
    to += channels;
  }
}

template <int kChannels, class T>
void resize(const ResizePlan& plan, const T* images, T* resized) {
  const std::int64_t size = plan.row_size(), new_size = plan.new_row_size();
  parallel_ranges(plan.batch * plan.new_height, (size + new_size) * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    T* buffer = row_buffer<T>(size);
                    wide([&]() __attribute__((always_inline)) {
                      for (std::int64_t line = first; line < last; ++line) {
                        const BetweenPixels row = plan.rows[static_cast<std::size_t>(line % plan.new_height)];
                        const T* image = images + line / plan.new_height * plan.height * size;
                        const T *lower = image + row.lower * size, *upper = image + row.upper * size;
                        const auto share = static_cast<T>(row.share);
                        for (std::int64_t k = 0; k < size; ++k) buffer[k] = lower[k] + (upper[k] - lower[k]) * share;
                        resize_row<kChannels>(plan, buffer, resized + line * new_size);
                      }
                    });
                  });
}

/// What new row `y` has of row `y_before`.
template <class T>
T weight_of(const BetweenPixels& y, std::int64_t y_before) {
  return (y.lower == y_before ? 1 - static_cast<T>(y.share) : T{0}) +
         (y.upper == y_before ? static_cast<T>(y.share) : T{0});
}

/// sum = the rows of gradients that have a share in row `y`, each times that share.
template <class T>
[[gnu::always_inline]] inline void add_shares(const ResizePlan& plan, std::int64_t y, const T* grads,
                                              T* __restrict sum) {
  const std::int64_t size = plan.new_row_size();
  const auto begin = std::ranges::lower_bound(plan.rows, y, {}, &BetweenPixels::upper);
  const auto end = std::ranges::upper_bound(plan.rows, y, {}, &BetweenPixels::lower);
  if (begin >= end) std::fill_n(sum, size, T{0});
  for (auto row = begin; row < end; ++row) {
    const T* __restrict from = grads + (row - plan.rows.begin()) * size;
    const T weight = weight_of<T>(*row, y);
    if (row == begin)
      for (std::int64_t k = 0; k < size; ++k) sum[k] = from[k] * weight;
    else
      for (std::int64_t k = 0; k < size; ++k) sum[k] += from[k] * weight;
  }
}

template <int kChannels, class T>
[[gnu::always_inline]] inline void spread_row(const ResizePlan& plan, const T* __restrict from, T* __restrict to) {
  const std::int64_t channels = kChannels > 0 ? kChannels : plan.channels;
  std::fill_n(to, plan.width * channels, T{0});
  for (const BetweenPixels& column : plan.columns) {
    T *lower = to + column.lower * channels, *upper = to + column.upper * channels;
    const T share = static_cast<T>(column.share), rest = 1 - share;
    for (std::int64_t k = 0; k < channels; ++k) lower[k] += from[k] * rest;
    for (std::int64_t k = 0; k < channels; ++k) upper[k] += from[k] * share;
    from += channels;
  }
}

template <int kChannels, class T>
void resize_grad(const ResizePlan& plan, const T* grads, T* images) {
  const std::int64_t size = plan.row_size(), new_size = plan.new_row_size();
  const std::int64_t bytes =
      (size + new_size * (1 + 2 * plan.new_height / plan.height)) * static_cast<std::int64_t>(sizeof(T));
  parallel_ranges(plan.batch * plan.height, bytes, [&](std::int64_t first, std::int64_t last) {
    T* sum = row_buffer<T>(new_size);
    wide([&]() __attribute__((always_inline)) {
      for (std::int64_t line = first; line < last; ++line) {
        add_shares(plan, line % plan.height, grads + line / plan.height * plan.new_height * new_size, sum);
        spread_row<kChannels>(plan, sum, images + line * size);
      }
    });
  });
}

template <int kChannels, class T>
Prepared prepare_channels(bool gradient, std::shared_ptr<const ResizePlan> plan) {
  if (gradient)
    return prepared(
        [plan](const KernelArgs& args) { resize_grad<kChannels>(*plan, args.input<T>(), args.output<T>()); });
  return prepared([plan](const KernelArgs& args) { resize<kChannels>(*plan, args.input<T>(), args.output<T>()); });
}

template <class T>
Prepared prepare_dtype(const KernelCall& call) {
  const bool gradient = &call.op == &resize_bilinear_grad_op;
  const Shape &in = call.shape(), &out = call.outputs[0].shape();
  const auto plan = std::make_shared<const ResizePlan>(gradient ? out : in, gradient ? in : out);
  switch (plan->channels) {
    case 1: return prepare_channels<1, T>(gradient, plan);
    case 3: return prepare_channels<3, T>(gradient, plan);
    case 4: return prepare_channels<4, T>(gradient, plan);
    default: return prepare_channels<0, T>(gradient, plan);
  }
}

Support supports(const KernelCall& call) {
  if (call.dtype() != DType::f32 && call.dtype() != DType::f64) return no("resizes f32 and f64, got ", call.dtype());
  return all_dense(call) ? yes() : no("needs dense operands");
}

Prepared prepare(const KernelCall& call) {
  return call.dtype() == DType::f32 ? prepare_dtype<float>(call) : prepare_dtype<double>(call);
}

}  // namespace

KernelList resizing_kernels() { return {{.name = "rows", .supports = supports, .prepare = prepare}}; }

}  // namespace tandem::cpu
