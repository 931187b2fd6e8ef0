#include "tandem/nn/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/tandem.h"

namespace tandem {
namespace {

double deviation(const Tensor& x) { return reduce_std(x).item<double>(); }
double largest(const Tensor& x) { return reduce_max(abs(x)).item<double>(); }

TEST(Initializers, VariancesAreKeras) {
  set_seed(4);
  const Shape shape{200, 300};
  EXPECT_NEAR(largest(read_initializer("\"glorot_uniform\"")(shape)), std::sqrt(6.0 / 500), 1e-4);
  EXPECT_NEAR(deviation(read_initializer("\"he_normal\"")(shape)), std::sqrt(2.0 / 200), 1e-3);
  EXPECT_NEAR(deviation(read_initializer("\"LecunNormal\"")(shape)), std::sqrt(1.0 / 200), 1e-3);
  EXPECT_NEAR(largest(read_initializer("\"he_uniform\"")(Shape{3, 3, 16, 32})), std::sqrt(6.0 / (9 * 16)), 1e-3);
  const Tensor cut =
      read_initializer(R"({"class_name": "TruncatedNormal", "config": {"mean": 1, "stddev": 0.5}})")(shape);
  EXPECT_NEAR(reduce_mean(cut).item<double>(), 1, 1e-2);
  EXPECT_LE(largest(cut - 1.0), 1 + 1e-5);
}

TEST(Initializers, OrthogonalRowsAndColumns) {
  const Tensor tall = orthogonal({8, 3}), wide = orthogonal({3, 8}, 2);
  EXPECT_NEAR(largest(matmul(tall, tall, true) - one_hot(range(0, 3), 3)), 0, 1e-5);
  EXPECT_NEAR(largest(matmul(wide, wide, false, true) - one_hot(range(0, 3), 3) * 4.0), 0, 1e-5);
}

TEST(Initializers, LayersTakeThemFromTheirArguments) {
  const LayerPtr layer = make_layer(LayerConfig::from_json(
      "Dense", R"({"units": 2, "bias_initializer": {"class_name": "Constant", "config": {"value": 7}}})"));
  layer->build({1, 3});
  EXPECT_EQ(layer->variables()[1].value().to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_THROW(read_initializer("\"glorot\""), Error);
  EXPECT_THROW(read_initializer("3"), Error);
}

}  // namespace
}  // namespace tandem
