// Ops that pick by index: gather, its gradient, one_hot. A bad index is reported through an error word.
#include <array>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/kernel/gather_sizes.h"

namespace tandem::opencl {
namespace {

constexpr std::string_view kIndex = R"(
// Index i, or -1 and a report when it is outside 0..axis-1.
static long index_at(__global const void* indices, int wide, long i, long axis, __global int* error, int site) {
  const long value = wide ? ((__global const long*)indices)[i] : (long)((__global const int*)indices)[i];
  if (value >= 0 && value < axis) return value;
  if (atomic_cmpxchg(error, 0, site) == 0) {
    error[1] = (int)value;
    error[2] = (int)i;
    error[3] = (int)axis;
  }
  return -1;
}
)";

constexpr std::string_view kGather = R"(
// `outer` blocks share the indices of a batch.
KERNEL gather(__global const E* x, __global const void* indices, const int wide, __global E* y, const long blocks, const long outer,
              const long axis, const long inner, const long count, __global int* error, const int site, const long per_item) {
  // Block and position are counted on: two divisions take longer than moving a short row.
  const long first = ITEM * per_item;
  long o = first / count, batch = o / outer, position = first - o * count;
  FOR_EACH(i, blocks * count, per_item) {
    const long at = index_at(indices, wide, batch * count + position, axis, error, site);
    __global const E* from = x + (o * axis + at) * inner;
    __global E* to = y + i * inner;
    if (++position == count) {
      position = 0;
      batch = ++o / outer;
    }
    long k = 0;
    if (at < 0) {
      for (; k < inner; ++k) to[k] = (E)0;
      continue;
    }
    for (; k + 8 <= inner; k += 8) PUT8(E8, to + k, GET8(E8, from + k));
    if (k < inner && inner > 8) {  // the last eight: some of them for the second time
      PUT8(E8, to + inner - 8, GET8(E8, from + inner - 8));
      continue;
    }
    for (; k < inner; ++k) to[k] = from[k];
  }
}
)";

// Several indices may be equal, so one work-item adds up a column, in the order of the indices.
constexpr std::string_view kGatherGrad = R"(
KERNEL gather_grad(__global const T_mem* dy, __global const void* indices, const int wide, __global L_mem* sums,
                   const long blocks, const long outer, const long axis, const long inner, const long count, __global int* error,
                   const int site, const long width) {
  const long columns = (inner + width - 1) / width, item = ITEM, o = item / columns;
  if (o >= blocks) return;
  const long begin = (item - o * columns) * width, end = min(inner, begin + width);
  for (long i = 0; i < count; ++i) {
    const long at = index_at(indices, wide, o / outer * count + i, axis, error, site);
    if (at < 0) continue;
    const long from = (o * count + i) * inner, to = (o * axis + at) * inner;
    long k = begin;
    for (; k + 8 <= end; k += 8) L_store8(sums, to + k, L_load8(sums, to + k) + T_load8(dy, from + k));
    for (; k < end; ++k) L_store(sums, to + k, L_load(sums, to + k) + T_load(dy, from + k));
  }
}
)";

// The result is [outer, depth, inner]; a line is the `inner` elements of one position.
constexpr std::string_view kOneHot = R"(
static long index_of(__global const void* indices, int bytes, long at) {
  return bytes == 8 ? ((__global const long*)indices)[at]
       : bytes == 4 ? (long)((__global const int*)indices)[at]
                    : (long)((__global const uchar*)indices)[at];
}

KERNEL one_hot(__global const void* indices, const int bytes, __global E* y, const E on, const E off, const long depth,
               const long inner, const long outer, const long per_item) {
  if (inner == 1) {
    const long first = ITEM * per_item, last = min(outer, first + per_item);
    long k = first * depth;
    for (; k + 8 <= last * depth; k += 8) PUT8(E8, y + k, (E8)(off));
    for (; k < last * depth; ++k) y[k] = off;
    for (long o = first; o < last; ++o) {
      const long index = index_of(indices, bytes, o);
      if (index >= 0 && index < depth) y[o * depth + index] = on;
    }
    return;
  }
  FOR_EACH(o, outer, per_item) {
    __global E* to = y + o * depth * inner;
    for (long p = 0; p < depth; ++p)
      for (long k = 0; k < inner; ++k) to[p * inner + k] = index_of(indices, bytes, o * inner + k) == p ? on : off;
  }
}
)";

std::string element_source(std::size_t bytes, std::string_view more, std::string_view body) {
  const char* type = bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : "ulong";
  return text(prelude(false), kForEach, "typedef ", type, " E;\ntypedef ", type, "8 E8;\n#define E8_anywhere ", type,
              "8_anywhere\n", more, body);
}

Prepared prepare_gather(const KernelCall& call) {
  Context& context = context_of(call);
  const GatherSizes g = gather_sizes(call, call.shape());
  const std::int64_t slices = g.inner ? g.blocks() * g.count : 0;
  const std::int64_t per_item = context.elements_per_item(slices, static_cast<double>(g.inner));
  const int site = context.error_site("gather");
  const KernelFunction kernel = context.kernel(element_source(dtype_size(call.dtype()), kIndex, kGather), "gather");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .value<cl_int>(g.index == DType::i64)
        .buffer(args.outputs[0])
        .value(g.blocks())
        .value(g.outer)
        .value(g.size)
        .value(g.inner)
        .value(g.count)
        .error(site)
        .value(per_item)
        .run(blocks(slices, per_item));
  });
}

Prepared prepare_gather_grad(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape params = call.outputs[0].shape();
  const GatherSizes g = gather_sizes(call, params);
  const DType lane = lane_dtype(call.dtype());
  const std::int64_t elements = params.elements(), width = columns_per_item(context, g.inner);
  const int site = context.error_site("gather_grad");
  const KernelFunction kernel = context.kernel(
      text(prelude(lane == DType::f64), define_dtype("T", call.dtype()), define_dtype("L", lane), kIndex, kGatherGrad),
      "gather_grad");
  return prepared([=, &context, filling = Filling(context, lane, elements),
                   narrowing = Narrowing(context, call.dtype(), elements)](const KernelArgs& args) {
    if (elements == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(elements) * dtype_size(lane);
    const Scratch scratch(context.pool(), narrowing.needed() ? bytes : 0);
    Buffer* sums = narrowing.needed() ? scratch.get() : args.output<Buffer>();
    filling.run(sums, 0);
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .value<cl_int>(g.index == DType::i64)
        .buffer(sums)
        .value(g.blocks())
        .value(g.outer)
        .value(g.size)
        .value(g.inner)
        .value(g.count)
        .error(site)
        .value(width)
        .run(g.blocks() * blocks(g.inner, width));
    if (narrowing.needed()) narrowing.run(sums, args.outputs[0]);
  });
}

Prepared prepare_one_hot(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape out = call.outputs[0].shape();
  const int axis = normalize_axis("one_hot", call.attr().integer("axis"), out.rank());
  const DType dtype = call.outputs[0].dtype();
  const AroundAxis at = around_axis(out, axis);
  const std::int64_t depth = at.size, inner = at.inner, outer = depth > 0 && inner > 0 ? at.outer : 0;
  const std::int64_t per_item = context.elements_per_item(outer, static_cast<double>(depth * inner));
  const auto index_bytes = static_cast<cl_int>(dtype_size(call.dtype()));
  const KernelFunction kernel = context.kernel(element_source(dtype_size(dtype), "", kOneHot), "one_hot");
  return prepared([=, &context](const KernelArgs& args) {
    const auto on = element_bits(dtype, std::bit_cast<double>(args.run_time[0]));
    const auto off = element_bits(dtype, std::bit_cast<double>(args.run_time[1]));
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .value(index_bytes)
        .buffer(args.outputs[0])
        .bytes(on.data(), dtype_size(dtype))
        .bytes(off.data(), dtype_size(dtype))
        .value(depth)
        .value(inner)
        .value(outer)
        .value(per_item)
        .run(blocks(outer, per_item));
  });
}

std::string narrow_source(DType dtype) {
  return text(prelude(false), kForEach, define_dtype("T", dtype), define_dtype("L", lane_dtype(dtype)), R"(
KERNEL narrow(__global const L_mem* x, __global T_mem* y, const long count, const long per_item) {
  FOR_EACH(i, count, per_item) T_store(y, i, L_load(x, i));
}
)");
}

}  // namespace

Narrowing::Narrowing(Context& context, DType dtype, std::int64_t elements)
    : context_(&context),
      needed_(lane_dtype(dtype) != dtype),
      elements_(elements) {
  if (needed_) kernel_ = context.kernel(narrow_source(dtype), "narrow");
}

void Narrowing::run(const void* lanes, void* to) const {
  const std::int64_t per_item = context_->elements_per_item(elements_);
  Launch(*context_, kernel_).buffer(lanes).buffer(to).value(elements_).value(per_item).run(blocks(elements_, per_item));
}

KernelList gather_kernels() { return {{.name = "opencl", .prepare = prepare_gather}}; }
KernelList gather_grad_kernels() {
  return {{.name = "opencl", .supports = dtypes_supported, .prepare = prepare_gather_grad}};
}
KernelList one_hot_kernels() { return {{.name = "opencl", .prepare = prepare_one_hot}}; }

}  // namespace tandem::opencl
