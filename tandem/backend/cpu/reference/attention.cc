#include <cmath>

#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/kernel/attention_sizes.h"

namespace tandem::cpu {
namespace {

/// Scores of one row, as probabilities' logarithms without the sum.
template <class T>
class Scores {
 public:
  Scores(const AttentionSizes& s, const T* query, const T* key, const T* bias)
      : s_(s),
        query_(query),
        key_(key),
        bias_(bias) {}

  /// -infinity where the row may not look.
  double at(std::int64_t b, std::int64_t n, std::int64_t t, std::int64_t k) const {
    if (s_.causal && k > t) return -INFINITY;
    double sum = 0;
    for (std::int64_t i = 0; i < s_.size; ++i)
      sum += widen(query_[s_.query_at(b, t, n) + i]) * widen(key_[s_.key_at(b, k, n) + i]);
    return sum * s_.scale + widen(bias_[s_.bias_at(b, n, t, k)]);
  }

 private:
  AttentionSizes s_;
  const T *query_, *key_, *bias_;
};

template <class T>
Prepared prepare_forward(const KernelCall& call) {
  return prepared([s = AttentionSizes(call, 0)](const KernelArgs& args) {
    const Scores<T> scores(s, args.input<T>(0), args.input<T>(1), args.input<T>(3));
    std::vector<double> row(static_cast<std::size_t>(s.sources));
    s.for_each_row([&](std::int64_t b, std::int64_t n, std::int64_t t) {
      double largest = -INFINITY, sum = 0;
      for (std::int64_t k = 0; k < s.sources; ++k)
        largest = std::max(largest, row[static_cast<std::size_t>(k)] = scores.at(b, n, t, k));
      for (double& value : row) sum += value = std::exp(value - largest);
      for (std::int64_t i = 0; i < s.depth; ++i) {
        double total = 0;
        for (std::int64_t k = 0; k < s.sources; ++k)
          total += row[static_cast<std::size_t>(k)] * widen(args.input<T>(2)[s.value_at(b, k, n) + i]);
        args.output<T>(0)[s.output_at(b, t, n) + i] = narrow<T>(total / sum);
      }
      args.output<T>(1)[s.row_at(b, n, t)] = narrow<T>(std::log(sum) + largest);
    });
  });
}

template <class T>
Prepared prepare_gradient(const KernelCall& call) {
  return prepared([s = AttentionSizes(call, 1)](const KernelArgs& args) {
    const T *dy = args.input<T>(0), *query = args.input<T>(1), *key = args.input<T>(2), *value = args.input<T>(3);
    const Scores<T> scores(s, query, key, args.input<T>(4));
    const auto zeros = [](std::int64_t n) { return std::vector<double>(static_cast<std::size_t>(n)); };
    auto dq = zeros(s.batch * s.targets * s.heads * s.size), dk = zeros(s.batch * s.sources * s.heads * s.size);
    auto dv = zeros(s.batch * s.sources * s.heads * s.depth);
    s.for_each_row([&](std::int64_t b, std::int64_t n, std::int64_t t) {
      const std::int64_t q = s.query_at(b, t, n), o = s.output_at(b, t, n);
      double own = 0;
      for (std::int64_t i = 0; i < s.depth; ++i) own += widen(dy[o + i]) * widen(args.input<T>(5)[o + i]);
      for (std::int64_t k = 0; k < s.sources; ++k) {
        const double log_sum = widen(args.input<T>(6)[s.row_at(b, n, t)]);
        const bool blind = log_sum < AttentionSizes::blind(dtype_of<T>());
        const double share = !blind          ? std::exp(scores.at(b, n, t, k) - log_sum)
                             : k < s.seen(t) ? 1.0 / static_cast<double>(s.seen(t))
                                             : 0;
        const std::int64_t at = s.key_at(b, k, n), v = s.value_at(b, k, n);
        double product = 0;
        for (std::int64_t i = 0; i < s.depth; ++i) {
          product += widen(dy[o + i]) * widen(value[v + i]);
          dv[static_cast<std::size_t>(v + i)] += share * widen(dy[o + i]);
        }
        const double change = blind ? 0 : share * (product - own) * s.scale;
        for (std::int64_t i = 0; i < s.size; ++i) {
          dq[static_cast<std::size_t>(q + i)] += change * widen(key[at + i]);
          dk[static_cast<std::size_t>(at + i)] += change * widen(query[q + i]);
        }
      }
    });
    const auto store = [&](int output, const std::vector<double>& sums) {
      for (std::size_t i = 0; i < sums.size(); ++i) args.output<T>(output)[i] = narrow<T>(sums[i]);
    };
    store(0, dq), store(1, dk), store(2, dv);
  });
}

}  // namespace

Kernel reference_attention() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) {
              using T = typename decltype(tag)::type;
              return call.outputs.size() == 3 ? prepare_gradient<T>(call) : prepare_forward<T>(call);
            });
          }};
}

}  // namespace tandem::cpu
