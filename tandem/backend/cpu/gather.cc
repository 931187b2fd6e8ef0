// Ops led by indices: gather and one_hot.
#include <algorithm>
#include <cstring>
#include <limits>

#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/library_kernels.h"
#include "tandem/backend/cpu/simd.h"
#include "tandem/kernel/gather_sizes.h"

namespace tandem::cpu {
namespace {

struct GatherPlan : GatherSizes {
  std::int64_t run = 1;  // bytes of what one index picks
};

GatherPlan gather_plan(const KernelCall& call) {
  GatherPlan plan{gather_sizes(call, call.shape())};
  plan.run = plan.inner * static_cast<std::int64_t>(dtype_size(call.dtype()));
  return plan;
}

template <class Index>
void check_indices(const GatherPlan& plan, const Index* indices, std::int64_t first, std::int64_t last) {
  // The sign bit of either shows an index outside; all of them are looked at together.
  const auto largest = static_cast<Index>(std::min<std::int64_t>(plan.size - 1, std::numeric_limits<Index>::max()));
  Index signs = 0;
  wide([&]() __attribute__((always_inline)) {
    Index all = 0;
    for (std::int64_t i = first; i < last; ++i) all |= indices[i] | (largest - indices[i]);
    signs = all;
  });
  for (std::int64_t i = first; signs < 0 && i < last; ++i)
    if (indices[i] < 0 || indices[i] >= plan.size)
      fail(ErrorCode::index_out_of_range, "gather: index ", indices[i], " at position ", i, " is outside axis ",
           plan.axis, " of size ", plan.size, "; indices count from 0 and negative ones are not wrapped");
}

/// kRun > 0: the bytes of a run known to the compiler, for runs of one element.
template <int kRun, class Index>
void copy_runs(const char* slab, const Index* indices, std::int64_t count, std::int64_t run, char* to) {
  if (kRun > 0) run = kRun;
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * run, slab + indices[i] * run, run);
}

/// Indices are checked a few at a time, just before they are used: where runs are short, reading the indices is most of
/// the work.
template <int kRun, class Index>
void gather_runs(const GatherPlan& plan, const char* from, const Index* indices, char* to) {
  constexpr std::int64_t kAtATime = 1024;
  const std::int64_t run = plan.run;
  parallel_ranges(plan.blocks() * plan.count, run, [&](std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t block = first / plan.count, end = std::min({last, (block + 1) * plan.count, first + kAtATime});
      const char* slab = from + block * plan.size * run;
      const std::int64_t begin = plan.first_index(block) + first % plan.count;
      check_indices(plan, indices, begin, begin + end - first);
      copy_runs<kRun>(slab, indices + begin, end - first, run, to + first * run);
      first = end;
    }
  });
}

template <class Index>
void gather(const GatherPlan& plan, const KernelArgs& args) {
  const auto* indices = args.input<Index>(1);
  if (plan.blocks() * plan.count * plan.run == 0) return check_indices(plan, indices, 0, plan.batch * plan.count);
  const char* from = args.input<char>(0);
  char* to = args.output<char>();
  switch (plan.run) {
    case 1: return gather_runs<1>(plan, from, indices, to);
    case 2: return gather_runs<2>(plan, from, indices, to);
    case 4: return gather_runs<4>(plan, from, indices, to);
    case 8: return gather_runs<8>(plan, from, indices, to);
    case 12: return gather_runs<12>(plan, from, indices, to);
    case 16: return gather_runs<16>(plan, from, indices, to);
    default: return gather_runs<0>(plan, from, indices, to);
  }
}

Prepared prepare_gather(const KernelCall& call) {
  const GatherPlan plan = gather_plan(call);
  if (call.dtype(1) == DType::i32)
    return prepared([plan](const KernelArgs& args) { gather<std::int32_t>(plan, args); });
  return prepared([plan](const KernelArgs& args) { gather<std::int64_t>(plan, args); });
}

/// result (outer, depth, inner) from indices (outer, inner).
struct OneHotPlan {
  std::int64_t outer = 1, depth = 0, inner = 1;
};

OneHotPlan one_hot_plan(const KernelCall& call) {
  const Shape& indices = call.shape(0);
  const int axis = normalize_axis("one_hot", call.attr().integer("axis"), indices.rank() + 1);
  OneHotPlan plan{.depth = call.attr().integer("depth")};
  for (int i = 0; i < indices.rank(); ++i) (i < axis ? plan.outer : plan.inner) *= indices[i];
  return plan;
}

template <class T, class Index>
void one_hot(const OneHotPlan& plan, const KernelArgs& args) {
  const auto on = element_of<T>(std::bit_cast<double>(args.run_time[0]));
  const auto off = element_of<T>(std::bit_cast<double>(args.run_time[1]));
  const std::int64_t slab = plan.depth * plan.inner;
  parallel_ranges(plan.outer, slab * sizeof(T), [&](std::int64_t first, std::int64_t last) {
    wide([&]() __attribute__((always_inline)) {
      std::fill_n(args.output<T>() + first * slab, (last - first) * slab, off);
    });
    for (std::int64_t o = first; o < last; ++o)
      for (std::int64_t i = 0; i < plan.inner; ++i) {
        const std::int64_t hot = args.input<Index>()[o * plan.inner + i];
        if (hot >= 0 && hot < plan.depth) args.output<T>()[o * slab + hot * plan.inner + i] = on;
      }
  });
}

Prepared prepare_one_hot(const KernelCall& call) {
  const OneHotPlan plan = one_hot_plan(call);
  const DType index = call.dtype();
  return visit_dtype(call.outputs[0].dtype(), [&]<class T>(TypeTag<T>) -> Prepared {
    if (index == DType::u8) return prepared([plan](const KernelArgs& args) { one_hot<T, std::uint8_t>(plan, args); });
    if (index == DType::i32) return prepared([plan](const KernelArgs& args) { one_hot<T, std::int32_t>(plan, args); });
    return prepared([plan](const KernelArgs& args) { one_hot<T, std::int64_t>(plan, args); });
  });
}

}  // namespace

KernelList gather_kernels() { return {{"runs", movable, prepare_gather}}; }
KernelList one_hot_kernels() { return {{"runs", movable, prepare_one_hot}}; }

}  // namespace tandem::cpu
