// Placement locks as files, and what counts as drift.
#include "tandem/place/lock.h"

#include <gtest/gtest.h>

#include "tandem/base/error.h"

namespace tandem {
namespace {

LockedFunction step() {
  return {.name = "step",
          .graph = "00ff",
          .predicted_us = 100,
          .ops = {{2, "matmul", "float32", "[8, 8]", "/GPU:0"}, {4, "add", "float32", "[8, 8]", "/CPU:0"}}};
}

std::string complaint(const std::string& json) {
  try {
    parse_lock(json, "lock.json");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    return error.what();
  }
}

TEST(Lock, IsReadAsItWasWritten) {
  PlacementLock lock{.threshold = 0.5, .functions = {step()}};
  lock.functions[0].scopes = false;
  EXPECT_EQ(parse_lock(to_json(lock), "lock.json"), lock);
}

TEST(Lock, ThePlanThatWasLockedIsNoDrift) { EXPECT_TRUE(drift({.functions = {step()}}, step()).empty()); }

TEST(Lock, AnOpThatMovesIsDrift) {
  LockedFunction now = step();
  now.ops[0].device = "/CPU:0";
  const auto found = drift({.functions = {step()}}, now);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "step: %2 matmul (float32 [8, 8]) is locked to /GPU:0; now /CPU:0 would be chosen");
}

TEST(Lock, ATimeBeyondTheThresholdIsDrift) {
  LockedFunction now = step();
  now.predicted_us = 115;
  EXPECT_TRUE(drift({.functions = {step()}}, now).empty());
  now.predicted_us = 125;
  EXPECT_EQ(
      drift({.functions = {step()}}, now),
      std::vector<std::string>{"step: a step is predicted to take 125 us, locked were 100 us: 25 %, more than 20 %"});
}

TEST(Lock, AnotherGraphOfTheSameNameIsDriftAndSoIsAnUnknownFunction) {
  LockedFunction now = step();
  now.graph = "1234";
  EXPECT_NE(drift({.functions = {step()}}, now)[0].find("its graph is another"), std::string::npos);
  now.name = "other";
  EXPECT_EQ(drift({.functions = {step()}}, now)[0], "other: is not in the lock");
}

TEST(Lock, PutReplacesTheFunctionOfThatName) {
  PlacementLock lock{.functions = {step()}};
  LockedFunction now = step();
  now.graph = "1234";
  lock.put(now);
  ASSERT_EQ(lock.functions.size(), 1u);
  EXPECT_NE(lock.find("1234"), nullptr);
}

TEST(Lock, ABadFileIsRefusedWithThePlace) {
  const std::string good = to_json({.functions = {step()}});
  const auto replaced = [&](const std::string& before, const std::string& after) {
    std::string json = good;
    json.replace(json.find(before), before.size(), after);
    return complaint(json);
  };
  EXPECT_NE(complaint("{\n \"version\": 1,").find("lock.json:2:"), std::string::npos)
      << complaint("{\n \"version\": 1,");
  EXPECT_NE(replaced("\"version\": 1", "\"version\": 2").find("format 2 is newer"), std::string::npos);
  EXPECT_NE(replaced("/GPU:0", "the moon").find("functions[0].ops[0].device"), std::string::npos)
      << replaced("/GPU:0", "the moon");
  EXPECT_NE(replaced("\"predicted_us\": 100.0", "\"predicted_us\": -1").find("at least 0"), std::string::npos);
  EXPECT_NE(replaced("\"predicted_us\": 100.0", "\"predicted_us\": 1e999").find("lock.json:"), std::string::npos);
  EXPECT_NE(replaced("\"node\": 4", "\"node\": 2").find("node 2 after node 2"), std::string::npos);
  EXPECT_NE(replaced("\"ops\"", "\"deeds\"").find("\"ops\" is missing"), std::string::npos);
  EXPECT_NE(complaint(R"({"version": 1, "functions": 3})").find("needs an array"), std::string::npos);
  PlacementLock twice{.functions = {step(), step()}};
  EXPECT_NE(complaint(to_json(twice)).find("locked twice"), std::string::npos);
}

TEST(Lock, AMisspeltKeyIsNamedWithTheNearestThatIsKnown) {
  EXPECT_EQ(complaint("{\"version\": 1,\n\"treshold\": 0.5, \"functions\": []}"),
            "E0502 lock.json:2: treshold: nothing is known of the key \"treshold\"; did you mean 'threshold'?");
  const auto of_op = [](const std::string& key) {
    return complaint(text(R"({"version": 1, "functions": [{"name": "f", "graph": "1", "predicted_us": 1, "ops": [
      {"node": 1, "op": "add", "dtype": "float32", "shape": "[2]", ")",
                          key, R"(": "/CPU:0"}]}]})"));
  };
  EXPECT_EQ(
      of_op("devise"),
      "E0502 lock.json:2: functions[0].ops[0].devise: nothing is known of the key \"devise\"; did you mean 'device'?");
  EXPECT_EQ(of_op("device"), "");
}

TEST(Lock, MoreFunctionsThanTheLimitEndTheReading) {
  std::string json = "{\"version\": 1, \"functions\": [0";
  for (int i = 0; i < 100'000; ++i) json += ",\n0";
  EXPECT_EQ(complaint(json + "]}"),
            "E0502 lock.json:10001: \"functions\" has more than 10000 elements, the most that are read");
}

TEST(Lock, MoreOpsThanTheLimitAreRefused) {
  PlacementLock huge{.functions = {step()}};
  huge.functions[0].ops.resize(kMostPlaceNodes + 1);
  for (std::size_t i = 0; i < huge.functions[0].ops.size(); ++i)
    huge.functions[0].ops[i] = {static_cast<std::int32_t>(i), "add", "float32", "[]", "/CPU:0"};
  EXPECT_NE(complaint(to_json(huge)).find("200001 ops; at most 200000"), std::string::npos);
}

}  // namespace
}  // namespace tandem
