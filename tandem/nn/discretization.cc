#include "tandem/nn/discretization.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/nn/layer_json.h"
#include "tandem/op/arrays.h"

namespace tandem {
namespace {

/// Numbers in rising order and how many each stands for.
struct Summary {
  std::vector<float> values, weights;
};

Summary summary_of(std::vector<float> values, double epsilon) {
  std::ranges::sort(values);
  const double step = std::max(static_cast<double>(values.size()) * epsilon, 1.0);
  Summary summary;
  for (auto at = static_cast<std::size_t>(step - 1); at < values.size(); at += static_cast<std::size_t>(step)) {
    summary.values.push_back(values[at]);
    summary.weights.push_back(static_cast<float>(step));
  }
  return summary;
}

/// The value at `x` of the line through the points; before the first and after the last it stays.
double between(double x, const std::vector<double>& places, const std::vector<double>& values) {
  const auto above = std::ranges::upper_bound(places, x);
  if (above == places.begin()) return values.front();
  if (above == places.end()) return values.back();
  const auto i = static_cast<std::size_t>(above - places.begin());
  return values[i - 1] + (values[i] - values[i - 1]) * (x - places[i - 1]) / (places[i] - places[i - 1]);
}

/// As few as `epsilon` allows.
Summary shortened(const Summary& summary, double epsilon) {
  if (static_cast<double>(summary.values.size()) * epsilon < 1) return summary;
  std::vector<double> sums(summary.weights.begin(), summary.weights.end()), shares;
  std::partial_sum(sums.begin(), sums.end(), sums.begin());
  for (const double sum : sums) shares.push_back(sum / sums.back());
  const std::vector<double> values(summary.values.begin(), summary.values.end());
  Summary out;
  double before = 0;
  const auto count =
      static_cast<std::int64_t>(std::ceil(1 / epsilon - 1e-12));  // as many as numpy.arange(0, 1, epsilon) has
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = epsilon + static_cast<double>(i) * epsilon, sum = between(share, shares, sums);
    out.values.push_back(static_cast<float>(between(share, shares, values)));
    out.weights.push_back(static_cast<float>(sum - before));
    before = sum;
  }
  return out;
}

Summary merged(const Summary& a, const Summary& b, double epsilon) {
  std::vector<std::pair<float, float>> pairs;
  for (const Summary* one : {&a, &b})
    for (std::size_t i = 0; i < one->values.size(); ++i) pairs.emplace_back(one->values[i], one->weights[i]);
  std::ranges::stable_sort(pairs, {}, &std::pair<float, float>::first);
  Summary all;
  for (const auto& [value, weight] : pairs) all.values.push_back(value), all.weights.push_back(weight);
  return shortened(all, epsilon);
}

}  // namespace

DiscretizationLayer::DiscretizationLayer(const LayerConfig& config) : Layer(config), output_(config, "int") {
  if (output_.has_weights())
    config.refuse("output_mode must be 'int', 'one_hot', 'multi_hot' or 'count', got 'tf_idf'");
  if (config.has("bin_boundaries")) boundaries_ = config.numbers("bin_boundaries").to_vector<float>();
  else if (!config.has("num_bins")) config.refuse("bin_boundaries or num_bins are needed");
}

void DiscretizationLayer::adapt(DatasetIterator pass) {
  if (!config().has("num_bins")) config().refuse("adapt needs num_bins; this layer was made with bin_boundaries");
  const double epsilon = config().real("epsilon", 0.01);
  const std::int64_t bins = config().integer("num_bins");
  if (bins < 1 || !(epsilon > 0 && epsilon < 1))
    config().refuse("num_bins must be positive and epsilon in (0, 1), got ", bins, " and ", epsilon);
  Summary summary;
  while (const std::optional<Value> batch = pass.next())
    summary = merged(summary_of(cast(batch->leaves().at(0).tensor, DType::f32).to_vector<float>(), epsilon), summary,
                     epsilon);
  if (summary.values.empty()) fail(ErrorCode::invalid_argument, "adapt: there is no data");
  summary = shortened(summary, 1.0 / static_cast<double>(bins));
  summary.values.pop_back();
  boundaries_ = std::move(summary.values);
  set_argument("bin_boundaries", Json(boundaries_).dump());
}

Tensor DiscretizationLayer::call(const Tensor& x, bool) {
  if (boundaries_.empty() && !config().has("bin_boundaries"))
    config().refuse("adapt() must be called first, or bin_boundaries given");
  const Tensor numbers = x.dtype() == DType::f32 ? x : cast(x, DType::f32);
  const Tensor edges = Tensor::from(boundaries_, {static_cast<std::int64_t>(boundaries_.size())});
  const Tensor places = reshape(searchsorted(edges, reshape(numbers, Ints{-1}), true), x.shape());
  return output_.encoded(places, static_cast<std::int64_t>(boundaries_.size()) + 1);
}

}  // namespace tandem
