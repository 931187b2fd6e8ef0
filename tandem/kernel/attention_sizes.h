// The sizes of an attention and where its rows lie, for the kernels of every device.
#pragma once
#include <algorithm>
#include <array>

#include "tandem/kernel/kernel.h"

namespace tandem {

/// query [batch, targets, heads, size], key [batch, sources, heads, size], value [batch, sources, heads, depth], bias
/// broadcast to [batch, heads, targets, sources].
struct AttentionSizes {
  std::int64_t batch, targets, sources, heads, size, depth;
  double scale;
  bool causal;                          // target t sees sources 0 … t
  std::array<std::int64_t, 4> bias{};   // strides; 0 where it is broadcast
  bool biased;

  /// `first`: which input the query is.
  AttentionSizes(const KernelCall& call, int first)
      : batch(call.shape(first)[0]),
        targets(call.shape(first)[1]),
        sources(call.shape(first + 1)[1]),
        heads(call.shape(first)[2]),
        size(call.shape(first)[3]),
        depth(call.shape(first + 2)[3]),
        scale(call.attr().real("scale")),
        causal(call.attr().boolean("is_causal")),
        biased(call.shape(first + 3).elements() > 1) {
    const Strides dense = dense_strides(call.shape(first + 3));
    for (int i = 0; i < 4; ++i)
      bias[static_cast<std::size_t>(i)] = call.shape(first + 3)[i] == 1 ? 0 : dense[static_cast<std::size_t>(i)];
  }

  /// A row whose logarithm of the sum is below this sees nothing: every source is masked by a bias as low as the dtype
  /// allows, beside which scores vanish. Such a row averages the values it might see and moves no query or key.
  static double blind(DType dtype) { return dtype == DType::f16 ? -2e4 : -1e37; }
  /// Sources that target t might see.
  std::int64_t seen(std::int64_t t) const { return causal ? std::min(t + 1, sources) : sources; }

  std::int64_t query_at(std::int64_t b, std::int64_t t, std::int64_t n) const {
    return ((b * targets + t) * heads + n) * size;
  }
  std::int64_t key_at(std::int64_t b, std::int64_t k, std::int64_t n) const {
    return ((b * sources + k) * heads + n) * size;
  }
  std::int64_t value_at(std::int64_t b, std::int64_t k, std::int64_t n) const {
    return ((b * sources + k) * heads + n) * depth;
  }
  std::int64_t output_at(std::int64_t b, std::int64_t t, std::int64_t n) const {
    return ((b * targets + t) * heads + n) * depth;
  }
  std::int64_t row_at(std::int64_t b, std::int64_t n, std::int64_t t) const { return (b * heads + n) * targets + t; }
  std::int64_t bias_at(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t k) const {
    return b * bias[0] + n * bias[1] + t * bias[2] + k * bias[3];
  }

  /// Calls body(batch, head, target) in order.
  template <class F>
  void for_each_row(F body) const {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t n = 0; n < heads; ++n)
        for (std::int64_t t = 0; t < targets; ++t) body(b, n, t);
  }
};

}  // namespace tandem
