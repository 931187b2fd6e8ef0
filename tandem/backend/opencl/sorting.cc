// Sorting along the last axis. CPU-type devices sort by digits of keys, a row a work-item or a part of a long row; GPUs
// merge runs that double, each work-item a slice of the result. The largest few of a row are picked in one walk over
// it.
#include <bit>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/op/array_records.h"

namespace tandem::opencl {
namespace {

constexpr std::int64_t kShortRow = 64;  // sorted by inserting
constexpr std::int64_t kMostPicked = 64;
constexpr std::int64_t kSlice = 16;  // elements of a GPU's work-item

// Equal values keep their order, NaN is above all.
constexpr std::string_view kOrder = R"(
static int less_than(T_lane a, T_lane b) { return a < b || (a == a && b != b); }
)";

// An element as an unsigned number of the same order, and where it was. All NaNs are the largest, and -0 equals 0.
constexpr std::string_view kItems = R"(
typedef struct { Key key; uint place; } Item;

static Key key_of(T_lane v, int descending) {
#if IS_FLOAT
  const Key bits = AS_KEY(v);
  const Key key = v != v ? ~(Key)0 : v == 0 ? TOP : bits & TOP ? ~bits : bits | TOP;
#else
  const Key key = (Key)v + TOP;
#endif
  return descending ? ~key : key;
}
static Item item_of(__global const T_mem* x, long base, long i, int descending) {
  Item item;
  item.key = key_of(T_load(x, base + i), descending);
  item.place = (uint)i;
  return item;
}
static void insert_all(__global Item* items, long count) {
  for (long i = 1; i < count; ++i) {
    const Item item = items[i];
    long k = i;
    for (; k > 0 && items[k - 1].key > item.key; --k) items[k] = items[k - 1];
    items[k] = item;
  }
}
// The first k of each row, from items[rows][length].
KERNEL take_items(__global const T_mem* x, __global const Item* items, __global T_mem* values, __global int* kept, const long rows,
                  const long length, const long k, const int write_values, const int write_places, const long per_item) {
  FOR_EACH(i, rows * k, per_item) {
    const long r = i / k;
    const uint at = items[r * length + (i - r * k)].place;
    if (write_values) T_store(values, i, T_load(x, r * length + at));
    if (write_places) kept[i] = (int)at;
  }
}
)";

/// Least digit first, eight bits each.
constexpr std::string_view kDigits = R"(
#define DIGIT(item, shift) ((int)((item).key >> (shift)) & 255)

// Whole rows, in scratch of the work-item's own.
KERNEL sort_rows(__global const T_mem* x, __global Item* scratch, __global T_mem* values, __global int* kept, const long rows,
                 const long length, const long k, const int descending, const int write_values, const int write_places,
                 const long per_item) {
  __global Item* from = scratch + ITEM * 2 * length;
  __global Item* to = from + length;
  FOR_EACH(r, rows, per_item) {
    const long base = r * length;
    for (long i = 0; i < length; ++i) from[i] = item_of(x, base, i, descending);
    if (length <= SHORT_ROW) {
      insert_all(from, length);
    } else {
      uint starts[DIGITS * 256];
      for (int i = 0; i < DIGITS * 256; ++i) starts[i] = 0;
      for (long i = 0; i < length; ++i)
        for (int d = 0; d < DIGITS; ++d) ++starts[d * 256 + DIGIT(from[i], d * 8)];
      for (int d = 0; d < DIGITS; ++d) {
        uint* start = starts + d * 256;
        if (start[DIGIT(from[0], d * 8)] == (uint)length) continue;  // they all share it
        uint before = 0;
        for (int i = 0; i < 256; ++i) {
          const uint count = start[i];
          start[i] = before;
          before += count;
        }
        for (long i = 0; i < length; ++i) to[start[DIGIT(from[i], d * 8)]++] = from[i];
        __global Item* swap = from;
        from = to;
        to = swap;
      }
    }
    for (long i = 0; i < k; ++i) {
      const uint at = from[i].place;
      if (write_values) T_store(values, r * k + i, T_load(x, base + at));
      if (write_places) kept[r * k + i] = (int)at;
    }
  }
}

// Rows in parts: item p counts the digits of part p % parts of row p / parts, counts[rows][256][parts]. The first digit's items are
// made here.
KERNEL count_digits(__global const T_mem* x, __global Item* items, __global uint* counts, const long rows, const long length,
                    const long parts, const int shift, const int descending) {
  const long p = ITEM, r = p / parts, part = p - r * parts, each = (length + parts - 1) / parts, base = r * length;
  if (r >= rows) return;
  const long begin = min(length, part * each), end = min(length, begin + each);
  if (shift == 0)
    for (long i = begin; i < end; ++i) items[base + i] = item_of(x, base, i, descending);
  uint count[256];
  for (int i = 0; i < 256; ++i) count[i] = 0;
  for (long i = begin; i < end; ++i) ++count[DIGIT(items[base + i], shift)];
  for (int i = 0; i < 256; ++i) counts[(r * 256 + i) * parts + part] = count[i];
}
// Counts become the first position of each part's items with that digit.
KERNEL start_digits(__global uint* counts, const long rows, const long parts) {
  const long r = ITEM;
  if (r >= rows) return;
  uint before = 0;
  for (long i = r * 256 * parts; i < (r + 1) * 256 * parts; ++i) {
    const uint count = counts[i];
    counts[i] = before;
    before += count;
  }
}
KERNEL place_digits(__global const Item* from, __global Item* to, __global const uint* starts, const long rows, const long length,
                    const long parts, const int shift) {
  const long p = ITEM, r = p / parts, part = p - r * parts, each = (length + parts - 1) / parts, base = r * length;
  if (r >= rows) return;
  const long begin = min(length, part * each), end = min(length, begin + each);
  uint start[256];
  for (int i = 0; i < 256; ++i) start[i] = starts[(r * 256 + i) * parts + part];
  for (long i = begin; i < end; ++i) to[base + start[DIGIT(from[base + i], shift)]++] = from[base + i];
}
)";

/// Work-item s makes SLICE elements of the row s / slices.
constexpr std::string_view kMerge = R"(
KERNEL sort_slices(__global const T_mem* x, __global Item* items, const long rows, const long length, const int descending) {
  const long slices = (length + SLICE - 1) / SLICE, s = ITEM, r = s / slices;
  if (r >= rows) return;
  const long begin = (s - r * slices) * SLICE, end = min(length, begin + SLICE), base = r * length;
  for (long i = begin; i < end; ++i) items[base + i] = item_of(x, base, i, descending);
  insert_all(items + base + begin, end - begin);
}
// Sorted runs are joined in pairs. Where a slice begins in both is found by halving: of equal items the first run's come first.
KERNEL merge_runs(__global const Item* from, __global Item* to, const long rows, const long length, const long run) {
  const long slices = (length + SLICE - 1) / SLICE, s = ITEM, r = s / slices;
  if (r >= rows) return;
  const long base = r * length, begin = (s - r * slices) * SLICE, end = min(length, begin + SLICE), pair = begin / (2 * run) * (2 * run);
  __global const Item* a = from + base + pair;
  const long a_count = min(run, length - pair), b_count = min(run, length - pair - a_count), taken = begin - pair;
  __global const Item* b = a + a_count;
  long low = max(0l, taken - b_count), high = min(taken, a_count);
  while (low < high) {
    const long middle = (low + high) / 2;
    if (a[middle].key <= b[taken - 1 - middle].key) low = middle + 1;
    else high = middle;
  }
  long i = low, j = taken - low;
  for (long k = begin; k < end; ++k) {
    const int first = i < a_count && (j >= b_count || a[i].key <= b[j].key);
    to[base + k] = first ? a[i] : b[j];
    if (first) ++i;
    else ++j;
  }
}
)";

// The largest k of a row, in order: most elements are passed by, eight at a time.
constexpr std::string_view kPick = R"(
KERNEL pick_largest(__global const T_mem* x, __global T_mem* values, __global int* kept, const long rows, const long length, const int k,
                    const long per_item) {
  FOR_EACH(r, rows, per_item) {
    T_lane best[MOST_PICKED];
    int place[MOST_PICKED], count = 0;
    const long base = r * length;
    for (long first = 0; first < length; first += 8) {
      const int m = (int)min(8l, length - first);
      if (m == 8 && count == k && !any(~(T_load8(x, base + first) <= (T_lane8)(best[k - 1])))) continue;
      for (int u = 0; u < m; ++u) {
        const T_lane v = T_load(x, base + first + u);
        if (count == k && !less_than(best[k - 1], v)) continue;
        int at = count < k ? count++ : k - 1;
        for (; at > 0 && less_than(best[at - 1], v); --at) {
          best[at] = best[at - 1];
          place[at] = place[at - 1];
        }
        best[at] = v;
        place[at] = (int)(first + u);
      }
    }
    for (int i = 0; i < k; ++i) {
      T_store(values, r * k + i, best[i]);
      kept[r * k + i] = place[i];
    }
  }
}
)";

std::string order_source(DType dtype) {
  return text(prelude(dtype == DType::f64), kForEach, define_dtype("T", dtype), kOrder);
}

/// What makes the smallest of an integer dtype zero.
std::string_view integer_top(DType dtype) {
  switch (dtype) {
    case DType::i8: return "128";
    case DType::i16: return "32768";
    case DType::i32: return "0x80000000u";
    case DType::i64: return "0x8000000000000000ul";
    default: return "0";
  }
}

std::string item_source(DType dtype, std::string_view way) {
  const bool floating = is_floating(dtype), wide = dtype_size(floating ? lane_dtype(dtype) : dtype) == 8;
  const std::size_t digits = wide ? 8 : floating ? 4 : dtype_size(dtype);
  return text(prelude(dtype == DType::f64), kForEach, define_dtype("T", dtype), "typedef ", wide ? "ulong" : "uint",
              " Key;\n#define AS_KEY(v) as_", wide ? "ulong" : "uint", "(v)\n#define IS_FLOAT ", floating ? 1 : 0,
              "\n#define TOP ((Key)", floating ? integer_top(wide ? DType::i64 : DType::i32) : integer_top(dtype),
              ")\n#define DIGITS ", digits, "\n#define SHORT_ROW ", kShortRow, "\n#define SLICE ", kSlice, "\n", kItems,
              way);
}

/// What is sorted, and what of it is wanted.
struct SortPlan {
  Context* context;
  std::int64_t rows, length, k;
  bool descending, write_values, write_places;
  std::size_t item_bytes;
  int digits;

  explicit SortPlan(const KernelCall& call)
      : context(&context_of(call)),
        length(call.shape()[-1]),
        k(call.outputs[0].shape()[-1]) {
    rows = length ? call.shape().elements() / length : 0;
    descending = &call.op == &top_k_op || call.attr().choice("direction") == "descending";
    write_values = &call.op != &argsort_op;
    write_places = &call.op != &sort_op;
    const std::size_t lane = dtype_size(lane_dtype(call.dtype())), stored = dtype_size(call.dtype());
    const bool wide = (is_floating(call.dtype()) ? lane : stored) == 8;
    item_bytes = wide ? 16 : 8;
    digits = static_cast<int>(is_floating(call.dtype()) ? lane : stored);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(rows * length) * item_bytes; }
  /// An output that is not wanted is some buffer, which stays as it is.
  void add_outputs(Launch& launch, const KernelArgs& args) const {
    launch.buffer(args.outputs[0]).buffer(write_values ? args.outputs[write_places ? 1 : 0] : args.outputs[0]);
  }
  void take(const KernelFunction& kernel, const KernelArgs& args, const void* items) const {
    const std::int64_t per_item = context->elements_per_item(rows * k, 4);
    Launch launch(*context, kernel);
    launch.buffer(args.inputs[0]).buffer(items);
    add_outputs(launch, args);
    launch.value(rows)
        .value(length)
        .value(k)
        .value<cl_int>(write_values)
        .value<cl_int>(write_places)
        .value(per_item)
        .run(blocks(rows * k, per_item));
  }
};

Prepared prepare_pick(const KernelCall& call) {
  const SortPlan plan(call);
  const KernelFunction kernel = plan.context->kernel(
      text(order_source(call.dtype()), "#define MOST_PICKED ", kMostPicked, "\n", kPick), "pick_largest");
  const std::int64_t per_item = plan.context->elements_per_item(plan.rows, static_cast<double>(plan.length));
  return prepared([=](const KernelArgs& args) {
    if (plan.rows * plan.k == 0) return;
    Launch(*plan.context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.outputs[0])
        .buffer(args.outputs[1])
        .value(plan.rows)
        .value(plan.length)
        .value(static_cast<cl_int>(plan.k))
        .value(per_item)
        .run(blocks(plan.rows, per_item));
  });
}

/// The kernels that sort by digits: rows whole, or long ones in parts. Another number of rows may ask for the other
/// way, so both are compiled for long rows.
struct DigitKernels {
  KernelFunction rows, count, start, place, take;

  DigitKernels(const KernelCall& call, Context& context) {
    const std::string source = item_source(call.dtype(), kDigits);
    rows = context.kernel(source, "sort_rows");
    count = context.kernel(source, "count_digits");
    start = context.kernel(source, "start_digits");
    place = context.kernel(source, "place_digits");
    take = context.kernel(source, "take_items");
  }

  void warm_rows(Context& context) const {
    context.warm(rows, [&](Launch& launch) {
      nothing(context, launch, 4).value(std::int64_t{1}).value<cl_int>(0).value<cl_int>(0).value<cl_int>(0);
      launch.value(std::int64_t{1});
    });
  }
  void warm_parts(Context& context) const {
    context.warm(count, [&](Launch& launch) {
      nothing(context, launch, 3).value(std::int64_t{1}).value<cl_int>(0).value<cl_int>(0);
    });
    context.warm(start, [&](Launch& launch) { nothing(context, launch, 1); });
    context.warm(place, [&](Launch& launch) { nothing(context, launch, 3).value(std::int64_t{1}).value<cl_int>(0); });
    context.warm(take, [&](Launch& launch) {
      nothing(context, launch, 4).value(std::int64_t{1}).value<cl_int>(0).value<cl_int>(0).value(std::int64_t{1});
    });
  }

 private:
  /// So many buffers, and no rows of one element.
  static Launch& nothing(Context& context, Launch& launch, int buffers) {
    for (int i = 0; i < buffers; ++i) launch.buffer(&context.error_words());
    return launch.value(std::int64_t{0}).value(std::int64_t{1});
  }
};

/// Shorter rows are not shared out.
constexpr std::int64_t kLongRow = 1 << 14;

Prepared prepare_rows(const KernelCall& call, const SortPlan& plan) {
  const DigitKernels kernels(call, *plan.context);
  if (plan.length >= kLongRow) kernels.warm_parts(*plan.context);
  const std::int64_t per_item = plan.context->elements_per_item(plan.rows, static_cast<double>(plan.length) * 20);
  return prepared([=](const KernelArgs& args) {
    if (plan.rows * plan.k == 0) return;
    const std::int64_t items = blocks(plan.rows, per_item);
    const Scratch scratch(plan.context->pool(), static_cast<std::size_t>(items * 2 * plan.length) * plan.item_bytes);
    Launch launch(*plan.context, kernels.rows);
    launch.buffer(args.inputs[0]).buffer(scratch.get());
    plan.add_outputs(launch, args);
    launch.value(plan.rows)
        .value(plan.length)
        .value(plan.k)
        .value<cl_int>(plan.descending)
        .value<cl_int>(plan.write_values)
        .value<cl_int>(plan.write_places)
        .value(per_item)
        .run(items);
  });
}

/// Each digit's items go to their places part by part, so that those of a digit keep their order.
Prepared prepare_parts(const KernelCall& call, const SortPlan& plan) {
  const DigitKernels kernels(call, *plan.context);
  kernels.warm_rows(*plan.context);
  const std::int64_t parts = 2 * plan.context->traits().units;
  return prepared([=](const KernelArgs& args) {
    const Scratch first(plan.context->pool(), plan.bytes()), second(plan.context->pool(), plan.bytes());
    const Scratch counts(plan.context->pool(), static_cast<std::size_t>(plan.rows * 256 * parts) * sizeof(cl_uint));
    Buffer *from = first.get(), *to = second.get();
    for (cl_int shift = 0; shift < 8 * plan.digits; shift += 8) {
      Launch(*plan.context, kernels.count)
          .buffer(args.inputs[0])
          .buffer(from)
          .buffer(counts.get())
          .value(plan.rows)
          .value(plan.length)
          .value(parts)
          .value(shift)
          .value<cl_int>(plan.descending)
          .run(plan.rows * parts);
      Launch(*plan.context, kernels.start).buffer(counts.get()).value(plan.rows).value(parts).run(plan.rows);
      Launch(*plan.context, kernels.place)
          .buffer(static_cast<const void*>(from))
          .buffer(to)
          .buffer(static_cast<const void*>(counts.get()))
          .value(plan.rows)
          .value(plan.length)
          .value(parts)
          .value(shift)
          .run(plan.rows * parts);
      std::swap(from, to);
    }
    plan.take(kernels.take, args, from);
  });
}

Prepared prepare_digits(const KernelCall& call) {
  const SortPlan plan(call);
  // Rows enough for all units, or too short to be shared.
  const bool whole = plan.rows >= 4 * plan.context->traits().units || plan.length < kLongRow;
  return whole ? prepare_rows(call, plan) : prepare_parts(call, plan);
}

Prepared prepare_merge(const KernelCall& call) {
  const SortPlan plan(call);
  const std::string source = item_source(call.dtype(), kMerge);
  const KernelFunction slices = plan.context->kernel(source, "sort_slices"),
                       merge = plan.context->kernel(source, "merge_runs"),
                       take = plan.context->kernel(source, "take_items");
  return prepared([=](const KernelArgs& args) {
    if (plan.rows * plan.k == 0) return;
    const Scratch first(plan.context->pool(), plan.bytes()), second(plan.context->pool(), plan.bytes());
    const std::int64_t items = plan.rows * blocks(plan.length, kSlice);
    Buffer *from = first.get(), *to = second.get();
    Launch(*plan.context, slices)
        .buffer(args.inputs[0])
        .buffer(from)
        .value(plan.rows)
        .value(plan.length)
        .value<cl_int>(plan.descending)
        .run(items);
    for (std::int64_t run = kSlice; run < plan.length; run *= 2) {
      Launch(*plan.context, merge)
          .buffer(static_cast<const void*>(from))
          .buffer(to)
          .value(plan.rows)
          .value(plan.length)
          .value(run)
          .run(items);
      std::swap(from, to);
    }
    plan.take(take, args, from);
  });
}

/// Eight values bisect together, so that no branch is guessed and none waits for one element of the row.
constexpr std::string_view kSearch = R"(
KERNEL searchsorted(__global const T_mem* x, __global const T_mem* values, __global void* y, const int wide, const long length,
                    const long each, const long count, const int right, const long top, const long per_item) {
  const long first = ITEM * per_item, last = min(count, first + per_item);
  for (long i = first; i < last; i += 8) {
    T_lane sought[8];
    long base[8], below[8];
    for (int k = 0; k < 8; ++k) {
      const long at = min(i + k, last - 1);
      sought[k] = T_load(values, at);
      base[k] = at / each * length;
      below[k] = 0;
    }
    for (long step = top; step > 0; step /= 2)
      for (int k = 0; k < 8; ++k) {
        const long next = below[k] + step;
        const T_lane e = T_load(x, base[k] + min(next, length) - 1);
        const int further = right ? !less_than(sought[k], e) : less_than(e, sought[k]);
        below[k] += (next <= length) & further ? step : 0;
      }
    for (int k = 0; k < 8 && i + k < last; ++k) {
      if (wide) ((__global long*)y)[i + k] = below[k];
      else ((__global int*)y)[i + k] = (int)below[k];
    }
  }
}
)";

Prepared prepare_searchsorted(const KernelCall& call) {
  Context& context = context_of(call);
  const std::int64_t length = call.shape()[-1], each = call.shape(1)[-1], count = call.shape(1).elements();
  const bool right = call.attr().choice("side") == "right", wide = call.outputs[0].dtype() == DType::i64;
  const std::int64_t per_item = context.elements_per_item(count, 20);
  const auto top = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(length)));
  const KernelFunction kernel = context.kernel(text(order_source(call.dtype()), kSearch), "searchsorted");
  return prepared([=, &context](const KernelArgs& args) {
    Launch(context, kernel)
        .buffer(args.inputs[0])
        .buffer(args.inputs[1])
        .buffer(args.outputs[0])
        .value<cl_int>(wide)
        .value(length)
        .value(each)
        .value(count)
        .value<cl_int>(right)
        .value(top)
        .value(per_item)
        .run(blocks(count, per_item));
  });
}

Support sortable(const KernelCall& call) {
  if (call.shape().rank() > 0 && call.shape()[-1] > 0x7FFFFFFF) return no("rows are numbered by int32");
  return ordered_dtypes_supported(call);
}

Support few_wanted(const KernelCall& call) {
  if (&call.op != &top_k_op) return no("whole rows are wanted");
  const SortPlan plan(call);
  if (plan.k > kMostPicked || plan.k * 4 > plan.length)
    return no("so many are better sorted: ", plan.k, " of ", plan.length);
  if (!plan.context->traits().cpu_type && plan.rows < 1024) return no("too few rows to keep a GPU busy");
  return sortable(call);
}

Support by_digits(const KernelCall& call) {
  if (!context_of(call).traits().cpu_type) return no("counting digits wants long work-items; this is a GPU");
  return sortable(call);
}

}  // namespace

KernelList sorting_kernels() {
  return {{.name = "opencl pick", .supports = few_wanted, .prepare = prepare_pick},
          {.name = "opencl digits", .supports = by_digits, .prepare = prepare_digits},
          {.name = "opencl merge", .supports = sortable, .prepare = prepare_merge}};
}
KernelList searchsorted_kernels() {
  return {{.name = "opencl", .supports = ordered_dtypes_supported, .prepare = prepare_searchsorted}};
}

}  // namespace tandem::opencl
