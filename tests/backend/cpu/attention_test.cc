#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

double furthest(const Tensor& a, const Tensor& b) {
  return static_cast<double>(reduce_max(abs(cast(a, DType::f64) - b)).item<double>());
}

/// The result and the gradients by query, key and value; float64 is computed by the reference, all scores at once.
Tensors trained(const Tensors& inputs, DType dtype, bool causal) {
  DeviceScope host("/CPU:0");
  Tensors typed;
  for (const Tensor& input : inputs) typed.push_back(cast(input, dtype));
  GradientTape tape;
  for (const Tensor& input : typed) tape.watch(input);
  const Tensor y = dot_product_attention(typed[0], typed[1], typed[2], {.is_causal = causal});
  Tensors all = tape.gradient(reduce_sum(square(y)), typed);
  all.push_back(y);
  return all;
}

TEST(Attention, SeveralTilesOfRowsGiveWhatAllScoresAtOnceGive) {
  const Tensors inputs{random_normal({2, 200, 2, 16}), random_normal({2, 600, 2, 16}), random_normal({2, 600, 2, 16})};
  for (const bool causal : {false, true}) {
    const Tensors got = trained(inputs, DType::f32, causal), wanted = trained(inputs, DType::f64, causal);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LT(furthest(got[i], wanted[i]), 1e-4) << "part " << i << ", causal " << causal;
  }
}

}  // namespace
}  // namespace tandem
