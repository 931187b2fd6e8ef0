// Ops that lay runs of memory side by side: concat and pad.
#include <cstring>
#include <vector>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/fill.h"
#include "tandem/backend/cpu/library_kernels.h"

namespace tandem::cpu {
namespace {

std::int64_t product(const Shape& shape, int first, int last) {
  std::int64_t elements = 1;
  for (int axis = first; axis < last; ++axis) elements *= shape[axis];
  return elements;
}

/// One row of the result is one run of each input.
struct ConcatPlan {
  std::int64_t rows = 0, row_bytes = 0;
  std::vector<std::int64_t> runs;  // bytes of a row, an input
};

ConcatPlan concat_plan(const KernelCall& call) {
  const Shape& result = call.outputs[0].shape();
  const int rank = result.rank(), axis = normalize_axis("concat", call.attr().integer("axis"), rank);
  const auto bytes = static_cast<std::int64_t>(dtype_size(call.dtype()));
  ConcatPlan plan{.rows = product(result, 0, axis), .row_bytes = product(result, axis, rank) * bytes};
  for (const Operand& input : call.inputs) plan.runs.push_back(product(input.shape(), axis, rank) * bytes);
  return plan;
}

void concat_rows(const ConcatPlan& plan, const KernelArgs& args) {
  parallel_ranges(plan.rows, plan.row_bytes, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      char* to = args.output<char>() + row * plan.row_bytes;
      for (std::size_t i = 0; i < plan.runs.size(); to += plan.runs[i++])
        std::memcpy(to, args.input<char>(static_cast<int>(i)) + row * plan.runs[i], plan.runs[i]);
    }
  });
}

/// Along the outermost axis: long runs, each cut on its own.
void concat_runs(const ConcatPlan& plan, const KernelArgs& args) {
  char* to = args.output<char>();
  for (std::size_t i = 0; i < plan.runs.size(); to += plan.runs[i++]) {
    const char* from = args.input<char>(static_cast<int>(i));
    if (from == to) continue;  // it was made in its place
    parallel_ranges(plan.runs[i], 1, [&](std::int64_t first, std::int64_t last) {
      std::memcpy(to + first, from + first, last - first);
    });
  }
}

Prepared prepare_concat(const KernelCall& call) {
  return prepared([plan = concat_plan(call)](const KernelArgs& args) {
    plan.rows == 1 ? concat_runs(plan, args) : concat_rows(plan, args);
  });
}

/// Axes behind the last padded one form a unit; a row is the last padded axis.
struct PadPlan {
  Shape input, result;
  std::array<std::int64_t, kMaxRank> before{};
  int axis = 0;  // the last padded one
  std::int64_t rows = 1, unit = 1, row = 1;  // rows of the result; elements of a unit, of a row
};

PadPlan pad_plan(const KernelCall& call) {
  const auto paddings = call.attr().ints("paddings");
  PadPlan plan{.input = call.shape(), .result = call.outputs[0].shape()};
  const int rank = plan.result.rank();
  for (int axis = 0; axis < rank; ++axis) {
    plan.before[axis] = paddings[2 * axis];
    if (paddings[2 * axis] != 0 || paddings[2 * axis + 1] != 0) plan.axis = axis;
  }
  plan.rows = product(plan.result, 0, plan.axis);
  plan.unit = product(plan.result, std::min(plan.axis + 1, rank), rank);
  plan.row = rank == 0 ? 1 : plan.result[plan.axis] * plan.unit;
  return plan;
}

/// The row of the input that fills this row of the result; -1 inside the padding.
std::int64_t input_row(const PadPlan& plan, std::int64_t row) {
  std::int64_t found = 0, scale = 1;
  for (int axis = plan.axis - 1; axis >= 0; --axis) {
    const std::int64_t at = row % plan.result[axis] - plan.before[axis];
    if (at < 0 || at >= plan.input[axis]) return -1;
    found += at * scale;
    scale *= plan.input[axis];
    row /= plan.result[axis];
  }
  return found;
}

/// Padded along the outermost axis: three long runs, each cut on its own.
template <class T>
void pad_run(std::int64_t before, std::int64_t run, std::int64_t row, const T* from, T value, T* to) {
  const auto fill = [&](T* begin, std::int64_t count) {
    parallel_ranges(count, sizeof(T),
                    [&](std::int64_t first, std::int64_t last) { fill_elements(begin + first, begin + last, value); });
  };
  fill(to, before);
  parallel_ranges(run, sizeof(T), [&](std::int64_t first, std::int64_t last) {
    std::memcpy(static_cast<void*>(to + before + first), from + first,
                static_cast<std::size_t>(last - first) * sizeof(T));
  });
  fill(to + before + run, row - before - run);
}

template <class T>
void pad_rows(const PadPlan& plan, const T* from, T value, T* to) {
  const bool scalar = plan.result.rank() == 0;
  const std::int64_t run = (scalar ? 1 : plan.input[plan.axis]) * plan.unit;
  const std::int64_t before = plan.before[plan.axis] * plan.unit;
  if (plan.rows == 1 && input_row(plan, 0) == 0) return pad_run(before, run, plan.row, from, value, to);
  parallel_ranges(plan.rows, plan.row * sizeof(T), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      T* line = to + row * plan.row;
      const std::int64_t source = input_row(plan, row);
      if (source < 0) {
        fill_elements(line, line + plan.row, value);
        continue;
      }
      std::fill_n(line, before, value);
      std::memcpy(static_cast<void*>(line + before), from + source * run, run * sizeof(T));
      std::fill_n(line + before + run, plan.row - before - run, value);
    }
  });
}

Prepared prepare_pad(const KernelCall& call) {
  return visit_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([plan = pad_plan(call)](const KernelArgs& args) {
      const auto value = element_of<T>(std::bit_cast<double>(args.run_time[0]));
      if (plan.result.elements() > 0) pad_rows(plan, args.input<T>(), value, args.output<T>());
    });
  });
}

}  // namespace

KernelList concat_kernels() { return {{"runs", movable, prepare_concat}}; }
KernelList pad_kernels() { return {{"runs", movable, prepare_pad}}; }

}  // namespace tandem::cpu
