#include "tandem/autodiff/run_notes.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

TEST(RunNotes, OpsAreExplainedAsTheyRan) {
  const Tensor x = ones({8, 8});
  RunNotes notes;
  Tensor y;
  {
    const DeviceScope scope("/CPU:0");
    y = matmul(x, x);
  }
  const Tensor sum = reduce_sum(y);
  notes.stop();
  reduce_sum(x);  // no longer noted
  const Explanation e = explain(notes);
  ASSERT_EQ(e.ops.size(), 2u);
  EXPECT_EQ(e.ops[0].op, "matmul");
  EXPECT_EQ(e.ops[0].requested, "/CPU:0");
  EXPECT_EQ(e.ops[0].reason, ReasonCode::requested);
  EXPECT_EQ(e.ops[0].kernel, explain(y).kernel);
  EXPECT_EQ(e.ops[0].text, explain(y).text());
  EXPECT_EQ(e.ops[1].requested, "");
  EXPECT_EQ(e.ops[1].chosen, explain(sum).device);
  EXPECT_EQ(e.edges, (std::vector<std::pair<std::int32_t, std::int32_t>>{{0, 1}}));
  EXPECT_TRUE(e.op_by_op);
}

TEST(RunNotes, VariablesAndRandomNumbersAreAsBefore) {
  const Variable v(ones({2}));
  const auto before = random_state().position();
  {
    RunNotes notes;
    v.assign(random_normal({2}));
    v.assign_add(ones({2}));
    EXPECT_EQ(notes.graph().op_count(), 3u);
  }
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(random_state().position().calls, before.calls);
}

TEST(RunNotes, AnEarlierTensorAtTheSameAddressIsNotTakenForAnInput) {
  RunNotes notes;
  const Tensor x = ones({4});
  for (int i = 0; i < 3; ++i) exp(x);  // each result is gone before the next op
  const Tensor y = exp(x);
  log(y);
  notes.stop();
  const Explanation e = explain(notes);
  ASSERT_EQ(e.ops.size(), 6u);
  EXPECT_EQ(e.edges.back(), (std::pair<std::int32_t, std::int32_t>{4, 5}));
}

TEST(RunNotes, TracedFunctionsShowTheirOps) {
  const auto f = function([](Tensor x) { return matmul(matmul(x, x), x); });
  const Tensor x = ones({8, 8});
  RunNotes notes;
  const Tensor y = f(exp(x));
  log(y);
  notes.stop();
  const Explanation e = explain(notes);
  ASSERT_EQ(e.ops.size(), 4u);
  EXPECT_EQ(e.ops[1].op, "matmul");
  EXPECT_EQ(e.ops[3].op, "log");
  EXPECT_EQ(e.edges, (std::vector<std::pair<std::int32_t, std::int32_t>>{{0, 1}, {2, 3}, {1, 2}}));
  EXPECT_GE(e.ops[3].start_us, e.ops[2].finish_us * (1 - 1e-12));  // the same times, added up in another order
}

TEST(RunNotes, FunctionsThatRunEagerlyAreExplainedByARun) {
  int runs = 0;
  const auto f = function([&](Tensor x) { return ++runs, exp(x); });
  run_functions_eagerly(true);
  const Explanation e = explain(f, {ones({2})});
  run_functions_eagerly(false);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(e.op_by_op);
  EXPECT_FALSE(explain(f, {ones({2})}).op_by_op);
}

}  // namespace
}  // namespace tandem
