// Sorting along the last axis: a work-item merges a row, in runs that double. Positions are sorted, values follow.
#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/array_records.h"

namespace tandem::opencl {
namespace {

// Equal values keep their order, NaN is above all.
constexpr std::string_view kOrder = R"(
static int less_than(T_lane a, T_lane b) { return a < b || (a == a && b != b); }
)";

constexpr std::string_view kSort = R"(
KERNEL sort_rows(__global const T_mem* x, __global int* places, __global int* other, const long rows, const long length,
                 const int descending, const long per_item) {
  FOR_EACH(r, rows, per_item) {
    const long base = r * length;
    __global int* from = places + base;
    __global int* to = other + base;
    for (long i = 0; i < length; ++i) from[i] = (int)i;
    for (long run = 1; run < length; run *= 2) {
      for (long begin = 0; begin < length; begin += 2 * run) {
        const long middle = min(begin + run, length), end = min(begin + 2 * run, length);
        long a = begin, b = middle;
        for (long k = begin; k < end; ++k) {
          int take_b = b < end;
          if (take_b && a < middle) {
            const T_lane va = T_load(x, base + from[a]), vb = T_load(x, base + from[b]);
            take_b = descending ? less_than(va, vb) : less_than(vb, va);
          }
          to[k] = take_b ? from[b++] : from[a++];
        }
      }
      __global int* swap = from;
      from = to;
      to = swap;
    }
    if (from != places + base)
      for (long i = 0; i < length; ++i) places[base + i] = from[i];
  }
}
KERNEL take_sorted(__global const T_mem* x, __global const int* places, __global T_mem* values, __global int* kept, const long rows,
                   const long length, const long k, const int write_values, const int write_places, const long per_item) {
  FOR_EACH(i, rows * k, per_item) {
    const long r = i / k, at = places[r * length + (i - r * k)];
    if (write_values) T_store(values, i, T_load(x, r * length + at));
    if (write_places) kept[i] = (int)at;
  }
}
)";

Prepared prepare_sort(const KernelCall& call) {
  Context& context = context_of(call);
  const bool top = &call.op == &top_k_op, places_only = &call.op == &argsort_op;
  const bool descending = top || call.attr().choice("direction") == "descending";
  const std::int64_t length = call.shape()[-1], k = call.outputs[0].shape()[-1], rows = length ? call.shape().elements() / length : 0;
  const std::string source = text(prelude(call.dtype() == DType::f64), kForEach, define_dtype("T", call.dtype()), kOrder, kSort);
  const KernelFunction sort = context.kernel(source, "sort_rows"), take = context.kernel(source, "take_sorted");
  const std::int64_t rows_an_item = context.elements_per_item(rows, static_cast<double>(length) * 20);
  const std::int64_t per_item = context.elements_per_item(rows * k);
  return prepared([=, &context](const KernelArgs& args) {
    if (rows * k == 0) return;
    const std::size_t bytes = static_cast<std::size_t>(rows * length) * sizeof(cl_int);
    const Scratch places(context.pool(), bytes), other(context.pool(), bytes);
    Launch(context, sort).buffer(args.inputs[0]).buffer(places.get()).buffer(other.get()).value(rows).value(length)
        .value<cl_int>(descending).value(rows_an_item).run(blocks(rows, rows_an_item));
    void* values = places_only ? places.get() : args.outputs[0];
    void* kept = top ? args.outputs[1] : places_only ? args.outputs[0] : other.get();
    Launch(context, take).buffer(args.inputs[0]).buffer(places.get()).buffer(values).buffer(kept).value(rows).value(length).value(k)
        .value<cl_int>(!places_only).value<cl_int>(top || places_only).value(per_item).run(blocks(rows * k, per_item));
  });
}

constexpr std::string_view kSearch = R"(
KERNEL searchsorted(__global const T_mem* x, __global const T_mem* values, __global void* y, const int wide, const long length,
                    const long each, const long count, const int right, const long per_item) {
  FOR_EACH(i, count, per_item) {
    const long base = i / each * length;
    const T_lane v = T_load(values, i);
    long low = 0, high = length;
    while (low < high) {
      const long middle = (low + high) / 2;
      const T_lane e = T_load(x, base + middle);
      if (right ? !less_than(v, e) : less_than(e, v)) low = middle + 1;
      else high = middle;
    }
    if (wide) ((__global long*)y)[i] = low;
    else ((__global int*)y)[i] = (int)low;
  }
}
)";

Prepared prepare_searchsorted(const KernelCall& call) {
  Context& context = context_of(call);
  const std::int64_t length = call.shape()[-1], each = call.shape(1)[-1], count = call.shape(1).elements();
  const bool right = call.attr().choice("side") == "right", wide = call.outputs[0].dtype() == DType::i64;
  const std::int64_t per_item = context.elements_per_item(count, 20);
  const KernelFunction kernel = context.kernel(
      text(prelude(call.dtype() == DType::f64), kForEach, define_dtype("T", call.dtype()), kOrder, kSearch), "searchsorted");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel).buffer(args.inputs[0]).buffer(args.inputs[1]).buffer(args.outputs[0]).value<cl_int>(wide).value(length)
        .value(each).value(count).value<cl_int>(right).value(per_item).run(blocks(count, per_item));
  });
}

Support sortable(const KernelCall& call) {
  if (call.shape().rank() > 0 && call.shape()[-1] > 0x7FFFFFFF) return no("rows are numbered by int32");
  return ordered_dtypes_supported(call);
}

}  // namespace

KernelList sorting_kernels() { return {{.name = "opencl merge", .supports = sortable, .prepare = prepare_sort}}; }
KernelList searchsorted_kernels() { return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_searchsorted}}; }

}  // namespace tandem::opencl
