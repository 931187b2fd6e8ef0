// Tensors with reproducible values, for tests over the op samples.
#pragma once
#include <cmath>
#include <cstring>
#include <random>

#include "tandem/core/tensor.h"
#include "tandem/op/samples.h"

namespace tandem {

inline Tensor random_tensor(const SampleInput& input, std::mt19937& engine) {
  const TensorSpec& spec = input.spec;
  std::uniform_real_distribution<double> real(input.values.low, input.values.high);
  Tensor tensor = Tensor::uninitialized(spec, host_memory(), nullptr);
  visit_dtype(spec.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* out = static_cast<T*>(tensor.impl()->storage->address());
    for (std::int64_t i = 0; i < spec.shape().elements(); ++i) {
      double value = is_floating(spec.dtype()) ? real(engine) : std::floor(real(engine));
      if (input.diagonal != 0 && i / spec.shape()[-1] % spec.shape()[-2] == i % spec.shape()[-1]) value += input.diagonal;
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
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return static_cast<double>(static_cast<float>(value));
    else return static_cast<double>(value);
  });
}

}  // namespace tandem
