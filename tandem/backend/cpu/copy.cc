#include "tandem/backend/cpu/copy.h"

#include <cstring>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/simd.h"

namespace tandem::cpu {
namespace {

/// Counts through the outer axes of a copy and keeps the source's offset.
class Odometer {
 public:
  /// Stands at the `row`-th combination of the axes before `axes`, in row-major order.
  Odometer(const StridedCopy& copy, int axes, std::int64_t row) : copy_(copy), axes_(axes) {
    for (int axis = axes - 1; axis >= 0; --axis) {
      at_[axis] = row % copy.sizes[axis];
      row /= copy.sizes[axis];
      offset_ += at_[axis] * copy.steps[axis];
    }
  }
  std::int64_t offset() const { return offset_; }
  std::int64_t at(int axis) const { return at_[axis]; }
  void advance() {
    for (int axis = axes_ - 1; axis >= 0; --axis) {
      offset_ += copy_.steps[axis];
      if (++at_[axis] < copy_.sizes[axis]) return;
      offset_ -= copy_.sizes[axis] * copy_.steps[axis];
      at_[axis] = 0;
    }
  }

 private:
  const StridedCopy& copy_;
  int axes_;
  std::array<std::int64_t, kMaxRank> at_{};
  std::int64_t offset_ = 0;
};

/// A step that the compiler knows becomes shuffles of whole vectors.
template <std::int64_t kStep, class T>
void copy_stepping(const T* __restrict from, std::int64_t length, T* __restrict to) {
  wide([=]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < length; ++i) to[i] = from[i * kStep];
  });
}

template <class T>
void fill_row(T value, std::int64_t length, T* to) {
  wide([=]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < length; ++i) to[i] = value;
  });
}

template <class T>
void copy_row(const T* from, std::int64_t step, std::int64_t length, T* to) {
  if (step == 1) std::memcpy(to, from, length * sizeof(T));
  else if (step == 0) fill_row(*from, length, to);
  else if (step == -1) copy_stepping<-1>(from, length, to);
  else if (step == 2) copy_stepping<2>(from, length, to);
  else
    for (std::int64_t i = 0; i < length; ++i) to[i] = from[i * step];
}

/// `count` pixels of kLength elements. Three are moved as four, which is one load and one store: what is read too much
/// lies in a neighbour, what is written too much is overwritten by the next one. The first and the last have no
/// neighbour on one side.
template <int kLength, class T>
void copy_pixels(const T* from, std::int64_t step, std::int64_t count, T* to) {
  constexpr int kMoved = kLength == 3 && sizeof(T) <= 4 ? 4 : kLength;
  const auto move = [&](std::int64_t i, int length) __attribute__((always_inline)) {
    std::memcpy(to + i * kLength, from + i * step, length * sizeof(T));
  };
  if (kMoved == kLength || step == 0) {
    for (std::int64_t i = 0; i < count; ++i) move(i, kLength);
    return;
  }
  move(0, kLength);
  for (std::int64_t i = 1; i + 1 < count; ++i) move(i, kMoved);
  if (count > 1) move(count - 1, kLength);
}

/// Rows of a few elements, as many as the compiler knows: the channels of a picture.
template <int kLength, class T>
void copy_short_rows(const StridedCopy& copy, const T* from, T* to) {
  const int axis = copy.rank - 2;  // rows of rows
  const std::int64_t count = copy.sizes[axis], step = copy.steps[axis],
                     bytes = count * kLength * static_cast<std::int64_t>(sizeof(T));
  parallel_ranges(copy.elements / (count * kLength), bytes, [&](std::int64_t first, std::int64_t end) {
    Odometer row(copy, axis, first);
    for (std::int64_t r = first; r < end; ++r, row.advance())
      copy_pixels<kLength>(from + row.offset(), step, count, to + r * count * kLength);
  });
}

template <class T>
void copy_rows(const StridedCopy& copy, const T* from, T* to) {
  const int last = copy.rank - 1;
  const std::int64_t length = copy.sizes[last], step = copy.steps[last];
  if (step == 1 && length == 2) return copy_short_rows<2>(copy, from, to);
  if (step == 1 && length == 3) return copy_short_rows<3>(copy, from, to);
  if (step == 1 && length == 4) return copy_short_rows<4>(copy, from, to);
  parallel_ranges(copy.elements / length, length * sizeof(T), [&](std::int64_t first, std::int64_t end) {
    Odometer row(copy, last, first);
    for (std::int64_t r = first; r < end; ++r, row.advance())
      copy_row(from + row.offset(), step, length, to + r * length);
  });
}

/// A single row is cut along its length.
template <class T>
void copy_one_row(const StridedCopy& copy, const T* from, T* to) {
  const std::int64_t length = copy.rank ? copy.sizes[0] : 1, step = copy.rank ? copy.steps[0] : 1;
  parallel_ranges(length, sizeof(T), [&](std::int64_t first, std::int64_t end) {
    copy_row(from + first * step, step, end - first, to + first);
  });
}

/// A tile is as wide as a cache line on both sides.
template <class T>
constexpr std::int64_t kTile = 64 / sizeof(T);

/// to (rows, columns) = from, which moves by `row_step` a row and `column_step` a column.
struct Tile {
  std::int64_t rows, columns;
  std::int64_t row_step, column_step;
  std::int64_t to_step;
};

/// Four by four elements through registers: four loads, four stores.
template <class T>
void swap_4x4(const T* from, std::int64_t from_step, T* to, std::int64_t to_step) {
  typedef T V __attribute__((vector_size(4 * sizeof(T))));
  V r[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&r[i], from + i * from_step, sizeof(V));
  const V a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const V c = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  const V out[4] = {__builtin_shufflevector(a, c, 0, 1, 4, 5), __builtin_shufflevector(a, c, 2, 3, 6, 7),
                    __builtin_shufflevector(b, d, 0, 1, 4, 5), __builtin_shufflevector(b, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_step, &out[i], sizeof(V));
}

/// A full tile by way of a small buffer: every line of the source is read once, every line of the result written
/// once, so that steps of a power of two, whose lines fight for one cache set, do no harm.
template <class T>
void copy_full_tile(const Tile& t, const T* from, T* to) {
  constexpr int kSide = kTile<T>;
  alignas(64) T buffer[kSide * kSide];
  if constexpr (sizeof(T) == 4) {
    for (int column = 0; column < kSide; column += 4)
      for (int row = 0; row < kSide; row += 4)
        swap_4x4(from + row + column * t.column_step, t.column_step, buffer + row * kSide + column, kSide);
  } else {
    for (int column = 0; column < kSide; ++column)
      for (int row = 0; row < kSide; ++row) buffer[row * kSide + column] = from[row + column * t.column_step];
  }
  for (int row = 0; row < kSide; ++row) std::memcpy(to + row * t.to_step, buffer + row * kSide, sizeof(T) * kSide);
}

template <class T>
void copy_tile(const Tile& t, const T* from, T* to) {
  if (t.row_step == 1 && t.rows == kTile<T> && t.columns == kTile<T>) return copy_full_tile(t, from, to);
  for (std::int64_t row = 0; row < t.rows; ++row)
    for (std::int64_t column = 0; column < t.columns; ++column)
      to[row * t.to_step + column] = from[row * t.row_step + column * t.column_step];
}

/// The last axis of the result and the nearest of the source are walked in tiles, so that both sides use whole
/// cache lines. A slice is some bands along the near axis.
template <class T>
void copy_tiles(const StridedCopy& copy, const T* from, T* to) {
  constexpr std::int64_t kSide = kTile<T>;
  const int last = copy.rank - 1, near = copy.near;
  StridedCopy outer = copy;  // the near axis counts bands
  const std::int64_t bands = (copy.sizes[near] + kSide - 1) / kSide;
  outer.sizes[near] = bands;
  outer.steps[near] = copy.steps[near] * kSide;
  std::array<std::int64_t, kMaxRank> to_steps{};
  for (std::int64_t axis = last, step = 1; axis >= 0; step *= copy.sizes[axis--]) to_steps[axis] = step;
  StridedCopy target = outer;
  target.steps = to_steps;
  target.steps[near] *= kSide;

  const std::int64_t length = copy.sizes[last];
  const std::int64_t total = copy.elements / length / copy.sizes[near] * bands;
  const std::int64_t band_bytes = std::min(kSide, copy.sizes[near]) * length * sizeof(T);
  parallel_ranges(total, band_bytes, [&](std::int64_t first, std::int64_t end) {
    Odometer source(outer, last, first), result(target, last, first);
    for (std::int64_t i = first; i < end; ++i, source.advance(), result.advance()) {
      const std::int64_t band = source.at(near);
      for (std::int64_t column = 0; column < length; column += kSide) {
        const Tile tile{.rows = std::min(kSide, copy.sizes[near] - band * kSide),
                        .columns = std::min(kSide, length - column),
                        .row_step = copy.steps[near],
                        .column_step = copy.steps[last],
                        .to_step = to_steps[near]};
        copy_tile(tile, from + source.offset() + column * copy.steps[last], to + result.offset() + column);
      }
    }
  });
}

}  // namespace

StridedCopy make_copy(const Shape& result, const Strides& source_steps) {
  StridedCopy copy;
  copy.elements = result.elements();
  for (int axis = 0; axis < result.rank(); ++axis) {
    const std::int64_t size = result[axis], step = source_steps[axis];
    if (size == 1) continue;
    const int before = copy.rank - 1;
    if (before >= 0 && copy.steps[before] == step * size) {
      copy.sizes[before] *= size;
      copy.steps[before] = step;
    } else {
      copy.sizes[copy.rank] = size;
      copy.steps[copy.rank++] = step;
    }
  }
  const int last = copy.rank - 1;
  if (last < 1 || copy.steps[last] <= 1) return copy;
  for (int axis = 0; axis < last; ++axis) {
    if (copy.steps[axis] == 0 || copy.steps[axis] >= copy.steps[last]) continue;
    if (copy.near < 0 || copy.steps[axis] < copy.steps[copy.near]) copy.near = axis;
  }
  return copy;
}

void run_copy(const StridedCopy& copy, std::size_t element_bytes, const void* from, void* to) {
  if (copy.elements == 0) return;
  visit_size(element_bytes, [&]<class T>(T) {
    const auto* source = static_cast<const T*>(from);
    auto* target = static_cast<T*>(to);
    if (copy.rank <= 1) return copy_one_row(copy, source, target);
    if (copy.near >= 0) return copy_tiles(copy, source, target);
    copy_rows(copy, source, target);
  });
}

}  // namespace tandem::cpu
