#include "tandem/autodiff/control_flow.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor clipped(const Tensor& x) {
  return cond(greater(reduce_sum(x), Tensor(0.0)), [&]() -> Tensor { return x * x; }, [&]() -> Tensor { return -x; });
}

TEST(ControlFlow, CondRunsTheBranchThatItsPredicateChooses) {
  auto f = function([](Tensor x) { return clipped(x); });
  EXPECT_EQ(f(Tensor(3.0)).item<float>(), 9);
  EXPECT_EQ(f(Tensor(-3.0)).item<float>(), 3);
  EXPECT_EQ(f.tracing_count(), 1);
  EXPECT_EQ(clipped(Tensor(-3.0)).item<float>(), 3);
}

TEST(ControlFlow, CondHasTheGradientOfItsBranch) {
  const auto gradient = [](double at) {
    auto f = function([](Tensor x) {
      GradientTape tape;
      tape.watch(x);
      return tape.gradient(clipped(x), x);
    });
    auto g = function([](Tensor x) { return clipped(x); });
    const Tensor x(at);
    GradientTape tape;
    tape.watch(x);
    const float outside = tape.gradient(g(x), x).item<float>();
    EXPECT_EQ(f(x).item<float>(), outside);
    return outside;
  };
  EXPECT_EQ(gradient(3), 6);
  EXPECT_EQ(gradient(-3), -1);
}

TEST(ControlFlow, CondMayAssignVariablesInOneBranch) {
  const Variable v(Tensor(1.0));
  auto f = function([&](Tensor x) {
    return cond(
        greater(x, Tensor(0.0)),
        [&]() -> Tensor {
          v.assign_add(x);
          return v.value();
        },
        [&]() -> Tensor { return x; });
  });
  EXPECT_EQ(f(Tensor(-5.0)).item<float>(), -5);
  EXPECT_EQ(v.value().item<float>(), 1);
  EXPECT_EQ(f(Tensor(2.0)).item<float>(), 3);
  EXPECT_EQ(v.value().item<float>(), 3);
}

TEST(ControlFlow, BranchesOfDifferentShapesAreRefused) {
  auto f = function([](Tensor x) {
    return cond(
        greater(reduce_sum(x), Tensor(0.0)), [&]() -> Tensor { return x; }, [&]() -> Tensor { return reduce_sum(x); });
  });
  EXPECT_THROW(f(ones({2})), Error);
}

Tensors powers(const Tensor& x, const Tensor& limit) {
  return while_loop([&](const Tensors& v) { return less(v[0], limit); },
                    [&](const Tensors& v) -> Tensors { return {v[0] + 1, v[1] * x}; }, {Tensor(0), ones_like(x)});
}

TEST(ControlFlow, WhileRunsAsOftenAsItsConditionSays) {
  auto f = function([](Tensor x, Tensor limit) { return powers(x, limit)[1]; });
  EXPECT_EQ(f(Tensor(2.0), Tensor(10)).item<float>(), 1024);
  EXPECT_EQ(f(Tensor(2.0), Tensor(0)).item<float>(), 1);
  EXPECT_EQ(powers(Tensor(2.0), Tensor(10))[1].item<float>(), 1024);
  EXPECT_EQ(f.tracing_count(), 1);
}

TEST(ControlFlow, WhileHasAGradientForAnyNumberOfTurns) {
  auto f = function([](Tensor x, Tensor limit) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(powers(x, limit)[1], x);
  });
  EXPECT_EQ(f(Tensor(2.0), Tensor(5)).item<float>(), 80);   // 5 x^4
  EXPECT_EQ(f(Tensor(2.0), Tensor(1)).item<float>(), 1);
  EXPECT_EQ(f(Tensor(2.0), Tensor(0)).item<float>(), 0);
}

TEST(ControlFlow, AMaximumOfTurnsEndsALoop) {
  auto f = function([](Tensor x) {
    return while_loop([](const Tensors&) { return Tensor(true); },
                      [](const Tensors& v) -> Tensors { return {v[0] + 1.0}; }, {x}, {.maximum_iterations = 7})[0];
  });
  EXPECT_EQ(f(Tensor(0.0)).item<float>(), 7);
}

TEST(ControlFlow, ALoopThatChangesAShapeIsRefused) {
  auto f = function([](Tensor x) {
    return while_loop([](const Tensors& v) { return less(reduce_sum(v[0]), Tensor(9.0)); },
                      [](const Tensors& v) -> Tensors { return {concat({v[0], v[0]}, 0)}; }, {x})[0];
  });
  EXPECT_THROW(f(ones({2})), Error);
}

TEST(ControlFlow, ALoopMayAssignVariables) {
  const Variable total(Tensor(0.0)), step(Tensor(2.0));
  auto f = function([&](Tensor n) {
    const Tensor before = total.value() + 0.0;  // a reading outside stays what it was
    while_loop([&](const Tensors& v) { return less(v[0], n); },
               [&](const Tensors& v) -> Tensors {
                 total.assign_add(step.value() + before * 0.0);
                 return {v[0] + Tensor(1.0)};
               },
               {Tensor(0.0)});
    return Tensors{before, total.value()};
  });
  for (float begin : {0.f, 6.f}) {
    const Tensors results = f(Tensor(3.0));
    EXPECT_EQ(results[0].item<float>(), begin);
    EXPECT_EQ(results[1].item<float>(), begin + 6);
    EXPECT_EQ(total.value().item<float>(), begin + 6);
  }
}

TEST(ControlFlow, ALoopMayStopByAVariableItAssigns) {
  const Variable x(Tensor(1.0));
  auto f = function([&](Tensor limit) {
    return while_loop([&](const Tensors&) { return less(x.value(), limit); },
                      [&](const Tensors& v) -> Tensors {
                        x.assign(x.value() * 2.0);
                        return {v[0] + Tensor(1.0)};
                      },
                      {Tensor(0.0)})[0];
  });
  EXPECT_EQ(f(Tensor(100.0)).item<float>(), 7);
  EXPECT_EQ(x.value().item<float>(), 128);
}

TEST(ControlFlow, GradientsReachVariablesThroughALoop) {
  const Variable w(Tensor(3.0));
  auto f = function([&](Tensor n) {
    GradientTape tape;
    const Tensor y = while_loop([&](const Tensors& v) { return less(v[0], n); },
                                [&](const Tensors& v) -> Tensors { return {v[0] + Tensor(1.0), v[1] * w.value()}; },
                                {Tensor(0.0), Tensor(1.0)})[1];
    return tape.gradient(y, w.value());
  });
  EXPECT_EQ(f(Tensor(3.0)).item<float>(), 27);
}

TEST(ControlFlow, APredicateThatIsNoBoolIsRefused) {
  EXPECT_THROW(cond(Tensor(1.0), [] { return Tensor(1.0); }, [] { return Tensor(2.0); }), Error);
}

}  // namespace
}  // namespace tandem
