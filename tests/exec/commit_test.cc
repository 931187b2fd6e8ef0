// What variables hold after a plan has run, and what others see of them.
#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

using Floats = std::vector<float>;

/// v - x, in place where that is possible.
void descend(const Variable& v, const Tensor& x) { Sgd({.learning_rate = 1}).apply_gradients({v}, {x}); }

TEST(Commit, AResultMayBeTheOldValueOfAVariableThatIsUpdatedInPlace) {
  for (const std::int64_t size : {4, 400}) {
    const Variable v(ones({size}));
    auto f = function([&](Tensor x) {
      const Tensor before = v.value();
      descend(v, x);
      return before;
    });
    const auto expected = [&](float value) { return Floats(static_cast<std::size_t>(size), value); };
    EXPECT_EQ(f(ones({size})).to_vector<float>(), expected(1));
    EXPECT_EQ(f(ones({size})).to_vector<float>(), expected(0));
    EXPECT_EQ(v.value().to_vector<float>(), expected(-1));
  }
}

TEST(Commit, AnotherVariableMayTakeTheOldValueOfOneThatIsUpdatedInPlace) {
  for (const std::int64_t size : {4, 400}) {
    const Variable v(ones({size})), last(zeros({size}));
    auto f = function([&](Tensor x) {
      last.assign(v.value());
      descend(v, x);
      return x;
    });
    const auto expected = [&](float value) { return Floats(static_cast<std::size_t>(size), value); };
    for (float step = 0; step < 3; ++step) {
      f(ones({size}));
      EXPECT_EQ(last.value().to_vector<float>(), expected(1 - step));
      EXPECT_EQ(v.value().to_vector<float>(), expected(-step));
    }
  }
}

TEST(Commit, AResultAndTwoVariablesMayBeTheSameNewValue) {
  for (const std::int64_t size : {4, 400}) {
    const Variable v(ones({size})), same(zeros({size}));
    auto f = function([&](Tensor x) {
      descend(v, x);
      same.assign(v.value());
      return v.value();
    });
    Tensors results;
    for (float step = 0; step < 3; ++step) results.push_back(f(ones({size})));
    const auto expected = [&](float value) { return Floats(static_cast<std::size_t>(size), value); };
    for (std::size_t step = 0; step < results.size(); ++step)
      EXPECT_EQ(results[step].to_vector<float>(), expected(-static_cast<float>(step)));
    EXPECT_EQ(v.value().to_vector<float>(), expected(-2));
    EXPECT_EQ(same.value().to_vector<float>(), expected(-2));
    descend(same, ones({size}));
    EXPECT_EQ(v.value().to_vector<float>(), expected(-2)) << "variables share no bytes that one of them changes";
  }
}

TEST(Commit, ACounterThatSomebodyHoldsKeepsItsValueForThem) {
  const Variable count(Tensor::scalar(std::int64_t{0}, DType::i64)), twice(Tensor::scalar(std::int64_t{0}, DType::i64));
  auto f = function([&](Tensor x) {
    count.assign_add(x);
    twice.assign(count.value() + count.value());
    return x;
  });
  const Tensor one = Tensor::scalar(std::int64_t{1}, DType::i64);
  Tensors seen;
  for (std::int64_t i = 1; i <= 3; ++i) {
    f(one);
    seen.push_back(count.value());
    EXPECT_EQ(twice.value().item<std::int64_t>(), 2 * i);
  }
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(seen[i].item<std::int64_t>(), static_cast<std::int64_t>(i) + 1);
}

TEST(Commit, TwoVariablesMaySwapTheirValues) {
  const Variable a(Tensor(1.0)), b(Tensor(2.0)), large_a(ones({100})), large_b(zeros({100}));
  auto f = function([&](Tensor x) {
    for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&large_a, &large_b)}) {
      const Tensor value = one->value();
      one->assign(other->value() * x);
      other->assign(value * x);
    }
    return x;
  });
  f(Tensor(1.0));
  EXPECT_EQ(a.value().item<float>(), 2);
  EXPECT_EQ(b.value().item<float>(), 1);
  f(Tensor(1.0));
  EXPECT_EQ(a.value().item<float>(), 1);
  EXPECT_EQ(b.value().item<float>(), 2);
  EXPECT_EQ(large_a.value().to_vector<float>(), Floats(100, 1));
  EXPECT_EQ(large_b.value().to_vector<float>(), Floats(100, 0));
}

TEST(Commit, AVariableKeepsItsTensorFromRunToRun) {
  const DeviceScope scope("/CPU:0");  // a variable that moves between devices gets other tensors
  const Variable weights(ones({400})), count(Tensor(0.0));
  auto f = function([&](Tensor x) {
    descend(weights, x);
    count.assign_add(Tensor(1.0));
    return x;
  });
  f(ones({400}));
  const TensorImpl *const kept = weights.cell()->value.impl(), *const counter = count.cell()->value.impl();
  for (int i = 0; i < 3; ++i) f(ones({400}));
  EXPECT_EQ(weights.cell()->value.impl(), kept);
  EXPECT_EQ(count.cell()->value.impl(), counter);
  EXPECT_EQ(weights.value().to_vector<float>(), Floats(400, -3));
  EXPECT_EQ(count.value().item<float>(), 4);
  EXPECT_EQ(explain(weights.value()).op, "apply_sgd");
}

}  // namespace
}  // namespace tandem
