// Sorting along the last axis. Elements become unsigned keys in the same order; short rows are sorted by comparing,
// long ones by their digits, both without changing the order of equal keys.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/op/array_records.h"

namespace tandem::cpu {
namespace {

template <std::size_t kBytes>
using KeyOf = std::conditional_t<
    kBytes == 8, std::uint64_t,
    std::conditional_t<kBytes == 4, std::uint32_t, std::conditional_t<kBytes == 2, std::uint16_t, std::uint8_t>>>;

/// The bits of infinity: what is larger, but for the sign, is NaN.
template <class T>
constexpr std::uint64_t kInfinity = sizeof(T) == 8            ? 0x7FF0'0000'0000'0000
                                    : sizeof(T) == 4          ? 0x7F80'0000
                                    : std::is_same_v<T, Half> ? 0x7C00
                                                              : 0x7F80;

/// An unsigned number with the element's order; all NaNs are the largest, and -0 equals 0.
template <class T>
KeyOf<sizeof(T)> key_of(T value) {
  using Key = KeyOf<sizeof(T)>;
  constexpr Key kTop = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));
  if constexpr (std::is_integral_v<T>) {
    return static_cast<Key>(std::is_signed_v<T> ? static_cast<Key>(value) ^ kTop : static_cast<Key>(value));
  } else {
    const Key bits = std::bit_cast<Key>(value), magnitude = static_cast<Key>(bits & ~kTop);
    if (magnitude > kInfinity<T>) return std::numeric_limits<Key>::max();
    return static_cast<Key>(magnitude == 0 ? kTop : bits & kTop ? ~bits : bits | kTop);
  }
}

template <class Key>
struct Item {
  Key key;
  std::uint32_t place;
};

constexpr std::int64_t kShortRow = 256;

/// By eight bits at a time, least first; digits that all items share are skipped. A long row is cut into chunks: each
/// counts its digits, and puts its items behind those that the chunks before it have of the same digit.
template <class Key>
void sort_by_digits(Item<Key>*& items, Item<Key>*& other, std::int64_t count) {
  constexpr std::int64_t kChunk = 1 << 15, kMostChunks = 64;
  using Starts = std::array<std::int64_t, 256>;
  const std::int64_t wanted = std::clamp<std::int64_t>(count / kChunk, 1, kMostChunks),
                     each = (count + wanted - 1) / wanted;
  const std::int64_t chunks = (count + each - 1) / each;
  auto* starts = static_cast<Starts*>(scratch(ScratchUse::partials, static_cast<std::size_t>(chunks) * sizeof(Starts)));
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(Key)); shift += 8) {
    parallel(chunks, [&](std::int64_t chunk) {
      starts[chunk].fill(0);
      for (std::int64_t i = chunk * each, end = std::min(count, i + each); i < end; ++i)
        ++starts[chunk][items[i].key >> shift & 0xFF];
    });
    std::int64_t of_first_digit = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) of_first_digit += starts[chunk][items[0].key >> shift & 0xFF];
    if (of_first_digit == count) continue;
    std::int64_t before = 0;
    for (std::size_t digit = 0; digit < 256; ++digit)
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) before += std::exchange(starts[chunk][digit], before);
    parallel(chunks, [&](std::int64_t chunk) {
      Starts at = starts[chunk];
      for (std::int64_t i = chunk * each, end = std::min(count, i + each); i < end; ++i)
        other[at[items[i].key >> shift & 0xFF]++] = items[i];
    });
    std::swap(items, other);
  }
}

/// The items of one row in order; the result is the buffer returned.
template <class T>
const Item<KeyOf<sizeof(T)>>* sorted_row(const T* row, std::int64_t count, bool descending,
                                         Item<KeyOf<sizeof(T)>>* items, Item<KeyOf<sizeof(T)>>* other) {
  using Key = KeyOf<sizeof(T)>;
  parallel_ranges(count, sizeof(Item<Key>), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Key key = key_of(row[i]);
      items[i] = {static_cast<Key>(descending ? ~key : key), static_cast<std::uint32_t>(i)};
    }
  });
  if (count > kShortRow) sort_by_digits(items, other, count);
  else
    std::sort(items, items + count,
              [](const auto& a, const auto& b) { return a.key != b.key ? a.key < b.key : a.place < b.place; });
  return items;
}

/// The first k only, where that is much less than the row.
template <class T>
const Item<KeyOf<sizeof(T)>>* largest_of_row(const T* row, std::int64_t count, std::int64_t k,
                                             Item<KeyOf<sizeof(T)>>* items) {
  using Key = KeyOf<sizeof(T)>;
  const auto before = [](const Item<Key>& a, const Item<Key>& b) {
    return a.key != b.key ? a.key > b.key : a.place < b.place;
  };
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
  const std::int64_t row_bytes =
      plan.length * static_cast<std::int64_t>(sizeof(T)) * 8;  // sorting is slower than reading
  parallel_ranges(plan.k ? plan.rows : 0, row_bytes, [&](std::int64_t first, std::int64_t last) {
    auto* items =
        static_cast<Entry*>(scratch(ScratchUse::rows, static_cast<std::size_t>(2 * plan.length) * sizeof(Entry)));
    for (std::int64_t r = first; r < last; ++r) {
      const T* row = from + r * plan.length;
      const Entry* sorted = few ? largest_of_row(row, plan.length, plan.k, items)
                                : sorted_row(row, plan.length, plan.descending, items, items + plan.length);
      parallel_ranges(plan.k, sizeof(Entry), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; values && i < end; ++i) values[r * plan.k + i] = row[sorted[i].place];
        for (std::int64_t i = begin; places && i < end; ++i)
          places[r * plan.k + i] = static_cast<std::int32_t>(sorted[i].place);
      });
    }
  });
}

Support sortable(const KernelCall& call) {
  if (call.shape()[-1] > std::numeric_limits<std::int32_t>::max()) return no("rows are numbered by int32");
  return movable(call);
}

Prepared prepare_sort(const KernelCall& call) {
  const bool top = &call.op == &top_k_op, places_only = &call.op == &argsort_op;
  SortPlan plan{.length = call.shape()[-1],
                .k = call.outputs[0].shape()[-1],
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

// --- Bisection ---

constexpr int kTogether = 16;

/// How many of a row's elements have keys below each of `sought`. All bisect together, so that nothing waits for one
/// element of the row and no branch is guessed.
template <class T, class Place>
[[gnu::always_inline]] inline void count_below(const T* row, Place length, const KeyOf<sizeof(T)>* sought,
                                               Place* below) {
  for (int v = 0; v < kTogether; ++v) below[v] = 0;
  for (auto step = static_cast<Place>(std::bit_floor(static_cast<std::make_unsigned_t<Place>>(length))); step > 0;
       step /= 2)
    for (int v = 0; v < kTogether; ++v) {
      const Place next = below[v] + step;
      const bool further = key_of(row[std::min(next, length) - 1]) < sought[v];
      below[v] = next <= length && further ? next : below[v];
    }
}

struct Bisection {
  std::int64_t length = 0, each = 0;  // of a row, and of the values sought in it
  bool right = false;

  /// For the values [first, last) of one row.
  template <class Place, class T, class Out>
  void run(const T* row, const T* values, std::int64_t first, std::int64_t last, Out* out) const {
    using Key = KeyOf<sizeof(T)>;
    constexpr Key kLast = std::numeric_limits<Key>::max();
    wide([&]() __attribute__((always_inline)) {
      Key sought[kTogether];
      Place below[kTogether];
      for (std::int64_t i = first; i < last; i += kTogether) {
        const int count = static_cast<int>(std::min<std::int64_t>(kTogether, last - i));
        for (int v = 0; v < kTogether; ++v) sought[v] = key_of(values[i + std::min(v, count - 1)]);
        // What is not above a key is below the next one; above the last there is nothing.
        Key largest = 0;
        for (int v = 0; v < kTogether; ++v) largest = std::max(largest, sought[v]);
        for (int v = 0; v < kTogether; ++v) sought[v] = static_cast<Key>(sought[v] + (right && sought[v] != kLast));
        count_below(row, static_cast<Place>(length), sought, below);
        for (int v = 0; v < count; ++v) out[i + v] = static_cast<Out>(below[v]);
        for (int v = 0; right && largest == kLast && v < count; ++v)
          if (key_of(values[i + v]) == kLast) out[i + v] = static_cast<Out>(length);
      }
    });
  }
};

template <class T, class Out>
void search_rows(const Bisection& plan, std::int64_t count, const T* sorted, const T* values, Out* out) {
  constexpr std::int64_t kValueBytes = 64;  // a search costs more than reading a value
  parallel_ranges(count, kValueBytes, [&](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t row = first / plan.each, begin = row * plan.each, end = std::min(last, begin + plan.each);
      const T* elements = sorted + row * plan.length;
      if (plan.length < std::numeric_limits<std::int32_t>::max() / 2)
        plan.run<std::int32_t>(elements, values + begin, first - begin, end - begin, out + begin);
      else plan.run<std::int64_t>(elements, values + begin, first - begin, end - begin, out + begin);
      first = end;
    }
  });
}

Prepared prepare_searchsorted(const KernelCall& call) {
  const Bisection plan{
      .length = call.shape()[-1], .each = call.shape(1)[-1], .right = call.attr().choice("side") == "right"};
  const std::int64_t count = call.shape(1).elements();
  const bool narrow = call.outputs[0].dtype() == DType::i32;
  return by_dtype(call.dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    return prepared([=](const KernelArgs& args) {
      if (narrow) search_rows(plan, count, args.input<T>(), args.input<T>(1), args.output<std::int32_t>());
      else search_rows(plan, count, args.input<T>(), args.input<T>(1), args.output<std::int64_t>());
    });
  });
}

}  // namespace

KernelList sorting_kernels() { return {{.name = "keys", .supports = sortable, .prepare = prepare_sort}}; }
KernelList searchsorted_kernels() {
  return {{.name = "bisection", .supports = movable, .prepare = prepare_searchsorted}};
}

}  // namespace tandem::cpu
