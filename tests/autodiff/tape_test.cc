#include "tandem/autodiff/tape.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor scalar(double value) { return Tensor::scalar(value, DType::f64); }

TEST(GradientTape, DifferentiatesWhatWasWatched) {
  const Tensor x = scalar(3), unwatched = scalar(2);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x * unwatched;
  const Tensors grads = tape.gradient(y, Tensors{x, unwatched});
  EXPECT_DOUBLE_EQ(grads[0].item<double>(), 12);
  EXPECT_FALSE(grads[1].defined());
}

TEST(GradientTape, WatchesTrainableVariablesByItself) {
  const Variable w(scalar(2)), fixed(scalar(5), false);
  GradientTape tape;
  const Tensor y = square(w) * fixed;
  const Tensors grads = tape.gradient(y, Tensors{w, fixed});
  EXPECT_DOUBLE_EQ(grads[0].item<double>(), 20);
  EXPECT_FALSE(grads[1].defined());
}

TEST(GradientTape, UnconnectedSourcesCanGiveZeros) {
  const Tensor x = scalar(1), other = Tensor::from({1.0, 2.0}, {2});
  GradientTape tape;
  tape.watch(x);
  tape.watch(other);
  const Tensor y = x * 2;
  const Tensors grads = tape.gradient(y, Tensors{x, other}, Unconnected::zero);
  EXPECT_EQ(grads[1].to_vector<double>(), (std::vector<double>{0, 0}));
}

TEST(GradientTape, GivesGradientsOnceUnlessPersistent) {
  const Tensor x = scalar(3);
  GradientTape once;
  once.watch(x);
  const Tensor y = x * x;
  once.gradient(y, x);
  try {
    once.gradient(y, x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::tape_used_up);
  }
  GradientTape often({.persistent = true});
  often.watch(x);
  const Tensor a = x * x, b = a * x;
  EXPECT_DOUBLE_EQ(often.gradient(a, x).item<double>(), 6);
  EXPECT_DOUBLE_EQ(often.gradient(b, x).item<double>(), 27);
  EXPECT_DOUBLE_EQ(often.gradient(b, a).item<double>(), 3);
}

TEST(GradientTape, NestsForHigherOrders) {
  const Tensor x = scalar(2);
  GradientTape outer;
  outer.watch(x);
  Tensor second;
  {
    GradientTape middle;
    middle.watch(x);
    Tensor first;
    {
      GradientTape inner;
      inner.watch(x);
      first = inner.gradient(x * x * x * x, x);  // 4 x^3
    }
    second = middle.gradient(first, x);  // 12 x^2
  }
  const Tensor third = outer.gradient(second, x);  // 24 x
  EXPECT_DOUBLE_EQ(second.item<double>(), 48);
  EXPECT_DOUBLE_EQ(third.item<double>(), 48);
}

TEST(GradientTape, StopGradientLetsNothingPass) {
  const Tensor x = scalar(3);
  GradientTape tape;
  tape.watch(x);
  EXPECT_DOUBLE_EQ(tape.gradient(x * stop_gradient(x), x).item<double>(), 3);
}

TEST(GradientTape, AValueUsedTwiceAddsItsGradients) {
  const Tensor x = scalar(3);
  GradientTape tape;
  tape.watch(x);
  EXPECT_DOUBLE_EQ(tape.gradient(x * x + x * 4 + x, x).item<double>(), 11);
}

TEST(GradientTape, ATargetThatIsNoScalarCountsAsItsSum) {
  const Tensor x = Tensor::from({1.0, 2.0, 3.0}, {3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  EXPECT_EQ(tape.gradient(y, x).to_vector<double>(), (std::vector<double>{2, 4, 6}));
  const Tensor weights = Tensor::from({1.0, 0.0, -1.0}, {3});
  EXPECT_EQ(tape.gradient(y, Tensors{x}, Unconnected::none, weights)[0].to_vector<double>(),
            (std::vector<double>{2, 0, -6}));
}

TEST(GradientTape, KeepsOnlyWhatGradientsRead) {
  const Variable x(ones({100, 100}));
  GradientTape tape;
  Tensor y = x;
  Tensor middle = y + 1.0;
  const Storage* bytes = middle.impl()->storage.get();
  const Tensor z = middle + 2.0;  // the gradient of add reads nothing
  EXPECT_EQ(bytes->use_count(), 1u);
  const Tensor s = square(middle);  // that of square reads its input
  EXPECT_EQ(middle.impl()->use_count(), 2u);
  EXPECT_EQ(tape.gradient(reduce_sum(z) + reduce_sum(s), x.value()).shape(), x.shape());
}

TEST(GradientTape, AnAssignedVariableStaysTheSameSource) {
  const Variable w(scalar(2));
  GradientTape tape;
  const Tensor a = square(w);
  w.assign(scalar(10));
  const Tensor b = square(w);
  EXPECT_DOUBLE_EQ(tape.gradient(a + b, w.value()).item<double>(), 24);
}

TEST(GradientTape, PausesAndGoesOn) {
  const Tensor x = scalar(3);
  GradientTape tape;
  tape.watch(x);
  Tensor y = x * x;
  tape.stop();
  const Tensor unseen = x * 100;
  tape.start();
  EXPECT_DOUBLE_EQ(tape.gradient(y + unseen, x).item<double>(), 6);
}

TEST(GradientTape, SaysWhichOpHasNoGradient) {
  const Variable x(ones({4}));
  GradientTape tape;
  const Tensor moved = apply(*find_op("apply_sgd"), {x.value(), ones({4}), Tensor::scalar(0.1, DType::f32)});
  try {
    tape.gradient(moved, x.value());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_gradient);
    EXPECT_NE(std::string(error.what()).find("apply_sgd"), std::string::npos);
  }
}

TEST(GradientTape, OneTensorGivenThriceCountsThriceInSecondGradientsToo) {
  const auto penalty = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return reduce_sum(square(tape.gradient(square(dot_product_attention(x, x, x)), x)));
  };
  const std::vector<double> values{0.3, -0.2, 0.9, 0.4, -0.7, 0.1};
  const Shape shape{1, 3, 1, 2};
  const Tensor x = Tensor::from(values, shape);
  GradientTape tape;
  tape.watch(x);
  const auto gradient = tape.gradient(penalty(x), x).to_vector<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = [&](double change) {
      auto moved = values;
      moved[i] += change;
      return penalty(Tensor::from(moved, shape)).item<double>();
    };
    EXPECT_NEAR(gradient[i], (at(1e-6) - at(-1e-6)) / 2e-6, 1e-7);
  }
}

/// Weighs the slices [from, to) of axis `axis` of x by 1, 2, 3, … and adds them up: what each element of x got.
std::vector<float> weights_of_slices(const Shape& shape, int axis,
                                     const std::vector<std::pair<std::int64_t, std::int64_t>>& parts) {
  const Tensor x = ones(shape);
  GradientTape tape;
  tape.watch(x);
  Tensor total = reduce_sum(x) * 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Ints begin(static_cast<std::size_t>(shape.rank()), 0), size(shape.begin(), shape.end());
    begin[static_cast<std::size_t>(axis)] = parts[i].first;
    size[static_cast<std::size_t>(axis)] = parts[i].second - parts[i].first;
    total = total + reduce_sum(slice(x, begin, size)) * static_cast<double>(i + 1);
  }
  return tape.gradient(total, x).to_vector<float>();
}

TEST(GradientTape, GradientsOfSlicesAddUpHoweverTheyLie) {
  EXPECT_EQ(weights_of_slices({4}, 0, {{0, 1}, {1, 3}, {3, 4}}), (std::vector<float>{1, 2, 2, 3}));   // side by side
  EXPECT_EQ(weights_of_slices({4}, 0, {{3, 4}, {1, 2}}), (std::vector<float>{0, 2, 0, 1}));           // with gaps
  EXPECT_EQ(weights_of_slices({4}, 0, {{0, 3}, {1, 4}, {1, 2}}), (std::vector<float>{1, 6, 3, 2}));  // one over another
  EXPECT_EQ(weights_of_slices({2, 2}, 1, {{1, 2}, {0, 1}}), (std::vector<float>{2, 1, 2, 1}));
  EXPECT_EQ(weights_of_slices({2, 2}, 0, {{0, 2}, {0, 1}}),
            (std::vector<float>{3, 3, 1, 1}));  // one of them is everything
}

TEST(GradientTape, SlicesOfAResultGoOnToWhatItWasMadeOf) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x, sum = slice(y, {0, 0}, {1, 2}) * 3 + slice(y, {1, 0}, {1, 2}) * slice(y, {0, 0}, {2, 1});
  EXPECT_EQ(tape.gradient(sum, y).to_vector<float>(), (std::vector<float>{31, 6, 35, 10}));
  EXPECT_EQ(tape.gradient(sum, x).to_vector<float>(), (std::vector<float>{62, 24, 210, 80}));
}

TEST(GradientTape, IntegersCannotBeWatched) {
  GradientTape tape;
  EXPECT_THROW(tape.watch(Tensor(3)), Error);
}

TEST(Variable, AReadingIsASnapshot) {
  const Variable v(Tensor::from({1.f, 2.f}, {2}));
  const Tensor before = v;
  v.assign_add(Tensor::from({10.f, 10.f}, {2}));
  EXPECT_EQ(before.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{11, 12}));
  v.assign_sub(before);
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{10, 10}));
}

TEST(Variable, RefusesAnotherShapeOrDtype) {
  const Variable v(zeros({2}));
  EXPECT_THROW(v.assign(zeros({3})), Error);
  EXPECT_THROW(v.assign(zeros({2}, DType::f64)), Error);
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{0, 0}));
}

}  // namespace
}  // namespace tandem
