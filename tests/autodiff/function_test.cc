#include "tandem/autodiff/function.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor matrix(std::initializer_list<float> values, const Shape& shape) { return Tensor::from<float>(values, shape); }

TEST(Function, IsTracedOnceAndGivesWhatItsOpsGive) {
  int traced = 0;
  auto f = function([&](Tensor x, Tensor y) {
    ++traced;
    return matmul(x, y) + x * 2.0;
  });
  const Tensor a = matrix({1, 2, 3, 4}, {2, 2}), b = matrix({5, 6, 7, 8}, {2, 2});
  const auto expected = (matmul(a, b) + a * 2.0).to_vector<float>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(a, b).to_vector<float>(), expected);
  EXPECT_EQ(traced, 1);
  EXPECT_EQ(f.tracing_count(), 1);
}

TEST(Function, SaysWhyItWasTracedAgain) {
  auto f = function([](Tensor x) { return x + x; });
  f(ones({32, 100}));
  f(ones({16, 100}));
  f(ones({16, 100}, DType::f64));
  const auto retraces = f.retraces();
  ASSERT_EQ(retraces.size(), 3u);
  EXPECT_EQ(retraces[0].reason, "first call");
  EXPECT_EQ(retraces[1].reason, "input 0 shape [32, 100] -> [16, 100]");
  EXPECT_EQ(retraces[2].reason, "input 0 dtype float32 -> float64");
}

TEST(Function, ReadsVariablesAsTheyAreWhenItRuns) {
  Variable v(Tensor(2.0));
  auto f = function([&](Tensor x) { return x * v; });
  EXPECT_EQ(f(Tensor(3.0)).item<float>(), 6);
  v.assign(Tensor(5.0));
  EXPECT_EQ(f(Tensor(3.0)).item<float>(), 15);
}

TEST(Function, AssignsVariablesInTheOrderOfTheProgram) {
  Variable v(Tensor(1.0));
  auto f = function([&](Tensor x) {
    const Tensor before = v.value();
    v.assign_add(x);
    const Tensor after = v.value();
    v.assign(v.value() * 2.0);
    return Tensors{before, after, v.value()};
  });
  const Tensors results = f(Tensor(3.0));
  EXPECT_EQ(results[0].item<float>(), 1);
  EXPECT_EQ(results[1].item<float>(), 4);
  EXPECT_EQ(results[2].item<float>(), 8);
  EXPECT_EQ(v.value().item<float>(), 8);
}

TEST(Function, AValueReadBeforeARunKeepsItsBytes) {
  Variable v(ones({4}));
  auto f = function([&](Tensor x) {
    Sgd sgd({.learning_rate = 1});
    sgd.apply_gradients({v}, {x});
    return x;
  });
  const Tensor held = v.value();
  f(ones({4}));
  f(ones({4}));
  EXPECT_EQ(held.to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{-1, -1, -1, -1}));
}

TEST(Function, RandomOpsGiveFreshNumbersEachCallAndTheSameAsEager) {
  auto f = function([](Tensor x) { return x + random_normal({3}); });
  set_seed(7);
  const auto first = f(zeros({3})).to_vector<float>(), second = f(zeros({3})).to_vector<float>();
  EXPECT_NE(first, second);
  set_seed(7);
  EXPECT_EQ(random_normal({3}).to_vector<float>(), first);
  EXPECT_EQ(random_normal({3}).to_vector<float>(), second);
}

TEST(Function, ATapeInsideGivesTheGradient) {
  auto f = function([](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = reduce_sum(x * x * x);
    return tape.gradient(y, x);
  });
  EXPECT_EQ(f(matrix({1, 2}, {2})).to_vector<float>(), (std::vector<float>{3, 12}));
}

TEST(Function, ATapeOutsideDifferentiatesThroughIt) {
  Variable w(matrix({1, 2, 3, 4}, {2, 2}));
  auto f = function([&](Tensor x) { return reduce_sum(tanh(matmul(x, w))); });
  const Tensor x = matrix({0.1f, 0.2f, 0.3f, 0.4f}, {2, 2});
  auto gradients = [&](auto body) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = body();
    return tape.gradient(y, Tensors{x, w.value()});
  };
  const Tensors traced = gradients([&] { return f(x); });
  const Tensors eager = gradients([&] { return reduce_sum(tanh(matmul(x, w))); });
  EXPECT_EQ(traced[0].to_vector<float>(), eager[0].to_vector<float>());
  EXPECT_EQ(traced[1].to_vector<float>(), eager[1].to_vector<float>());
}

TEST(Function, GradientsOfGradientsPassThroughIt) {
  auto f = function([](Tensor x) { return x * x * x; });
  const Tensor x(2.0);
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    first = inner.gradient(f(x), x);
  }
  EXPECT_EQ(first.item<float>(), 12);
  EXPECT_EQ(outer.gradient(first, x).item<float>(), 12);
}

TEST(Function, MayReturnItsArgumentsConstantsAndViews) {
  const Tensor constant = matrix({7, 8}, {2});
  auto f =
      function([&](Tensor x) { return Tensors{x, constant, reshape(x, Shape{4}), reshape(x * 2.0, Shape{4}), x}; });
  const Tensor x = matrix({1, 2, 3, 4}, {2, 2});
  const Tensors results = f(x);
  EXPECT_EQ(results[0].to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(results[1].to_vector<float>(), constant.to_vector<float>());
  EXPECT_EQ(results[2].shape(), Shape({4}));
  EXPECT_EQ(results[3].to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(results[4].to_vector<float>(), x.to_vector<float>());
}

TEST(Function, ReadingATracedTensorIsAClearError) {
  auto f = function([](Tensor x) { return x.item<float>() > 0 ? x : -x; });
  try {
    f(Tensor(1.0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::symbolic_value);
  }
  EXPECT_EQ((Tensor(1.0) + Tensor(2.0)).item<float>(), 3);  // tracing has ended
}

TEST(Function, RecursionWithoutEndIsAClearError) {
  std::function<Tensor(Tensor)> body;
  auto f = function([&](Tensor x) { return body(x); });
  body = [&](Tensor x) { return f(x + 1.0); };
  try {
    f(Tensor(1.0));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cannot_trace);
  }
}

TEST(Function, ATensorThatEscapedItsTraceIsAClearError) {
  Tensor escaped;
  auto f = function([&](Tensor x) { return escaped = x + 1.0; });
  f(Tensor(1.0));
  EXPECT_THROW(escaped + escaped, Error);
  auto g = function([&](Tensor x) { return x + escaped; });
  EXPECT_THROW(g(Tensor(1.0)), Error);
}

TEST(Function, RunsOpByOpWhenAsked) {
  int calls = 0;
  auto f = function([&](Tensor x) {
    ++calls;
    return x + x;
  });
  run_functions_eagerly(true);
  f(Tensor(1.0));
  f(Tensor(1.0));
  run_functions_eagerly(false);
  EXPECT_EQ(calls, 2);
}

TEST(Function, AnInputSignatureRefusesWhatDoesNotFit) {
  auto f = function([](Tensor x) { return x + x; },
                    {.name = "twice", .input_signature = {{DType::f32, {InputSpec::kAny, 4}}}});
  EXPECT_NO_THROW(f(ones({3, 4})));
  EXPECT_THROW(f(ones({3, 5})), Error);
  EXPECT_THROW(f(ones({4})), Error);
}

TEST(Function, AFailedRunLeavesVariablesAsTheyWere) {
  Variable v(zeros({2}));
  const Tensor table = matrix({1, 2}, {2});
  auto f = function([&](Tensor i) {
    v.assign_add(ones({2}));
    return gather(table, i);
  });
  EXPECT_THROW(f(Tensor(9)), Error);
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(f(Tensor(1)).item<float>(), 2);
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace tandem
