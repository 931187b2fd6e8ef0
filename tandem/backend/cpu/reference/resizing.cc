// Bilinear resizing and its gradient, pixel by pixel.
#include <vector>

#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/kernel/between_pixels.h"
#include "tandem/op/network_records.h"

namespace tandem::cpu {
namespace {

/// Calls body(element of the small images, element of the resized ones, weight) for each share that one has in the
/// other.
template <class F>
void for_each_share(const Shape& images, const Shape& resized, F body) {
  const auto rows = between_pixels(images[1], resized[1]), columns = between_pixels(images[2], resized[2]);
  for_each_position(resized, [&](const Position& p) {
    const std::int64_t to = ((p[0] * resized[1] + p[1]) * resized[2] + p[2]) * resized[3] + p[3];
    const BetweenPixels row = rows[static_cast<std::size_t>(p[1])], column = columns[static_cast<std::size_t>(p[2])];
    const double down = row.share, right = column.share;
    const auto share = [&](std::int64_t y, std::int64_t x, double weight) {
      body(((p[0] * images[1] + y) * images[2] + x) * images[3] + p[3], to, weight);
    };
    share(row.lower, column.lower, (1 - down) * (1 - right));
    share(row.lower, column.upper, (1 - down) * right);
    share(row.upper, column.lower, down * (1 - right));
    share(row.upper, column.upper, down * right);
  });
}

template <class T>
Prepared prepare(const KernelCall& call) {
  const bool gradient = &call.op == &resize_bilinear_grad_op;
  return prepared([=, in = call.shape(), out = call.outputs[0].shape()](const KernelArgs& args) {
    std::vector<double> sums(static_cast<std::size_t>(out.elements()), 0.0);
    for_each_share(gradient ? out : in, gradient ? in : out,
                   [&](std::int64_t small, std::int64_t large, double weight) {
                     const std::int64_t from = gradient ? large : small, to = gradient ? small : large;
                     sums[static_cast<std::size_t>(to)] += weight * static_cast<double>(widen(args.input<T>()[from]));
                   });
    for (std::size_t i = 0; i < sums.size(); ++i) args.output<T>()[i] = narrow<T>(sums[i]);
  });
}

}  // namespace

Kernel reference_resizing() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare<typename decltype(tag)::type>(call); });
          }};
}

}  // namespace tandem::cpu
