// Sorting along the last axis. Elements become unsigned keys in the same order; short rows are sorted by comparing, long
// ones by their digits, both without changing the order of equal keys.
#include <algorithm>
#include <bit>
#include <limits>

#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/op/array_records.h"

namespace tandem::cpu {
namespace {

template <std::size_t kBytes>
using KeyOf = std::conditional_t<kBytes == 8, std::uint64_t, std::conditional_t<kBytes == 4, std::uint32_t, std::conditional_t<kBytes == 2, std::uint16_t, std::uint8_t>>>;

/// An unsigned number with the element's order; all NaNs are the largest, and -0 equals 0.
template <class T>
KeyOf<sizeof(T)> key_of(T value) {
  using Key = KeyOf<sizeof(T)>;
  constexpr Key kTop = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<Key>(std::is_signed_v<T> ? static_cast<Key>(value) ^ kTop : static_cast<Key>(value));
  } else {
    const double number = static_cast<double>(widen(value));
    if (number != number) return std::numeric_limits<Key>::max();
    if (number == 0) return kTop;
    const Key bits = std::bit_cast<Key>(value);
    return static_cast<Key>(bits & kTop ? ~bits : bits | kTop);
  }
}

template <class Key>
struct Item {
  Key key;
  std::uint32_t place;
};

constexpr std::int64_t kShortRow = 256;

/// By eight bits at a time, least first; digits that all items share are skipped.
template <class Key>
void sort_by_digits(Item<Key>*& items, Item<Key>*& other, std::int64_t count) {
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += 8) {
    std::int64_t starts[256] = {};
    for (std::int64_t i = 0; i < count; ++i) ++starts[items[i].key >> shift & 0xFF];
    if (starts[items[0].key >> shift & 0xFF] == count) continue;
    std::int64_t before = 0;
    for (std::int64_t& start : starts) before += std::exchange(start, before);
    for (std::int64_t i = 0; i < count; ++i) other[starts[items[i].key >> shift & 0xFF]++] = items[i];
    std::swap(items, other);
  }
}

/// The items of one row in order; the result is the buffer returned.
template <class T>
const Item<KeyOf<sizeof(T)>>* sorted_row(const T* row, std::int64_t count, bool descending, Item<KeyOf<sizeof(T)>>* items,
                                         Item<KeyOf<sizeof(T)>>* other) {
  using Key = KeyOf<sizeof(T)>;
  for (std::int64_t i = 0; i < count; ++i) {
    const Key key = key_of(row[i]);
    items[i] = {static_cast<Key>(descending ? ~key : key), static_cast<std::uint32_t>(i)};
  }
  if (count > kShortRow) sort_by_digits(items, other, count);
  else std::sort(items, items + count, [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; });
  return items;
}

/// The first k only, where that is much less than the row.
template <class T>
const Item<KeyOf<sizeof(T)>>* largest_of_row(const T* row, std::int64_t count, std::int64_t k, Item<KeyOf<sizeof(T)>>* items) {
  using Key = KeyOf<sizeof(T)>;
  const auto before = [](const Item<Key>& a, const Item<Key>& b) { return a.key != b.key ? a.key > b.key : a.place < b.place; };
  for (std::int64_t i = 0; i < count; ++i) {
    const Item<Key> item{key_of(row[i]), static_cast<std::uint32_t>(i)};
    if (i < k) {
      items[i] = item;
      if (i + 1 == k) std::make_heap(items, items + k, before);  // the least of them on top
    } else if (before(item, items[0])) {
      std::pop_heap(items, items + k, before);
      items[k - 1] = item;
      std::push_heap(items, items + k, before);
    }
  }
  std::sort_heap(items, items + k, before);
  return items;
}

struct SortPlan {
  std::int64_t rows = 1, length = 0, k = 0;
  bool values = false, places = false, descending = false;
};

template <class T>
void sort_rows(const SortPlan& plan, const T* from, T* values, std::int32_t* places) {
  using Entry = Item<KeyOf<sizeof(T)>>;
  const bool few = plan.k < plan.length / 8;
  const std::int64_t row_bytes = plan.length * static_cast<std::int64_t>(sizeof(T)) * 8;  // sorting is slower than reading
  parallel_ranges(plan.k ? plan.rows : 0, row_bytes, [&](std::int64_t first, std::int64_t last) {
    auto* items = static_cast<Entry*>(scratch(ScratchUse::rows, static_cast<std::size_t>(2 * plan.length) * sizeof(Entry)));
    for (std::int64_t r = first; r < last; ++r) {
      const T* row = from + r * plan.length;
      const Entry* sorted = few ? largest_of_row(row, plan.length, plan.k, items)
                                : sorted_row(row, plan.length, plan.descending, items, items + plan.length);
      for (std::int64_t i = 0; values && i < plan.k; ++i) values[r * plan.k + i] = row[sorted[i].place];
      for (std::int64_t i = 0; places && i < plan.k; ++i) places[r * plan.k + i] = static_cast<std::int32_t>(sorted[i].place);
    }
  });
}

Support sortable(const KernelCall& call) {
  if (call.shape()[-1] > std::numeric_limits<std::int32_t>::max()) return no("rows are numbered by int32");
  return movable(call);
}

Prepared prepare_sort(const KernelCall& call) {
  const bool top = &call.op == &top_k_op, places_only = &call.op == &argsort_op;
  SortPlan plan{.length = call.shape()[-1], .k = call.outputs[0].shape()[-1],
                .descending = top || call.attr().choice("direction") == "descending"};
  plan.rows = plan.length ? call.shape().elements() / plan.length : 0;
  return by_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([=](const KernelArgs& args) {
      T* values = places_only ? nullptr : args.output<T>();
      std::int32_t* places = top ? args.output<std::int32_t>(1) : places_only ? args.output<std::int32_t>() : nullptr;
      sort_rows(plan, args.input<T>(), values, places);
    });
  });
}

Prepared prepare_searchsorted(const KernelCall& call) {
  const std::int64_t length = call.shape()[-1], each = call.shape(1)[-1], count = call.shape(1).elements();
  const bool right = call.attr().choice("side") == "right", narrow = call.outputs[0].dtype() == DType::i32;
  return by_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([=](const KernelArgs& args) {
      parallel_ranges(count, 64, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          const T* row = args.input<T>() + i / each * length;
          const auto value = key_of(args.input<T>(1)[i]);
          const auto below = [&](const T& element) { return right ? key_of(element) <= value : key_of(element) < value; };
          const std::int64_t at = std::partition_point(row, row + length, below) - row;
          if (narrow) args.output<std::int32_t>()[i] = static_cast<std::int32_t>(at);
          else args.output<std::int64_t>()[i] = at;
        }
      });
    });
  });
}

}  // namespace

KernelList sorting_kernels() { return {{.name = "keys", .supports = sortable, .prepare = prepare_sort}}; }
KernelList searchsorted_kernels() { return {{.name = "bisection", .supports = movable, .prepare = prepare_searchsorted}}; }

}  // namespace tandem::cpu
