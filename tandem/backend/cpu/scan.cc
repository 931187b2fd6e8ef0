// Running sums and products, and rows joined by segment. Threads share lines, columns or segments, never one line:
// every sum has one order.
#include <limits>
#include <utility>
#include <vector>

#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/compare.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/backend/cpu/row_groups.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/op/array_records.h"

namespace tandem::cpu {
namespace {

/// x (outer, size, inner), scanned along the middle.
struct ScanPlan : AroundAxis {
  bool product = false, exclusive = false, reverse = false;
};

ScanPlan scan_plan(const KernelCall& call) {
  const Shape& shape = call.shape();
  const int axis = normalize_axis(call.op.name, call.attr().integer("axis"), shape.rank());
  return {around_axis(shape, axis), &call.op == &cumprod_op, call.attr().boolean("exclusive"),
          call.attr().boolean("reverse")};
}

constexpr std::int64_t kColumns = 256;  // running values that stay in the first-level cache

/// `columns` lines side by side, each `size` long.
template <class T, class Join>
void scan_columns(const ScanPlan& plan, const T* from, T* to, std::int64_t columns, Join join) {
  using C = Comparable<T>;
  C running[kColumns];
  std::fill_n(running, columns, static_cast<C>(plan.product ? 1 : 0));
  for (std::int64_t k = 0; k < plan.size; ++k) {
    const std::int64_t row = (plan.reverse ? plan.size - 1 - k : k) * plan.inner;
    for (std::int64_t c = 0; c < columns; ++c) {
      const C before = running[c], after = static_cast<C>(join(before, comparable(from[row + c])));
      running[c] = after;
      to[row + c] = T(plan.exclusive ? before : after);
    }
  }
}

/// One line; the running value stays in a register.
template <class T, class Join>
void scan_line(const ScanPlan& plan, const T* from, T* to, Join join) {
  using C = Comparable<T>;
  C running = static_cast<C>(plan.product ? 1 : 0);
  const std::int64_t step = plan.reverse ? -1 : 1;
  std::int64_t at = plan.reverse ? plan.size - 1 : 0;
  for (std::int64_t k = 0; k < plan.size; ++k, at += step) {
    const C before = running;
    running = static_cast<C>(join(running, comparable(from[at])));
    to[at] = T(plan.exclusive ? before : running);
  }
}

// Of a long line. No multiple of a page: pieces that are read side by side would lie in the same lines of the cache.
constexpr std::int64_t kPiece = 2048 + 48;
constexpr int kTogether = 8;  // pieces in lockstep: a running value waits for the one before, eight do not

/// What pieces are joined to: products of many small and large numbers stay in a double's range.
template <class C>
using PieceTotal =
    std::conditional_t<std::is_floating_point_v<C>, double, std::conditional_t<std::is_same_v<C, bool>, int, C>>;

/// In an order of its own: eight running values.
template <class Total, class T, class Join>
Total total_of(const T* from, std::int64_t count, Total nothing, Join join) {
  Total parts[kTogether];
  std::fill_n(parts, kTogether, nothing);
  const std::int64_t whole = count / kTogether * kTogether;
  for (std::int64_t k = 0; k < whole; k += kTogether)
    for (int i = 0; i < kTogether; ++i)
      parts[i] = static_cast<Total>(join(parts[i], static_cast<Total>(comparable(from[k + i]))));
  for (std::int64_t k = whole; k < count; ++k)
    parts[0] = static_cast<Total>(join(parts[0], static_cast<Total>(comparable(from[k]))));
  for (int i = 1; i < kTogether; ++i) parts[0] = static_cast<Total>(join(parts[0], parts[i]));
  return parts[0];
}

/// kCount pieces side by side, each `length` long and from its own `running` on; `from` and `to` are where the first
/// begins.
template <int kCount, bool kReverse, bool kExclusive, class T, class C, class Join>
void scan_together(const T* __restrict from, T* __restrict to, std::int64_t length, C (&running)[kCount], Join join) {
  constexpr std::int64_t kStep = kReverse ? -1 : 1;
  for (std::int64_t k = 0; k < length; ++k) {
    for (int i = 0; i < kCount; ++i) {
      const std::int64_t at = kStep * (k + i * kPiece);
      const C before = running[i];
      running[i] = static_cast<C>(join(before, comparable(from[at])));
      to[at] = T(kExclusive ? before : running[i]);
    }
  }
}

/// One long line, in pieces: the totals of all pieces first, then each from what lies before it. The pieces depend on
/// the length only.
template <bool kReverse, bool kExclusive, class T, class Join>
void scan_pieces(const ScanPlan& plan, const T* from, T* to, Join join) {
  using C = Comparable<T>;
  using Total = PieceTotal<C>;
  const std::int64_t size = plan.size, pieces = (size + kPiece - 1) / kPiece;
  const auto length_of = [=](std::int64_t piece) { return std::min(kPiece, size - piece * kPiece); };
  const auto begin_of = [=](std::int64_t piece) { return kReverse ? size - 1 - piece * kPiece : piece * kPiece; };
  const Total nothing = static_cast<Total>(plan.product ? 1 : 0);
  std::vector<Total> before(static_cast<std::size_t>(pieces));
  parallel_ranges(pieces, kPiece * static_cast<std::int64_t>(sizeof(T)), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const std::int64_t length = length_of(piece), begin = kReverse ? begin_of(piece) - length + 1 : begin_of(piece);
      before[static_cast<std::size_t>(piece)] = total_of(from + begin, length, nothing, join);
    }
  });
  Total total = nothing;
  for (Total& one : before) {
    const Total mine = std::exchange(one, total);
    total = static_cast<Total>(join(total, mine));
  }
  const auto scan_some = [&]<int kCount>(std::int64_t first, std::integral_constant<int, kCount>) {
    C running[kCount];
    for (int i = 0; i < kCount; ++i) running[i] = static_cast<C>(before[static_cast<std::size_t>(first + i)]);
    scan_together<kCount, kReverse, kExclusive>(from + begin_of(first), to + begin_of(first),
                                                length_of(first + kCount - 1), running, join);
  };
  const std::int64_t groups = size / kPiece / kTogether;  // of whole pieces
  parallel_ranges(groups, kTogether * kPiece * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t group = first; group < last; ++group)
                      scan_some(group * kTogether, std::integral_constant<int, kTogether>{});
                  });
  for (std::int64_t piece = groups * kTogether; piece < pieces; ++piece)
    scan_some(piece, std::integral_constant<int, 1>{});
}

template <class T, class Join>
void scan_long_line(const ScanPlan& plan, const T* from, T* to, Join join) {
  if (plan.reverse)
    plan.exclusive ? scan_pieces<true, true>(plan, from, to, join) : scan_pieces<true, false>(plan, from, to, join);
  else
    plan.exclusive ? scan_pieces<false, true>(plan, from, to, join) : scan_pieces<false, false>(plan, from, to, join);
}

template <class T, class Join>
void scan(const ScanPlan& plan, const T* from, T* to, Join join) {
  if (plan.inner == 1 && plan.size >= 2 * kTogether * kPiece) {
    for (std::int64_t line = 0; line < plan.outer; ++line)
      scan_long_line(plan, from + line * plan.size, to + line * plan.size, join);
    return;
  }
  const std::int64_t blocks = (plan.inner + kColumns - 1) / kColumns;
  const std::int64_t block_bytes = plan.size * std::min(plan.inner, kColumns) * static_cast<std::int64_t>(sizeof(T));
  parallel_ranges(plan.outer * blocks, block_bytes, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t column = i % blocks * kColumns, at = i / blocks * plan.size * plan.inner + column;
      if (plan.inner == 1) scan_line(plan, from + at, to + at, join);
      else scan_columns(plan, from + at, to + at, std::min(kColumns, plan.inner - column), join);
    }
  });
}

Prepared prepare_scan(const KernelCall& call) {
  return by_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([plan = scan_plan(call)](const KernelArgs& args) {
      if (plan.product) scan(plan, args.input<T>(), args.output<T>(), [](auto a, auto b) { return a * b; });
      else scan(plan, args.input<T>(), args.output<T>(), [](auto a, auto b) { return a + b; });
    });
  });
}

enum class Join { sum, prod, max, min };

Join join_of(const OpDef& op) {
  if (&op == &unsorted_segment_sum_op) return Join::sum;
  if (&op == &unsorted_segment_prod_op) return Join::prod;
  return &op == &unsorted_segment_max_op ? Join::max : Join::min;
}

/// What an empty segment is: of the largest the lowest finite number, as TensorFlow answers.
template <class T>
double empty_value(Join join) {
  if (join == Join::sum) return 0;
  if (join == Join::prod) return 1;
  const bool lowest = join == Join::max;
  if constexpr (std::is_same_v<T, Half>) return lowest ? -65504 : 65504;
  else if constexpr (std::is_same_v<T, BFloat16>) return (lowest ? -1 : 1) * 0x1.FEp127;
  else return static_cast<double>(lowest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
}

template <Join kJoin, class C>
C joined(C a, C b) {
  if constexpr (kJoin == Join::sum) return static_cast<C>(a + b);
  else if constexpr (kJoin == Join::prod) return static_cast<C>(a * b);
  else if constexpr (kJoin == Join::max) return a != a || a > b ? a : b;
  else return a != a || a < b ? a : b;
}

struct SegmentPlan {
  std::int64_t segments = 0, rows = 0, inner = 1;
  DType index;
  Join join;
};

[[noreturn, gnu::cold, gnu::noinline]] void refuse_segment(std::string_view op, std::int64_t segment, std::int64_t at,
                                                           std::int64_t segments) {
  fail(ErrorCode::index_out_of_range, op, ": segment ", segment, " at position ", at, " is outside ", segments,
       " segments");
}

/// The segment of row i, negative where the row is dropped.
std::int64_t segment_of(const SegmentPlan& plan, std::string_view op, const void* ids, std::int64_t i) {
  const std::int64_t segment = index_at(ids, plan.index, i);
  if (segment >= plan.segments) [[unlikely]]
    refuse_segment(op, segment, i, plan.segments);
  return segment;
}

/// Long rows: grouped by segment.
template <Join kJoin, class T>
void join_groups(const SegmentPlan& plan, std::string_view op, const T* data, const void* ids, T* out, T empty) {
  const RowGroups groups(plan.rows, plan.segments, [&](std::int64_t i) { return segment_of(plan, op, ids, i); });
  put_groups(
      groups, plan.inner, data, out,
      [=](std::int64_t first, std::int64_t last)
          __attribute__((always_inline)) { std::fill(out + first, out + last, empty); },
      [](T a, T b) __attribute__((always_inline)) { return T(joined<kJoin>(comparable(a), comparable(b))); });
}

/// Short rows: added where they belong as they come.
template <Join kJoin, class T>
void join_short_rows(const SegmentPlan& plan, std::string_view op, const T* data, const void* ids, T* out) {
  for (std::int64_t i = 0; i < plan.rows; ++i) {
    const std::int64_t segment = segment_of(plan, op, ids, i);
    if (segment < 0) continue;
    T* __restrict to = out + segment * plan.inner;
    const T* __restrict from = data + i * plan.inner;
    for (std::int64_t k = 0; k < plan.inner; ++k) to[k] = T(joined<kJoin>(comparable(to[k]), comparable(from[k])));
  }
}

/// The same where a row is one number: a loop over columns would cost more than what it does.
template <Join kJoin, class T, class Index>
void join_numbers(const SegmentPlan& plan, std::string_view op, const T* __restrict data, const Index* __restrict ids,
                  T* __restrict out) {
  const auto segments = static_cast<std::uint64_t>(plan.segments);
  for (std::int64_t i = 0; i < plan.rows; ++i) {
    const std::int64_t segment = ids[i];
    if (static_cast<std::uint64_t>(segment) < segments) [[likely]]
      out[segment] = T(joined<kJoin>(comparable(out[segment]), comparable(data[i])));
    else if (segment >= 0) refuse_segment(op, segment, i, plan.segments);
  }
}

template <Join kJoin, class T>
void join_rows(const SegmentPlan& plan, std::string_view op, const KernelArgs& args, T empty) {
  const T* data = args.input<T>();
  const void* ids = args.inputs[1];
  T* out = args.output<T>();
  if (RowGroups::pays(plan.rows, plan.inner * static_cast<std::int64_t>(sizeof(T))))
    return join_groups<kJoin>(plan, op, data, ids, out, empty);
  parallel_ranges(plan.segments * plan.inner, sizeof(T), [&](std::int64_t first, std::int64_t last) {
    wide([&]() __attribute__((always_inline)) { std::fill(out + first, out + last, empty); });
  });
  if (plan.inner != 1) return join_short_rows<kJoin>(plan, op, data, ids, out);
  if (plan.index == DType::i32) join_numbers<kJoin>(plan, op, data, static_cast<const std::int32_t*>(ids), out);
  else join_numbers<kJoin>(plan, op, data, static_cast<const std::int64_t*>(ids), out);
}

template <class T>
void join_segments(const SegmentPlan& plan, std::string_view op, const KernelArgs& args) {
  T empty = element_of<T>(empty_value<T>(plan.join));
  if constexpr (std::is_same_v<T, std::int64_t>)  // which a double does not hold
    if (plan.join == Join::min) empty = std::numeric_limits<T>::max();
  switch (plan.join) {
    case Join::sum: return join_rows<Join::sum>(plan, op, args, empty);
    case Join::prod: return join_rows<Join::prod>(plan, op, args, empty);
    case Join::max: return join_rows<Join::max>(plan, op, args, empty);
    case Join::min: return join_rows<Join::min>(plan, op, args, empty);
  }
}

Prepared prepare_segments(const KernelCall& call) {
  const Shape& out = call.outputs[0].shape();
  SegmentPlan plan{
      .segments = out[0], .rows = call.shape(1).elements(), .index = call.dtype(1), .join = join_of(call.op)};
  for (int i = 1; i < out.rank(); ++i) plan.inner *= out[i];
  return by_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([plan, op = call.op.name](const KernelArgs& args) { join_segments<T>(plan, op, args); });
  });
}

}  // namespace

KernelList scan_kernels() { return {{.name = "lines", .supports = movable, .prepare = prepare_scan}}; }
KernelList segment_kernels() { return {{.name = "rows", .supports = movable, .prepare = prepare_segments}}; }

void add_array_kernels(KernelTable& table) {
  KernelList argmin = argmin_kernels();
  argmin.push_back(reference_argmax());
  table.set(argmin_op, std::move(argmin));
  for (const OpDef* op : kScanFamily) table.set(*op, scan_kernels());
  for (const OpDef* op : kSegmentFamily) table.set(*op, segment_kernels());
  table.set(strided_slice_op, strided_slice_kernels());
  table.set(strided_slice_grad_op, strided_slice_grad_kernels());
  table.set(gather_nd_op, gather_nd_kernels());
  for (const OpDef* op : kScatterFamily) table.set(*op, scatter_kernels());
  table.set(where_indices_op, where_indices_kernels());
  for (const OpDef* op : kSortingFamily) table.set(*op, sorting_kernels());
  table.set(searchsorted_op, searchsorted_kernels());
}

}  // namespace tandem::cpu
