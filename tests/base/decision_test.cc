#include "tandem/base/decision.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tandem {
namespace {

Decision example() {
  return {.op = "matmul",
          .signature = "float64, float64",
          .requested = "/GPU:0",
          .device = "/CPU:0",
          .kernel = "openblas",
          .reason = ReasonCode::device_missing,
          .candidates = {{"/CPU:0", "onednn", false, "for f32 only"}, {"/CPU:0", "openblas", true, ""}}};
}

TEST(Decision, EqualDecisionsAreInternedOnce) {
  const Decision* first = intern(example());
  EXPECT_EQ(first, intern(example()));
  Decision other = example();
  other.candidates[0].refusal = "another reason";
  EXPECT_NE(first, intern(other));
}

TEST(Decision, TheTextNamesOpDeviceKernelReasonAndRefusals) {
  EXPECT_EQ(example().text(),
            "matmul(float64, float64) on /CPU:0 by kernel openblas: /GPU:0 was requested but does not exist here; "
            "onednn refused: for f32 only");
}

TEST(Decision, TheJsonQuotesWhatNeedsIt) {
  Decision d = example();
  d.candidates[0].refusal = "says \"no\"";
  EXPECT_NE(d.to_json().find(R"("refusal": "says \"no\"")"), std::string::npos);
}

TEST(DecisionThreads, InterningFromSeveralThreadsGivesOnePointer) {
  std::vector<const Decision*> seen(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < seen.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) seen[t] = intern(example());
    });
  for (auto& thread : threads) thread.join();
  for (const Decision* decision : seen) EXPECT_EQ(decision, seen[0]);
}

}  // namespace
}  // namespace tandem
