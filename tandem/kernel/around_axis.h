// A shape seen from one of its axes.
#pragma once

#include "tandem/core/shape.h"

namespace tandem {

/// How many elements lie before, along and behind an axis: any shape is (outer, size, inner).
struct AroundAxis {
  std::int64_t outer = 1, size = 1, inner = 1;
};

inline AroundAxis around_axis(const Shape& shape, int axis) {
  AroundAxis around{.size = shape[axis]};
  for (int i = 0; i < axis; ++i) around.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) around.inner *= shape[i];
  return around;
}

}  // namespace tandem
