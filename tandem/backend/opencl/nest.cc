#include "tandem/backend/opencl/nest.h"

#include <algorithm>

namespace tandem::opencl {
namespace {

constexpr std::size_t kOuter = kMaxRank - 1;  // axes that make up the rows, at most

bool joins(const Axes& axes, std::size_t outer, const Shape& shape, int d, std::span<const Strides> strides) {
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (axes.strides[i][outer] != strides[i][static_cast<std::size_t>(d)] * shape[d]) return false;
  return true;
}

}  // namespace

std::int64_t Axes::elements() const {
  std::int64_t product = 1;
  for (std::int64_t size : sizes) product *= size;
  return product;
}

Axes join_axes(const Shape& shape, std::span<const Strides> strides) {
  Axes axes;
  axes.strides.resize(strides.size());
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    const bool join = !axes.sizes.empty() && joins(axes, axes.sizes.size() - 1, shape, d, strides);
    if (join) axes.sizes.back() *= shape[d];
    else axes.sizes.push_back(shape[d]);
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (join) axes.strides[i].back() = strides[i][static_cast<std::size_t>(d)];
      else axes.strides[i].push_back(strides[i][static_cast<std::size_t>(d)]);
    }
  }
  if (axes.sizes.empty()) {  // a single element: its neighbours would lie side by side
    axes.sizes.push_back(1);
    for (auto& own : axes.strides) own.push_back(1);
  }
  return axes;
}

Strides broadcast_strides(const Operand& operand, const Shape& target) {
  Strides strides{};
  const int extra = target.rank() - operand.shape().rank();
  for (int i = extra; i < target.rank(); ++i)
    strides[static_cast<std::size_t>(i)] =
        operand.shape()[i - extra] == 1 ? 0 : operand.strides[static_cast<std::size_t>(i - extra)];
  return strides;
}

Nest make_nest(const Axes& axes, int operands, const Context& context, double work) {
  Nest nest;
  nest.length = axes.sizes.back();
  const std::int64_t elements = axes.elements(), rows = nest.length ? elements / nest.length : 0;
  // Whole vectors where the device has them: a work-item of a GPU handles one.
  std::int64_t per_item = std::max<std::int64_t>(context.elements_per_item(elements, work), 8);
  per_item = (per_item + 7) / 8 * 8;
  const std::int64_t columns = std::min(nest.length, per_item);
  const std::int64_t rows_per_item = columns ? std::max<std::int64_t>(1, per_item / columns) : 1;
  const std::int64_t chunks = columns ? (nest.length + columns - 1) / columns : 0;
  nest.items = (rows + rows_per_item - 1) / rows_per_item * chunks;
  const std::size_t outer = axes.sizes.size() - 1;
  TANDEM_CHECK(outer <= kOuter, "too many axes");
  nest.words = {rows, nest.length, chunks, rows_per_item, columns, static_cast<std::int64_t>(outer)};
  auto append = [&](const std::vector<std::int64_t>& values) {
    for (std::size_t d = 0; d < kOuter; ++d) nest.words.push_back(d < outer ? values[d] : 0);
  };
  append(axes.sizes);
  for (int i = 0; i < operands; ++i) nest.words.push_back(axes.strides[static_cast<std::size_t>(i)].back());
  for (int i = 0; i < operands; ++i) append(axes.strides[static_cast<std::size_t>(i)]);
  return nest;
}

std::string nest_source(int operands) {
  std::string offsets, steps;
  for (int i = 0; i < operands; ++i) {
    offsets += text(" long o", i, " = 0;");
    steps += text(" o", i, " += at * n.stride[", i, "][d];");
  }
  return text("typedef struct { long rows, length, chunks, rows_per_item, columns, rank; long size[", kOuter,
              "]; long inner[", std::max(operands, 1), "]; long stride[", std::max(operands, 1), "][", kOuter,
              "]; } Nest;\n",
              // The rows of a work-item, and the part [begin, end) of each.
              "#define ITEM_ROWS \\\n"
              "  const long item = ITEM, block = item / n.chunks, chunk = item - block * n.chunks; \\\n"
              "  const long begin = chunk * n.columns, end = min(n.length, begin + n.columns); \\\n"
              "  const long row_end = min(n.rows, (block + 1) * n.rows_per_item); \\\n"
              "  for (long row = block * n.rows_per_item; row < row_end; ++row)\n",
              // The first element of the row in each operand.
              "#define ROW_OFFSETS", offsets, " { long rest = row; for (int d = (int)n.rank - 1; d >= 0; --d) { ",
              "const long q = rest / n.size[d], at = rest - q * n.size[d]; rest = q;", steps, " } }\n");
}

}  // namespace tandem::opencl
