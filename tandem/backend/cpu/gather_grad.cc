// The gradient of gather: rows added where they were taken from, in their order. No two threads write one place, so
// nothing depends on their number.
#include <algorithm>
#include <atomic>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/row_groups.h"
#include "tandem/kernel/gather_sizes.h"

namespace tandem::cpu {
namespace {

std::int64_t checked_index(const GatherSizes& sizes, const void* indices, std::int64_t i) {
  const std::int64_t index = index_at(indices, sizes.index, i);
  if (index < 0 || index >= sizes.size)
    fail(ErrorCode::index_out_of_range, "gather_grad: index ", index, " at position ", i,
         " is outside an axis of size ", sizes.size);
  return index;
}

/// A single block whose rows are long: grouped by the row they were taken from.
template <class T>
void add_groups(const GatherSizes& sizes, const KernelArgs& args) {
  const RowGroups groups(sizes.count, sizes.size,
                         [&](std::int64_t i) { return checked_index(sizes, args.inputs[1], i); });
  T* out = args.output<T>();
  put_groups(
      groups, sizes.inner, args.input<T>(), out,
      [=](std::int64_t first, std::int64_t last)
          __attribute__((always_inline)) { std::fill(out + first, out + last, T{0}); },
      [](T a, T b) __attribute__((always_inline)) { return static_cast<T>(a + b); });
}

template <class Index>
bool all_inside(const Index* indices, std::int64_t count, std::int64_t size) {
  bool outside = false;
  for (std::int64_t i = 0; i < count; ++i)
    outside |= static_cast<std::uint64_t>(static_cast<std::int64_t>(indices[i])) >= static_cast<std::uint64_t>(size);
  return !outside;
}

/// Numbers or rows of `inner` added at their indices, of which none is outside.
template <class T, class Index>
void add_at(const Index* __restrict indices, std::int64_t count, std::int64_t inner, const T* __restrict from,
            T* __restrict to) {
  if (inner == 1) {  // a loop over the row would cost more than what it does
    for (std::int64_t i = 0; i < count; ++i) to[indices[i]] = static_cast<T>(to[indices[i]] + from[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, from += inner) {
    T* row = to + indices[i] * inner;
    for (std::int64_t k = 0; k < inner; ++k) row[k] = static_cast<T>(row[k] + from[k]);
  }
}

/// A block after the other; threads share blocks.
template <class T, class Index>
void add_blocks(const GatherSizes& sizes, const KernelArgs& args) {
  const std::int64_t inner = sizes.inner, block_size = sizes.size * inner;
  const auto* indices = static_cast<const Index*>(args.inputs[1]);
  std::atomic<bool> outside = false;
  parallel_ranges(sizes.blocks(), (block_size + sizes.count * inner) * static_cast<std::int64_t>(sizeof(T)),
                  [&](std::int64_t first, std::int64_t last) {
                    wide([&]() __attribute__((always_inline)) {
                      for (std::int64_t block = first; block < last; ++block) {
                        T* to = args.output<T>() + block * block_size;
                        const Index* mine = indices + sizes.first_index(block);
                        std::fill_n(to, block_size, T{0});
                        if (all_inside(mine, sizes.count, sizes.size))
                          add_at(mine, sizes.count, inner, args.input<T>() + block * sizes.count * inner, to);
                        else outside = true;
                      }
                    });
                  });
  if (!outside) return;
  for (std::int64_t i = 0; i < sizes.batch * sizes.count; ++i) checked_index(sizes, indices, i);  // fails at the first
}

template <class T>
void add_rows(const GatherSizes& sizes, const KernelArgs& args) {
  if (sizes.blocks() == 1 && RowGroups::pays(sizes.count, sizes.inner * static_cast<std::int64_t>(sizeof(T))))
    add_groups<T>(sizes, args);
  else if (sizes.index == DType::i32) add_blocks<T, std::int32_t>(sizes, args);
  else if (sizes.index == DType::u8) add_blocks<T, std::uint8_t>(sizes, args);
  else add_blocks<T, std::int64_t>(sizes, args);
}

Support supports(const KernelCall& call) {
  if (!all_dense(call)) return no("needs dense operands");
  const DType dtype = call.dtype();
  if (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64) return yes();
  return no("adds in the tensor's own dtype, which ", dtype, " is too small for");
}

Prepared prepare(const KernelCall& call) {
  const GatherSizes sizes = gather_sizes(call, call.outputs[0].shape());
  switch (call.dtype()) {
    case DType::f32: return prepared([sizes](const KernelArgs& args) { add_rows<float>(sizes, args); });
    case DType::f64: return prepared([sizes](const KernelArgs& args) { add_rows<double>(sizes, args); });
    case DType::i32: return prepared([sizes](const KernelArgs& args) { add_rows<std::int32_t>(sizes, args); });
    default: return prepared([sizes](const KernelArgs& args) { add_rows<std::int64_t>(sizes, args); });
  }
}

}  // namespace

KernelList gather_grad_kernels() { return {{.name = "rows", .supports = supports, .prepare = prepare}}; }

}  // namespace tandem::cpu
