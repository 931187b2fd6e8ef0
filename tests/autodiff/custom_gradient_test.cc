#include "tandem/autodiff/custom_gradient.h"

#include <gtest/gtest.h>

#include "tandem/autodiff/function.h"
#include "tandem/autodiff/tape.h"
#include "tandem/autodiff/variable.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

const Tensor kX = Tensor::from<float>({1, 2, 3}, {3});

TEST(Jacobian, HasARowForEachElementOfTheTarget) {
  GradientTape tape;
  tape.watch(kX);
  const Tensor y = reshape(concat({square(kX), reduce_sum(kX, {}, true)}, 0), Ints{2, 2});
  const Tensor j = tape.jacobian(y, {kX})[0];
  EXPECT_EQ(j.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(j.to_vector<float>(), (std::vector<float>{2, 0, 0, 0, 4, 0, 0, 0, 6, 1, 1, 1}));
  EXPECT_THROW(tape.gradient(y, kX), Error);  // it has been asked once
}

TEST(Jacobian, OfWhatIsNotConnectedIsUndefinedOrZero) {
  const Tensor other = Tensor::from<float>({5}, {1});
  GradientTape tape({.persistent = true});
  tape.watch(kX);
  const Tensor y = exp(kX);
  EXPECT_FALSE(tape.jacobian(y, {other})[0].defined());
  EXPECT_EQ(tape.jacobian(y, {other}, Unconnected::zero)[0].to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

TEST(Jacobian, OfABatchIsTakenRowByRow) {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = concat({square(x), reduce_prod(x, {1}, true)}, 1);
  const Tensor j = tape.batch_jacobian(y, x);
  EXPECT_EQ(j.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(j.to_vector<float>(), (std::vector<float>{2, 0, 0, 4, 2, 1, 6, 0, 0, 8, 4, 3}));
}

TEST(CustomGradient, ReplacesWhatTheTapeWouldFind) {
  GradientTape tape;
  tape.watch(kX);
  const Tensor y = custom_gradient({kX}, [](const Tensors& in) -> WithGradient {
    return {{in[0]}, [](const Tensors& dy, const Tensors&) { return Tensors{dy[0] * 7}; }};
  })[0];
  EXPECT_EQ(tape.gradient(reduce_sum(y * 2), kX).to_vector<float>(), (std::vector<float>{14, 14, 14}));
}

TEST(CustomGradient, OfTheWrongShapeIsAnError) {
  GradientTape tape;
  tape.watch(kX);
  const Tensor y = custom_gradient({kX}, [](const Tensors& in) -> WithGradient {
    return {{exp(in[0])}, [](const Tensors&, const Tensors&) { return Tensors{Tensor(1.0f)}; }};
  })[0];
  EXPECT_THROW(tape.gradient(y, kX), Error);
}

TEST(CustomGradient, CanBeDifferentiatedAgain) {
  GradientTape outer;
  outer.watch(kX);
  Tensor dx;
  {
    GradientTape inner;
    inner.watch(kX);
    const Tensor y = custom_gradient({kX}, [](const Tensors& in) -> WithGradient {
      return {{exp(in[0])}, [x = in[0]](const Tensors& dy, const Tensors&) { return Tensors{dy[0] * square(x)}; }};
    })[0];
    dx = inner.gradient(y, kX);
  }
  EXPECT_EQ(outer.gradient(dx, kX).to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(RecomputeGrad, GivesTheSameGradientsAlsoToVariables) {
  const Variable w(Tensor::from<float>({2, 3, 4}, {3}));
  int calls = 0;
  GradientTape tape;
  tape.watch(kX);
  const Tensor y = recompute_grad({kX}, [&](const Tensors& in) {
    ++calls;
    return Tensors{square(in[0]) * w.value()};
  })[0];
  const Tensors grads = tape.gradient(y, Tensors{kX, w.value()});
  EXPECT_EQ(grads[0].to_vector<float>(), (std::vector<float>{4, 12, 24}));
  EXPECT_EQ(grads[1].to_vector<float>(), (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(calls, 2);
}

/// exp with a gradient of its own, which refers to what the function computed on its way: dy * e * x.
Tensor odd_exp(const Tensor& x) {
  return custom_gradient({x}, [](const Tensors& in) -> WithGradient {
    const Tensor e = exp(in[0]);
    return {{e}, [e, x = in[0]](const Tensors& dy, const Tensors&) { return Tensors{dy[0] * e * x}; }};
  })[0];
}

TEST(CustomGradient, InATracedFunctionIsTheSame) {
  const auto f = function([](Tensor x) { return odd_exp(x) * 3; });
  for (const bool second : {false, true}) {
    Tensors found;
    for (const bool traced : {false, true}) {
      GradientTape outer, inner;
      outer.watch(kX), inner.watch(kX);
      const Tensor y = traced ? f(kX) : odd_exp(kX) * 3;
      const Tensor dx = inner.gradient(y, kX);
      found.push_back(second ? outer.gradient(dx, kX) : dx);
    }
    EXPECT_EQ(found[0].to_vector<float>(), found[1].to_vector<float>()) << (second ? "second" : "first");
  }
}

TEST(CustomGradient, LeavesNothingInThePlanOfATracedFunction) {
  const auto f = function([](Tensor x) { return odd_exp(x) * 3; });
  EXPECT_EQ(f.concrete({kX})->optimized().op_count(), 1u);  // exp and multiply as one loop
}

TEST(CustomGradient, ThatGivesTooFewGradientsIsAnError) {
  GradientTape tape;
  tape.watch(kX);
  const Tensor y = custom_gradient({kX, kX}, [](const Tensors& in) -> WithGradient {
    return {{in[0]}, [](const Tensors& dy, const Tensors&) { return dy; }};
  })[0];
  EXPECT_THROW(tape.gradient(y, kX), Error);
}

TEST(RecomputeGrad, InATracedFunctionGivesTheSameFirstAndSecondGradients) {
  const Variable w(Tensor::from<float>({2, 3, 4}, {3}));
  const auto body = [w](const Tensors& in) { return Tensors{sin(in[0]) * exp(in[0]) * square(w.value())}; };
  const auto plain = function([body](Tensor x) { return body({x})[0] * 2; });
  const auto again = function([body](Tensor x) { return recompute_grad({x}, body)[0] * 2; });
  std::vector<Tensors> firsts, seconds;
  for (const auto& f : {std::function<Tensor(Tensor)>(plain), std::function<Tensor(Tensor)>(again)}) {
    GradientTape outer, inner;
    outer.watch(kX), inner.watch(kX);
    firsts.push_back(inner.gradient(f(kX), Tensors{kX, w.value()}));
    seconds.push_back(outer.gradient(firsts.back()[0], Tensors{kX, w.value()}));
  }
  for (const auto* both : {&firsts, &seconds})
    for (std::size_t i = 0; i < 2; ++i) {
      const auto expected = (*both)[0][i].to_vector<float>(), got = (*both)[1][i].to_vector<float>();
      for (std::size_t k = 0; k < expected.size(); ++k)
        EXPECT_NEAR(got[k], expected[k], 1e-5 * std::abs(expected[k])) << i;
    }
}

TEST(RecomputeGrad, KeepsNothingOfItsInside) {
  const Tensor x = zeros({64, 1024});
  Tensor inside;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = recompute_grad({x}, [&](const Tensors& in) {
    inside = sin(in[0]);
    return Tensors{cos(inside)};
  })[0];
  EXPECT_EQ(inside.impl()->use_count(), 1);  // the tape has no hold of it
}

TEST(Tape, NamesTheVariablesItHasWatched) {
  const Variable a(Tensor(1.0f), true, "a"), b(Tensor(2.0f), false, "b");
  GradientTape tape;
  const Tensor y = a.value() * b.value() * a.value();
  ASSERT_EQ(tape.watched_variables().size(), 1u);
  tape.gradient(y, a.value());
  EXPECT_EQ(tape.watched_variables(), std::vector<std::uint64_t>{a.id()});  // also afterwards
  GradientTape blind({.watch_accessed_variables = false});
  a.value() * 2;
  EXPECT_TRUE(blind.watched_variables().empty());
}

}  // namespace
}  // namespace tandem
