// Slices with steps, and elements picked and put by position. Updates of one place happen in their order: threads share
// columns, never a place.
#include <cstring>
#include <numeric>

#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/compare.h"
#include "tandem/backend/cpu/copy.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/kernel/scatter_plan.h"

namespace tandem::cpu {
namespace {

/// The numbers of a list among the run-time words: after their count.
std::span<const std::int64_t> listed(const KernelArgs& args) { return args.run_time.subspan(1); }

std::vector<std::int64_t> strides_of(const KernelCall& call) {
  const auto strides = call.attr().ints("strides");
  return {strides.begin(), strides.end()};
}

Prepared prepare_slice(const KernelCall& call) {
  const Shape in = call.shape(), out = call.outputs[0].shape();
  const std::size_t bytes = dtype_size(call.dtype());
  const StridedCopy copy = make_copy(out, slice_steps(in, call.attr().ints("strides")));
  return prepared([=, strides = strides_of(call)](const KernelArgs& args) {
    const std::int64_t offset = slice_offset("strided_slice", in, out, listed(args), strides);
    run_copy(copy, bytes, args.input<char>() + offset * static_cast<std::int64_t>(bytes), args.outputs[0]);
  });
}

template <class T>
void spread(const Shape& part, const Strides& steps, const T* from, T* to) {
  const int rank = part.rank();
  const std::int64_t length = rank ? part[-1] : 1, step = rank ? steps[static_cast<std::size_t>(rank - 1)] : 1;
  const std::int64_t rows = part.elements() / std::max<std::int64_t>(length, 1);
  parallel_ranges(rows, length * static_cast<std::int64_t>(sizeof(T)), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      std::int64_t at = 0, rest = row;
      for (int axis = rank - 2; axis >= 0; rest /= part[axis--])
        at += rest % part[axis] * steps[static_cast<std::size_t>(axis)];
      for (std::int64_t k = 0; k < length; ++k) to[at + k * step] = from[row * length + k];
    }
  });
}

Prepared prepare_slice_grad(const KernelCall& call) {
  const Shape part = call.shape(), whole = call.outputs[0].shape();
  const Strides steps = slice_steps(whole, call.attr().ints("strides"));
  return visit_size(dtype_size(call.dtype()), [&]<class T>(T) -> Prepared {
    return prepared([=, strides = strides_of(call)](const KernelArgs& args) {
      const std::int64_t offset = slice_offset("strided_slice_grad", whole, part, listed(args), strides);
      parallel_zero(args.outputs[0], static_cast<std::size_t>(whole.elements()) * sizeof(T));
      if (part.elements() > 0) spread(part, steps, args.input<T>(), args.output<T>() + offset);
    });
  });
}

/// The number of the slice that row i names. kDepth > 0: the numbers of a position, known to the compiler.
template <int kDepth = 0, class Index>
std::int64_t slice_at(const PositionPlan& plan, std::string_view op, const Index* indices, std::int64_t i) {
  const int depth = kDepth > 0 ? kDepth : plan.depth;
  std::int64_t at = 0;
  for (int d = 0; d < depth; ++d) {
    const std::int64_t index = indices[i * depth + d], size = plan.sizes[static_cast<std::size_t>(d)];
    if (index < 0 || index >= size) [[unlikely]]
      fail(ErrorCode::index_out_of_range, op, ": index ", index, " at position ", i, " is outside axis ", d,
           " of size ", size);
    at = at * size + index;
  }
  return at;
}

template <int kDepth, class T, class Index>
void gather_rows(const PositionPlan& plan, const T* from, const Index* indices, T* to) {
  parallel_ranges(plan.inner ? plan.rows : 0, plan.inner * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    if (plan.inner == 1)
                      for (std::int64_t i = first; i < last; ++i)
                        to[i] = from[slice_at<kDepth>(plan, "gather_nd", indices, i)];
                    else
                      for (std::int64_t i = first; i < last; ++i)
                        std::copy_n(from + slice_at<kDepth>(plan, "gather_nd", indices, i) * plan.inner, plan.inner,
                                    to + i * plan.inner);
                  });
}

template <class T, class Index>
Prepared prepare_gather_rows(const PositionPlan& plan) {
  return prepared([plan](const KernelArgs& args) {
    const auto* indices = args.input<Index>(1);
    switch (plan.depth) {
      case 1: return gather_rows<1>(plan, args.input<T>(), indices, args.output<T>());
      case 2: return gather_rows<2>(plan, args.input<T>(), indices, args.output<T>());
      default: return gather_rows<0>(plan, args.input<T>(), indices, args.output<T>());
    }
  });
}

Prepared prepare_gather_nd(const KernelCall& call) {
  const PositionPlan plan(call.shape(), call.inputs[1]);
  return visit_size(dtype_size(call.dtype()), [&]<class T>(T) -> Prepared {
    return plan.index == DType::i32 ? prepare_gather_rows<T, std::int32_t>(plan)
                                    : prepare_gather_rows<T, std::int64_t>(plan);
  });
}

template <ScatterKind kKind, class C>
C put(C old, C update) {
  if constexpr (kKind == ScatterKind::update) return update;
  else if constexpr (kKind == ScatterKind::add) return static_cast<C>(old + update);
  else if constexpr (kKind == ScatterKind::sub) return static_cast<C>(old - update);
  else if constexpr (kKind == ScatterKind::min) return old != old || old < update ? old : update;
  else return old != old || old > update ? old : update;
}

template <ScatterKind kKind, class T>
void scatter_as(const PositionPlan& plan, std::string_view op, const void* indices, const T* updates, T* out) {
  parallel_columns(plan.inner, plan.rows * static_cast<std::int64_t>(sizeof(T)),
                   [&](std::int64_t first, std::int64_t last) {
                     wide([&]() __attribute__((always_inline)) {
                       for (std::int64_t i = 0; i < plan.rows; ++i) {
                         const std::int64_t at = plan.index == DType::i32
                                                     ? slice_at(plan, op, static_cast<const std::int32_t*>(indices), i)
                                                     : slice_at(plan, op, static_cast<const std::int64_t*>(indices), i);
                         T* __restrict to = out + at * plan.inner;
                         const T* __restrict from = updates + i * plan.inner;
                         for (std::int64_t k = first; k < last; ++k)
                           to[k] = T(put<kKind>(comparable(to[k]), comparable(from[k])));
                       }
                     });
                   });
}

template <class T>
void scatter(const PositionPlan& plan, ScatterKind kind, std::string_view op, const void* indices, const T* updates,
             T* out) {
  switch (kind) {
    case ScatterKind::update: return scatter_as<ScatterKind::update>(plan, op, indices, updates, out);
    case ScatterKind::add: return scatter_as<ScatterKind::add>(plan, op, indices, updates, out);
    case ScatterKind::sub: return scatter_as<ScatterKind::sub>(plan, op, indices, updates, out);
    case ScatterKind::min: return scatter_as<ScatterKind::min>(plan, op, indices, updates, out);
    case ScatterKind::max: return scatter_as<ScatterKind::max>(plan, op, indices, updates, out);
  }
}

Prepared prepare_scatter(const KernelCall& call) {
  const bool onto_zeros = &call.op == &scatter_nd_op;
  const PositionPlan plan(call.outputs[0].shape(), call.inputs[onto_zeros ? 0 : 1]);
  const ScatterKind kind = scatter_kind(call.op);
  const std::size_t bytes = call.outputs[0].spec.bytes();
  return by_dtype(call.outputs[0].dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([=, op = call.op.name](const KernelArgs& args) {
      if (onto_zeros) parallel_zero(args.outputs[0], bytes);
      else if (args.outputs[0] != args.inputs[0]) parallel_copy(args.inputs[0], args.outputs[0], bytes);
      const int indices = onto_zeros ? 0 : 1;
      scatter(plan, kind, op, args.inputs[indices], args.input<T>(indices + 1), args.output<T>());
    });
  });
}

/// The first `count` places of a vector: slices count theirs first, so that each knows where it begins to write.
void places_of(const bool* marks, std::int64_t size, std::int64_t count, std::int64_t* out) {
  constexpr std::int64_t kSlice = 64 << 10;
  const std::int64_t slices = (size + kSlice - 1) / kSlice;
  std::vector<std::int64_t> begins(static_cast<std::size_t>(slices) + 1);
  parallel(slices, [&](std::int64_t slice) {
    begins[static_cast<std::size_t>(slice) + 1] =
        std::count(marks + slice * kSlice, marks + std::min(size, (slice + 1) * kSlice), true);
  });
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  parallel(slices, [&](std::int64_t slice) {
    const auto begin = [&](std::int64_t s) { return out + std::min(count, begins[static_cast<std::size_t>(s)]); };
    std::int64_t *to = begin(slice), *const end = begin(slice + 1);
    for (std::int64_t i = slice * kSlice; to != end; ++i) {  // written whether it counts or not, which needs no branch
      *to = i;
      to += marks[i];
    }
  });
}

Prepared prepare_where_indices(const KernelCall& call) {
  const Shape shape = call.shape();
  const std::int64_t count = call.outputs[0].shape()[0];
  if (shape.rank() == 1)
    return prepared([size = shape[0], count](const KernelArgs& args) {
      places_of(args.input<bool>(), size, count, args.output<std::int64_t>());
    });
  return prepared([=](const KernelArgs& args) {
    std::int64_t found = 0, at = 0;
    auto* out = args.output<std::int64_t>();
    for_each_position(shape, [&](const Position& p) {
      if (!args.input<bool>()[at++] || found == count) return;
      out = std::copy_n(p.data(), shape.rank(), out);
      ++found;
    });
  });
}

}  // namespace

KernelList strided_slice_kernels() { return {{.name = "copy", .supports = movable, .prepare = prepare_slice}}; }
KernelList strided_slice_grad_kernels() {
  return {{.name = "rows", .supports = movable, .prepare = prepare_slice_grad}};
}
KernelList gather_nd_kernels() { return {{.name = "rows", .supports = movable, .prepare = prepare_gather_nd}}; }
KernelList scatter_kernels() { return {{.name = "rows", .supports = movable, .prepare = prepare_scatter}}; }
KernelList where_indices_kernels() {
  return {{.name = "plain", .supports = movable, .prepare = prepare_where_indices}};
}

}  // namespace tandem::cpu
