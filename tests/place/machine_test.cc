// Machine files, the cost model and the history.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

#include "tandem/base/error.h"
#include "tandem/place/cost.h"

namespace tandem {
namespace {

const std::string kMachines = std::string(TANDEM_SOURCE_DIR) + "/machines";

std::string complaint(const std::string& json) {
  try {
    parse_machine(json, "m.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    return error.what();
  }
  return "none";
}

TEST(Machine, EveryShippedFileIsReadAndNamesItsSources) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(kMachines)) {
    const Machine machine = read_machine(file.path().string());
    EXPECT_FALSE(machine.sources.empty()) << file.path();
    for (const MachineDevice& device : machine.devices) {
      EXPECT_TRUE(device.peak_gflops.contains(DType::f32) && device.peak_gflops.contains(DType::f64))
          << file.path() << device.name;
      EXPECT_TRUE(device.gb_per_s > 0 && device.launch_us > 0 && device.step_us > 0 && device.memory != kUnlimited)
          << file.path() << device.name;
    }
    ++count;
  }
  EXPECT_GE(count, 5);
}

TEST(Machine, WhatIsWrittenIsReadBackTheSame) {
  Machine machine = read_machine(kMachines + "/a100.json");
  machine.devices[0].cores = {0, 1, 2};
  machine.devices[0].cache = {.bytes = 1 << 25, .gb_per_s = 200};
  machine.links[0].cache = {.bytes = 1 << 22, .gb_per_s = 50};
  machine.measured.add({"matmul", DType::f32, 20, "/GPU:0"}, 10, 13);
  EXPECT_EQ(parse_machine(to_json(machine), "again"), machine);
}

TEST(Machine, AMistakeInAFileIsNamedWithItsLineAndPlace) {
  const std::string start = "{\n\"devices\": [\n{\"name\": \"/CPU:0\"},\n";
  EXPECT_EQ(complaint(start + "{\"name\": \"/GPU:0\", \"memory\": -1}]}"),
            "E0502 m.json:4: devices[1].memory: needs a whole number of at least 0, got -1");
  EXPECT_EQ(complaint(start + "{\"name\": \"/CPU:0\"}]}"), "E0502 m.json:4: devices[1]: there are two devices /CPU:0");
  EXPECT_EQ(complaint(start + "{\"name\": 7}]}"), "E0502 m.json:4: devices[1].name: needs a string, got 7");
  EXPECT_EQ(complaint(start + "{}]}"), "E0502 m.json:4: devices[1]: \"name\" is missing");
  EXPECT_EQ(complaint("{\"devices\": [{\"name\": \"/CPU:0\", \"peak_gflops\": {\"float33\": 1}}]}"),
            "E0502 m.json:1: devices[0].peak_gflops.float33: \"float33\" is no dtype; dtypes are named as in float32");
  EXPECT_EQ(complaint("{\"devices\": [{\"name\": \"/CPU:0\"}],\n\n\"links\": [{\"from\": \"/CPU:0\", \"to\": "
                      "\"/TPU:0\", \"gb_per_s\": 1}]}"),
            "E0502 m.json:3: links[0].to: there is no device /TPU:0; the machine has /CPU:0");
  EXPECT_EQ(complaint(start + "{\"name\": \"/GPU:0\", \"cache\": {\"bytes\": 0, \"gb_per_s\": 1}}]}"),
            "E0502 m.json:4: devices[1].cache.bytes: needs a whole number of at least 1, got 0");
  EXPECT_EQ(complaint("{}"), "E0502 m.json:1: the file: \"devices\" is missing");
  EXPECT_EQ(complaint("[]"), "E0502 m.json:1: the file: needs an object, got array");
}

TEST(Machine, AMisspeltKeyIsNamedWithTheNearestThatIsKnown) {
  const auto of_device = [](const std::string& key) {
    return complaint("{\n\"devices\": [{\"name\": \"/CPU:0\",\n\"" + key + "\": 1}]}");
  };
  EXPECT_EQ(of_device("memry"),
            "E0502 m.json:3: devices[0].memry: nothing is known of the key \"memry\"; did you mean 'memory'?");
  EXPECT_EQ(complaint("{\"devices\": [{\"name\": \"/CPU:0\"}], \"link\": []}"),
            "E0502 m.json:1: link: nothing is known of the key \"link\"; did you mean 'links'?");
}

TEST(Machine, KeysOfPeoplesOwnAreNoMisspeltOnes) {
  const Machine machine = parse_machine(
      R"({"comment": "mine", "devices": [{"name": "/CPU:0", "bought": 2024, "names": ["old"]}]})", "m.json");
  EXPECT_EQ(machine.devices.size(), 1u);
}

TEST(Machine, ANameThatMessagesCannotRepeatIsRefused) {
  EXPECT_EQ(complaint(R"({"devices": [{"name": ""}]})"),
            "E0502 m.json:1: devices[0].name: a device needs a name such as /GPU:0");
  EXPECT_EQ(complaint(R"({"devices": [{"name": "/CPU:0\u001b[31m"}]})"),
            "E0502 m.json:1: devices[0].name: a name has no control characters");
  EXPECT_EQ(complaint(R"({"devices": [{"name": ")" + std::string(1'000'000, 'x') + "\"}]}"),
            "E0502 m.json:1: devices[0].name: a name of 1000000 letters; at most 1000");
}

TEST(Machine, MoreDevicesLinksOrOpsThanThereCanBeEndTheReading) {
  const auto many = [](const std::string& before, const std::string& element, std::size_t count) {
    std::string json = before;
    for (std::size_t i = 0; i < count; ++i) json += (i ? ",\n" : "") + element;
    return complaint(json + "]}");
  };
  const std::string devices = R"({"devices": [{"name": "/CPU:0"}],)";
  EXPECT_EQ(many("{\"devices\": [", R"({"name": "/GPU:0"})", 100'000),
            "E0502 m.json:65: \"devices\" has more than 64 elements, the most that are read");
  EXPECT_EQ(many(devices + "\"links\": [", "{}", 100'000),
            "E0502 m.json:4097: \"links\" has more than 4096 elements, the most that are read");
  EXPECT_EQ(many(devices + "\"measured\": [", "{}", 1'000'001),
            "E0502 m.json:1000001: \"measured\" has more than 1000000 elements, the most that are read");
}

TEST(Machine, WhatIsNoJsonIsNamedWithItsLine) {
  for (const char* text :
       {"", "{", "{\"devices\": [\n NaN]}", "{\"devices\": 1e999}", "\xff\xfe", "{\"a\": 1, \"a\": 2}"})
    EXPECT_TRUE(complaint(text).starts_with("E0502 m.json:")) << text << complaint(text);
  EXPECT_NE(complaint(std::string(100'000, '[')).find("nested more than 32 deep"), std::string::npos);
  EXPECT_NE(complaint("{\"a\": 1,\n \"a\": 2}").find("m.json:2: the key \"a\" appears twice"), std::string::npos);
}

TEST(Machine, AFileThatIsNotThereIsAFileError) {
  try {
    read_machine("/no/such/machine.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::file_error);
  }
}

TEST(Machine, DevicesAreFoundByEverySpelling) {
  const Machine machine = read_machine(kMachines + "/rtx3080.json");
  EXPECT_EQ(machine.find("/GPU:0"), 1);
  EXPECT_EQ(machine.find("gpu:0"), 1);
  EXPECT_EQ(machine.find("/job:localhost/replica:0/task:0/device:GPU:0"), 1);
  EXPECT_EQ(machine.find("/GPU:1"), std::nullopt);
  EXPECT_EQ(machine.find("nonsense"), std::nullopt);
}

const MachineDevice kDevice{.name = "/GPU:0",
                            .peak_gflops = {{DType::f32, 1000}, {DType::f64, 10}},
                            .gb_per_s = 100,
                            .launch_us = 5,
                            .step_us = 2};

TEST(CostModel, ACostIsTheLaunchAndTheLargestOfComputingMovingAndWaiting) {
  const CostParts flops = predict({.flops = 1e9, .bytes = 1e6}, kDevice);
  EXPECT_EQ(flops.bound, CostParts::Bound::flops);
  EXPECT_DOUBLE_EQ(flops.total(), 5 + 1000);
  const CostParts bytes = predict({.flops = 1e6, .bytes = 1e9}, kDevice);
  EXPECT_EQ(bytes.bound, CostParts::Bound::bytes);
  EXPECT_DOUBLE_EQ(bytes.total(), 5 + 10'000);
  const CostParts depth = predict({.flops = 1e3, .bytes = 1e3, .depth = 1000}, kDevice);
  EXPECT_EQ(depth.bound, CostParts::Bound::depth);
  EXPECT_DOUBLE_EQ(depth.total(), 5 + 2000);
  EXPECT_DOUBLE_EQ(predict({}, kDevice).total(), 5);
}

TEST(CostModel, WhatFitsACacheMovesFasterThanTheRest) {
  MachineDevice device = kDevice;
  device.cache = {.bytes = 10'000'000, .gb_per_s = 500};
  EXPECT_DOUBLE_EQ(predict({.bytes = 1e6}, device).compute, 2);
  EXPECT_DOUBLE_EQ(predict({.bytes = 1e7}, device).compute, 20);
  EXPECT_DOUBLE_EQ(predict({.bytes = 5e7}, device).compute, 20 + 400);
  const MachineLink link{"/CPU:0", "/GPU:0", 10, 20, {.bytes = 1'000'000, .gb_per_s = 100}};
  EXPECT_DOUBLE_EQ(link.microseconds(1'000'000), 10 + 10);
  EXPECT_DOUBLE_EQ(link.microseconds(3'000'000), 10 + 10 + 100);
}

TEST(CostModel, ADtypeHasItsOwnRateAndAMissingOneThatOfFloat32) {
  EXPECT_DOUBLE_EQ(predict({.dtype = DType::f64, .flops = 1e7}, kDevice).compute, 1000);
  EXPECT_DOUBLE_EQ(predict({.dtype = DType::i32, .flops = 1e9}, kDevice).compute, 1000);
}

TEST(CostModel, TheHistoryCountsMoreWithEverySample) {
  const OpWork work{.op = "matmul", .flops = 1e9, .bytes = 1e6};
  const HistoryKey key{"matmul", DType::f32, size_bucket(work.flops, work.bytes), "/GPU:0"};
  const double model = predict(work, kDevice).total();
  CostHistory history;
  double before = model;
  for (int i = 0; i < 50; ++i) {
    history.add(key, model, 2 * model);
    const double now = predict(work, kDevice, history).total();
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_NEAR(before, 2 * model, 0.1 * model);  // within 15 % after 50 runs
  for (const OpWork& other : {OpWork{.op = "add", .flops = 1e9, .bytes = 1e6},
                              OpWork{.op = "matmul", .dtype = DType::f64, .flops = 1e9, .bytes = 1e6}})
    EXPECT_DOUBLE_EQ(predict(other, kDevice, history).total(), predict(other, kDevice).total());
}

TEST(CostModel, SizesThatWereNotMeasuredAreReckonedFromTheirNeighbours) {
  const auto ratio = [](double flops, const CostHistory& history) {
    const OpWork work{.op = "matmul", .flops = flops};
    return predict(work, kDevice, history).total() / predict(work, kDevice).total();
  };
  CostHistory history;
  history.set({"matmul", DType::f32, 20, "/GPU:0"}, {.ratio = 4, .samples = 64});
  history.set({"matmul", DType::f32, 28, "/GPU:0"}, {.ratio = 1, .samples = 64});
  history.set({"matmul", DType::f32, 24, "/CPU:0"}, {.ratio = 100, .samples = 64});
  EXPECT_NEAR(ratio(0x1p19, history), 4, 0.1);
  double before = 4.1;
  for (const double bucket : {20, 22, 23, 25, 27}) {  // from one neighbour's to the other's
    const double now = ratio(std::exp2(bucket), history);
    EXPECT_LT(now, before) << bucket;
    EXPECT_GT(now, 0.99) << bucket;
    before = now;
  }
  EXPECT_NEAR(ratio(0x1p23, history), 2, 0.4) << "halfway";
  EXPECT_NEAR(ratio(0x1p9, history), 1, 0.2) << "too far off to tell";
}

TEST(CostModel, AMachineThatChangedIsLearntAgain) {
  const HistoryKey key{"matmul", DType::f32, 30, "/GPU:0"};
  CostHistory history;
  for (int i = 0; i < 1000; ++i) history.add(key, 10, 10);
  for (int i = 0; i < 300; ++i) history.add(key, 10, 30);
  EXPECT_NEAR(history.find(key)->ratio, 3, 0.1);
  history.add(key, 0, 10);  // what cannot be is not learnt
  history.add(key, 10, -1);
  EXPECT_EQ(history.find(key)->samples, 1300);
}

TEST(CostModel, WhatWasLearntUnderOtherLoadIsForgottenWithinFiftyRuns) {
  const HistoryKey key{"matmul", DType::f32, 30, "/GPU:0"};
  CostHistory history;
  for (int i = 0; i < 50; ++i) history.add(key, 10, 10);
  for (int i = 0; i < 50; ++i) history.add(key, 10, i % 10 == 9 ? 300 : 25);  // every tenth run is disturbed
  EXPECT_NEAR(history.find(key)->ratio, 2.5, 0.15 * 2.5);
}

TEST(CostModel, AHistoryIsReadBackTheSame) {
  CostHistory history;
  history.add({"conv2d", DType::f16, 12, "/GPU:1"}, 10, 7);
  history.add({"add", DType::f32, 0, "/CPU:0"}, 10, 40);
  EXPECT_EQ(parse_history(to_json(history), "history"), history);
  EXPECT_THROW(parse_history("[{\"op\": \"add\"}]", "history"), Error);
}

}  // namespace
}  // namespace tandem
