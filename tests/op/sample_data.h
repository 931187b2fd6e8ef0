// Tensors with reproducible values, for tests over the op samples.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/op/samples.h"

namespace tandem {

/// Rows of positive numbers that add up to 1.
inline std::vector<double> random_shares(const SampleInput& input, std::mt19937& engine) {
  const std::int64_t classes = input.spec.shape()[-1];
  std::uniform_real_distribution<double> real(input.values.low, input.values.high);
  std::vector<double> values(static_cast<std::size_t>(input.spec.shape().elements()));
  for (double& value : values) value = real(engine);
  for (auto row = values.begin(); row != values.end(); row += classes) {
    const double sum = std::accumulate(row, row + classes, 0.0);
    std::for_each(row, row + classes, [&](double& value) { value /= sum; });
  }
  return values;
}

inline Tensor random_tensor(const SampleInput& input, std::mt19937& engine) {
  const TensorSpec& spec = input.spec;
  const std::vector<double> shares = input.shares ? random_shares(input, engine) : std::vector<double>();
  std::uniform_real_distribution<double> real(input.values.low, input.values.high);
  Tensor tensor = Tensor::uninitialized(spec, host_memory(), nullptr);
  visit_dtype(spec.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* out = static_cast<T*>(tensor.impl()->storage->address());
    for (std::int64_t i = 0; i < spec.shape().elements(); ++i) {
      double value = input.shares                ? shares[static_cast<std::size_t>(i)]
                     : is_floating(spec.dtype()) ? real(engine)
                                                 : std::floor(real(engine));
      if (input.diagonal != 0 && i / spec.shape()[-1] % spec.shape()[-2] == i % spec.shape()[-1])
        value += input.diagonal;
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) out[i] = T(static_cast<float>(value));
      else if constexpr (std::is_same_v<T, bool>) out[i] = value >= 1;
      else out[i] = static_cast<T>(value);
    }
  });
  return tensor;
}

inline Tensors random_inputs(const OpSample& sample, unsigned seed = 1) {
  std::mt19937 engine(seed);
  Tensors inputs;
  for (const SampleInput& input : sample.inputs) inputs.push_back(random_tensor(input, engine));
  return inputs;
}

/// Element i as a double, whatever the dtype.
inline double value_at(const Tensor& tensor, std::int64_t i) {
  return visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = static_cast<const T*>(tensor.raw_data())[i];
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      return static_cast<double>(static_cast<float>(value));
    else return static_cast<double>(value);
  });
}

}  // namespace tandem
