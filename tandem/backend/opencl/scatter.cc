// Slices with steps, and elements picked and put by position. Updates are made in their order, a few columns a
// work-item.
#include <array>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/pieces.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/scatter_plan.h"

namespace tandem::opencl {
namespace {

std::vector<std::int64_t> strides_of(const KernelCall& call) {
  const auto strides = call.attr().ints("strides");
  return {strides.begin(), strides.end()};
}

Prepared prepare_slice(const KernelCall& call) {
  const Shape in = call.shape(), out = call.outputs[0].shape();
  const StridedCopy copy(
      context_of(call), dtype_size(call.dtype()),
      join_axes(out, std::array{slice_steps(in, call.attr().ints("strides")), call.outputs[0].strides}));
  return prepared([=, strides = strides_of(call)](const KernelArgs& args) {
    const std::int64_t offset = slice_offset("strided_slice", in, out, args.run_time.subspan(1), strides);
    if (out.elements() > 0) copy.run(args.inputs[0], offset, args.outputs[0], 0);
  });
}

Prepared prepare_slice_grad(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape part = call.shape(), whole = call.outputs[0].shape();
  const StridedCopy copy(
      context, dtype_size(call.dtype()),
      join_axes(part, std::array{call.inputs[0].strides, slice_steps(whole, call.attr().ints("strides"))}));
  return prepared(
      [=, filling = Filling(context, call.outputs[0].spec), strides = strides_of(call)](const KernelArgs& args) {
        const std::int64_t offset = slice_offset("strided_slice_grad", whole, part, args.run_time.subspan(1), strides);
        filling.run(args.outputs[0], 0);
        if (part.elements() > 0) copy.run(args.inputs[0], 0, args.outputs[0], offset);
      });
}

constexpr std::string_view kSliceAt = R"(
typedef struct { long sizes[8]; } Sizes;
// The number of the slice that row i names, or -1 and a report.
static long slice_at(__global const void* indices, int wide, long i, int depth, const Sizes sizes, __global int* error, int site) {
  long at = 0;
  for (int d = 0; d < depth; ++d) {
    const long k = i * depth + d;
    const long index = wide ? ((__global const long*)indices)[k] : (long)((__global const int*)indices)[k];
    if (index < 0 || index >= sizes.sizes[d]) {
      if (atomic_cmpxchg(error, 0, site) == 0) {
        error[1] = (int)index;
        error[2] = (int)i;
        error[3] = (int)sizes.sizes[d];
      }
      return -1;
    }
    at = at * sizes.sizes[d] + index;
  }
  return at;
}
)";

constexpr std::string_view kGatherNd = R"(
KERNEL gather_nd(__global const E* x, __global const void* indices, const int wide, __global E* y, const long rows,
                 const long inner, const int depth, const Sizes sizes, __global int* error, const int site, const long per_item) {
  FOR_EACH(i, rows, per_item) {
    const long at = slice_at(indices, wide, i, depth, sizes, error, site);
    for (long k = 0; k < inner; ++k) y[i * inner + k] = at < 0 ? (E)0 : x[at * inner + k];
  }
}
)";

constexpr std::string_view kScatter = R"(
KERNEL scatter(__global const void* indices, const int wide, __global const T_mem* updates, __global T_mem* y, const long rows,
               const long inner, const int depth, const Sizes sizes, __global int* error, const int site, const long width) {
  const long begin = ITEM * width, end = min(inner, begin + width);
  if (begin >= end) return;
  for (long i = 0; i < rows; ++i) {
    const long at = slice_at(indices, wide, i, depth, sizes, error, site);
    if (at < 0) continue;
    const long from = i * inner, to = at * inner;
    long k = begin;
    for (; k + LANES <= end; k += LANES) {
      const V a = T_whole_piece(y, to + k), b = T_whole_piece(updates, from + k);
      T_store_whole_piece(y, to + k, PUT);
    }
    for (; k < end; ++k) {
      const T_lane a = T_load(y, to + k), b = T_load(updates, from + k);
      T_store(y, to + k, PUT);
    }
  }
}
)";

std::string_view put_text(ScatterKind kind) {
  switch (kind) {
    case ScatterKind::update: return "b";
    case ScatterKind::add: return "a + b";
    case ScatterKind::sub: return "a - b";
    case ScatterKind::min: return "PICK((a != a) | (a < b), a, b)";
    default: return "PICK((a != a) | (a > b), a, b)";
  }
}

std::string bits_type(std::size_t bytes) {
  return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : "ulong";
}

Prepared prepare_gather_nd(const KernelCall& call) {
  Context& context = context_of(call);
  const PositionPlan plan(call.shape(), call.inputs[1]);
  const std::int64_t rows = plan.inner ? plan.rows : 0,
                     per_item = context.elements_per_item(rows, static_cast<double>(plan.inner));
  const int site = context.error_site("gather_nd");
  const KernelFunction kernel = context.kernel(
      text(prelude(false), kForEach, "typedef ", bits_type(dtype_size(call.dtype())), " E;\n", kSliceAt, kGatherNd),
      "gather_nd");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .value<cl_int>(plan.index == DType::i64)
        .buffer(args.outputs[0])
        .value(rows)
        .value(plan.inner)
        .value<cl_int>(plan.depth)
        .bytes(plan.sizes.data(), sizeof(plan.sizes))
        .error(site)
        .value(per_item)
        .run(blocks(rows, per_item));
  });
}

/// Small floats are put in their own dtype, so that sums are rounded as on the CPU.
Prepared prepare_scatter(const KernelCall& call) {
  Context& context = context_of(call);
  const bool onto_zeros = &call.op == &scatter_nd_op;
  const int indices = onto_zeros ? 0 : 1;
  const TensorSpec spec = call.outputs[0].spec;
  const PositionPlan plan(spec.shape(), call.inputs[static_cast<std::size_t>(indices)]);
  const std::int64_t width = columns_per_item(context, plan.inner);
  const int site = context.error_site(std::string(call.op.name)), lanes = tile_lanes(context, spec.dtype());
  const KernelFunction kernel = context.kernel(
      text(prelude(spec.dtype() == DType::f64), define_dtype("T", spec.dtype()), pieces_text("T", spec.dtype(), lanes),
           "#define PUT ", put_text(scatter_kind(call.op)), "\n", kSliceAt, kScatter),
      "scatter");
  const StridedCopy copy(context, dtype_size(spec.dtype()),
                         join_axes(spec.shape(), std::array{call.outputs[0].strides, call.outputs[0].strides}));
  return prepared([=, &context, filling = Filling(context, spec)](const KernelArgs& args) {
    if (spec.shape().elements() == 0) return;
    if (onto_zeros) filling.run(args.outputs[0], 0);
    else copy.run(args.inputs[0], 0, args.outputs[0], 0);
    Launch(context, kernel)
        .buffer(args.inputs[indices])
        .value<cl_int>(plan.index == DType::i64)
        .buffer(args.inputs[indices + 1])
        .buffer(args.outputs[0])
        .value(plan.rows)
        .value(plan.inner)
        .value<cl_int>(plan.depth)
        .bytes(plan.sizes.data(), sizeof(plan.sizes))
        .error(site)
        .value(width)
        .run(blocks(plan.inner, width));
  });
}

// In order, hence by one work-item.
constexpr std::string_view kWhere = R"(
typedef struct { long sizes[8]; } Sizes;
KERNEL where_indices(__global const uchar* x, __global long* y, const long elements, const int rank, const Sizes sizes, const long count) {
  if (ITEM != 0) return;
  long found = 0;
  for (long i = 0; i < elements && found < count; ++i) {
    if (!x[i]) continue;
    long rest = i;
    for (int d = rank - 1; d >= 0; --d) {
      y[found * rank + d] = rest % sizes.sizes[d];
      rest /= sizes.sizes[d];
    }
    ++found;
  }
}
)";

Prepared prepare_where(const KernelCall& call) {
  Context& context = context_of(call);
  std::array<std::int64_t, 8> sizes{};
  std::copy(call.shape().begin(), call.shape().end(), sizes.begin());
  const std::int64_t elements = call.shape().elements(), count = call.outputs[0].shape()[0];
  const int rank = call.shape().rank();
  const KernelFunction kernel = context.kernel(text(prelude(false), kWhere), "where_indices");
  return prepared([=, &context](const KernelArgs& args) {
    if (count * rank == 0) return;
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .value(elements)
        .value<cl_int>(rank)
        .bytes(sizes.data(), sizeof(sizes))
        .value(count)
        .run(1);
  });
}

}  // namespace

KernelList strided_slice_kernels() { return {{.name = "opencl copy", .prepare = prepare_slice}}; }
KernelList strided_slice_grad_kernels() { return {{.name = "opencl copy", .prepare = prepare_slice_grad}}; }
KernelList gather_nd_kernels() { return {{.name = "opencl copy", .prepare = prepare_gather_nd}}; }
KernelList scatter_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_scatter}};
}
KernelList where_indices_kernels() {
  return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare_where}};
}

}  // namespace tandem::opencl
