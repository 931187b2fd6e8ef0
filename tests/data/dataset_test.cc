#include "tandem/data/dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <thread>

#include "tandem/data/composite.h"
#include "tandem/data/node.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The first leaves of all elements, which are single integers.
Numbers numbers_of(const Dataset& dataset) {
  Numbers out;
  for (const Value& value : dataset) out.push_back(value.leaves()[0].tensor.item<std::int64_t>());
  return out;
}

Numbers counting(std::int64_t begin, std::int64_t end) {
  Numbers out(static_cast<std::size_t>(end - begin));
  std::iota(out.begin(), out.end(), begin);
  return out;
}

/// Numbers 0 to n-1 from a source that can only be read in order.
Dataset generated(std::int64_t n) {
  return Dataset::from_generator(
      [n] {
        return [n, i = std::int64_t{0}]() mutable -> std::optional<Value> {
          if (i == n) return std::nullopt;
          return Value(Tensor::scalar(i++, DType::i64));
        };
      },
      {Structure::leaf(), {LeafSpec{.dtype = DType::i64}}});
}

std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

/// A scratch file or folder that is removed again.
struct Scratch {
  explicit Scratch(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("tandem_data_test_" + name)) {
    std::filesystem::remove_all(path);
  }
  ~Scratch() {
    std::filesystem::remove_all(path);
    std::filesystem::remove_all(path.string() + ".cache");
  }
  std::filesystem::path path;
};

TEST(Dataset, SlicesOfTuplesAndMapsKeepTheirStructure) {
  const Tensor x = range(0, 6, 1, DType::f32), y = range(0, 3);
  const Dataset dataset =
      Dataset::from_tensor_slices(Value::map({{"x", reshape(x, Ints{3, 2})}, {"label", Value::tuple({y, y})}}));
  EXPECT_EQ(dataset.cardinality(), 3);
  EXPECT_EQ(dataset.element_spec().structure->to_string(), "{x: ., label: (., .)}");
  std::int64_t i = 0;
  for (const Value& value : dataset) {
    EXPECT_EQ(value["x"].tensor().to_vector<float>(), (std::vector<float>{2.f * i, 2.f * i + 1}));
    EXPECT_EQ(value["label"][1].tensor().item<int>(), i++);
  }
  EXPECT_EQ(i, 3);
}

TEST(Dataset, RowsOfDifferentNumberAreRefused) {
  try {
    Dataset::from_tensor_slices(Value::tuple({range(0, 3), range(0, 4)}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_NE(std::string(error.what()).find("component 0 has 3, component 1 has 4"), std::string::npos)
        << error.what();
  }
}

TEST(Dataset, MayBeIteratedAnyNumberOfTimes) {
  const Dataset dataset = Dataset::range(5).map([](const Tensor& x) { return x * 2; });
  EXPECT_EQ(numbers_of(dataset), (Numbers{0, 2, 4, 6, 8}));
  EXPECT_EQ(numbers_of(dataset), (Numbers{0, 2, 4, 6, 8}));
}

TEST(Dataset, StagesGiveTheSameOverAnIndexedSourceAndOverAStream) {
  struct Case {
    const char* name;
    std::function<Dataset(const Dataset&)> build;
  };
  const Case cases[] = {
      {"take", [](const Dataset& d) { return d.take(7); }},
      {"skip", [](const Dataset& d) { return d.skip(7); }},
      {"shard", [](const Dataset& d) { return d.shard(3, 1); }},
      {"repeat", [](const Dataset& d) { return d.repeat(3); }},
      {"concatenate", [](const Dataset& d) { return d.concatenate(d.take(4)); }},
      {"enumerate", [](const Dataset& d) { return d.enumerate(5); }},
      {"map", [](const Dataset& d) { return d.map([](const Tensor& x) { return x * 3 + 1; }); }},
      {"filter", [](const Dataset& d) { return d.filter([](const Tensor& x) { return less(x, 9); }); }},
      {"shuffle", [](const Dataset& d) { return d.shuffle(8, {.seed = 3}); }},
      {"shuffle repeat", [](const Dataset& d) { return d.shuffle(8, {.seed = 3}).repeat(2); }},
      {"map shuffle",
       [](const Dataset& d) { return d.map([](const Tensor& x) { return x * x; }).shuffle(50, {.seed = 9}); }},
      {"batch unbatch", [](const Dataset& d) { return d.batch(4).unbatch(); }},
      {"batch shuffle", [](const Dataset& d) { return d.batch(4, true).shuffle(3, {.seed = 1}).unbatch(); }},
      {"cache", [](const Dataset& d) { return d.cache().repeat(2); }},
      {"prefetch", [](const Dataset& d) { return d.prefetch(3); }},
  };
  for (const Case& c : cases) {
    const Numbers indexed = numbers_of(c.build(Dataset::range(20))), streamed = numbers_of(c.build(generated(20)));
    EXPECT_EQ(indexed, streamed) << c.name;
    EXPECT_FALSE(indexed.empty()) << c.name;
    Numbers batched;
    for (const Value& value : c.build(Dataset::range(20)).batch(7))
      for (std::int64_t number : value.leaves()[0].tensor.to_vector<std::int64_t>()) batched.push_back(number);
    EXPECT_EQ(indexed, batched) << c.name << ", batched";
  }
}

TEST(Dataset, ShuffleGivesEveryElementOnceAndAnotherOrderEachPass) {
  const Dataset dataset = Dataset::range(100).shuffle(30, {.seed = 7});
  const Numbers first = numbers_of(dataset), second = numbers_of(dataset);
  EXPECT_NE(first, second);
  Numbers sorted = first;
  std::ranges::sort(sorted);
  EXPECT_EQ(sorted, counting(0, 100));
  EXPECT_EQ(numbers_of(Dataset::range(100).shuffle(30, {.seed = 7})), first);
  EXPECT_NE(numbers_of(Dataset::range(100).shuffle(30, {.seed = 8})), first);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_LT(first[i], static_cast<std::int64_t>(i) + 30) << "the buffer holds 30";
}

TEST(Dataset, ShuffleWithoutReshufflingKeepsItsOrder) {
  const Dataset dataset = Dataset::range(50).shuffle(50, {.seed = 7, .reshuffle_each_iteration = false});
  EXPECT_EQ(numbers_of(dataset), numbers_of(dataset));
}

TEST(Dataset, TheOrderDoesNotDependOnHowFarAPrefetchRanAhead) {
  auto build = [] { return Dataset::range(64).shuffle(64, {.seed = 5}).repeat().prefetch(50); };
  const Dataset a = build(), b = build();
  for (const Value& value : a.take(3)) EXPECT_GE(value.tensor().item<int>(), 0);
  for (int pass = 0; pass < 2; ++pass) {
    Numbers of_a, of_b;
    for (DatasetIterator i = a.iterate(); of_a.size() < 100;) of_a.push_back(i.next()->tensor().item<std::int64_t>());
    for (DatasetIterator i = b.iterate(); of_b.size() < 100;) of_b.push_back(i.next()->tensor().item<std::int64_t>());
    EXPECT_EQ(of_a, of_b) << "pass " << pass;
  }
}

TEST(Dataset, EveryPositionOfAFullShuffleIsEquallyLikely) {
  constexpr int kElements = 5, kPasses = 4000;
  int counts[kElements][kElements] = {};
  const Dataset dataset = Dataset::range(kElements).shuffle(kElements, {.seed = 11});
  for (int pass = 0; pass < kPasses; ++pass) {
    const Numbers order = numbers_of(dataset);
    for (int i = 0; i < kElements; ++i) ++counts[i][order[static_cast<std::size_t>(i)]];
  }
  for (auto& row : counts)
    for (int count : row) EXPECT_NEAR(count, kPasses / kElements, 130);  // five standard deviations
}

TEST(Dataset, BatchesHaveTheirSizeAndTheLastMayBeDropped) {
  Numbers sizes;
  for (const Value& value : Dataset::range(10).batch(4)) sizes.push_back(value.tensor().shape()[0]);
  EXPECT_EQ(sizes, (Numbers{4, 4, 2}));
  EXPECT_EQ(Dataset::range(10).batch(4).cardinality(), 3);
  EXPECT_EQ(Dataset::range(10).batch(4, true).cardinality(), 2);
  EXPECT_EQ(text(Dataset::range(10).batch(4).element_spec().leaves[0]), "int64 [?]");
  EXPECT_EQ(text(Dataset::range(10).batch(4, true).element_spec().leaves[0]), "int64 [4]");
  EXPECT_THROW(Dataset::range(10).batch(0), Error);
}

TEST(Dataset, CardinalitiesAreTensorFlows) {
  const Dataset ten = Dataset::range(10);
  EXPECT_EQ(ten.repeat().cardinality(), -1);
  EXPECT_EQ(ten.repeat(3).cardinality(), 30);
  EXPECT_EQ(ten.filter([](const Tensor& x) { return less(x, 3); }).cardinality(), -2);
  EXPECT_EQ(ten.repeat().take(5).cardinality(), 5);
  EXPECT_EQ(ten.skip(12).cardinality(), 0);
  EXPECT_EQ(ten.shard(4, 3).cardinality(), 2);
  EXPECT_EQ(Dataset::zip(std::vector<Value>{ten, ten.repeat()}).cardinality(), 10);
  EXPECT_EQ(ten.window(3, {.shift = 2, .drop_remainder = true}).cardinality(), 4);
  EXPECT_EQ(Dataset::range(10, 0, -3).cardinality(), 4);
}

TEST(Dataset, AFunctionOfOpsIsRecordedOnceAndRunsOverBatches) {
  int calls = 0;
  const Dataset dataset = Dataset::from_tensor_slices(range(0, 4000, 1, DType::f32)).map([&](const Tensor& x) {
    ++calls;
    return (x - 0.5) * 2;
  });
  double sum = 0;
  for (const Value& value : dataset.shuffle(100, {.seed = 1}).batch(32))
    for (float v : value.tensor().to_vector<float>()) sum += v;
  EXPECT_EQ(sum, 2 * (3999 * 4000 / 2) - 4000);
  float expected = -1;
  for (const Value& value : dataset.take(300))
    EXPECT_EQ(value.tensor().item<float>(), std::exchange(expected, expected + 2));
  EXPECT_LE(calls, 1);
}

TEST(Dataset, OperandsOfFewerAxesAreBroadcastForEachElement) {
  const Tensor x = reshape(range(0, 12, 1, DType::f32), Ints{4, 3}), w = Tensor::from({10.f, 20.f, 30.f, 40.f}, {4});
  const Tensor offsets = Tensor::from({1.f, 2.f, 3.f}, {3});
  const Dataset dataset =
      Dataset::from_tensor_slices(Value::tuple({x, w})).map([&](const Tensor& row, const Tensor& weight) {
        return std::pair(row * weight + offsets, one_hot(cast(weight / 10, DType::i32), 5));
      });
  std::vector<float> singles, batched;
  for (const Value& value : dataset)
    for (float v : value[0].tensor().to_vector<float>()) singles.push_back(v);
  for (const Value& value : dataset.batch(3)) {
    for (float v : value[0].tensor().to_vector<float>()) batched.push_back(v);
    EXPECT_EQ(value[1].tensor().rank(), 2);
  }
  EXPECT_EQ(singles, batched);
  EXPECT_EQ(singles[3], 3 * 20.f + 1);
}

TEST(Dataset, AFunctionThatReadsValuesIsCalledForEachElement) {
  int calls = 0;
  const Dataset dataset = Dataset::range(6).map([&](const Tensor& x) {
    ++calls;
    return x.item<int>() % 2 ? x * 10 : x;
  });
  EXPECT_EQ(numbers_of(dataset), (Numbers{0, 10, 2, 30, 4, 50}));
  EXPECT_GE(calls, 6);
}

TEST(Dataset, AFunctionOnBlocksGetsManyElementsAtOnce) {
  const ElementFunction doubled([](const Tensor& x) { return x * 2; }, Recording::blocks);
  EXPECT_EQ(numbers_of(Dataset::range(9).map(doubled)), (Numbers{0, 2, 4, 6, 8, 10, 12, 14, 16}));
  const ElementFunction summed([](const Tensor& x) { return reduce_sum(x); }, Recording::blocks);
  EXPECT_THROW(numbers_of(Dataset::range(9).map(summed)), Error);
}

TEST(DatasetThreads, ParallelCallsGiveTheSameElementsInTheSameOrder) {
  auto build = [](std::int64_t calls) {
    set_seed(4);
    return Dataset::range(300).map(
        [](const Tensor& x) { return cast(x, DType::f32) + random_uniform({3}) + static_cast<float>(x.item<int>()); },
        {.num_parallel_calls = calls});
  };
  auto values = [](const Dataset& dataset) {
    std::vector<float> out;
    for (const Value& value : dataset)
      for (float v : value.tensor().to_vector<float>()) out.push_back(v);
    return out;
  };
  const std::vector<float> one = values(build(0));
  EXPECT_EQ(one.size(), 900u);
  EXPECT_EQ(values(build(1)), one);
  EXPECT_EQ(values(build(5)), one);
  EXPECT_EQ(values(build(kAutotune)), one);
}

TEST(DatasetThreads, AnErrorInAWorkerReachesTheReaderAtItsElement) {
  auto failing = [](const Tensor& x) {
    if (x.item<int>() == 5) fail(ErrorCode::invalid_argument, "five");
    return x;
  };
  for (std::int64_t calls : {0, 3}) {
    const Dataset dataset = Dataset::range(10).map(failing, {.num_parallel_calls = calls}).prefetch(4);
    DatasetIterator pass = dataset.iterate();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(pass.next()->tensor().item<int>(), i);
    EXPECT_THROW(pass.next(), Error);
    EXPECT_EQ(numbers_of(dataset.ignore_errors()), (Numbers{0, 1, 2, 3, 4, 6, 7, 8, 9}));
  }
}

TEST(DatasetThreads, APassThatIsDroppedInTheMiddleStopsItsWorkers) {
  const Dataset dataset = generated(1'000'000'000)
                              .map([](const Tensor& x) { return x.item<int>() < 0 ? x : x; }, {.num_parallel_calls = 3})
                              .prefetch(10)
                              .batch(4)
                              .prefetch(2);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(dataset.iterate().next()->tensor().shape()[0], 4);
}

TEST(DatasetThreads, BuffersStayWithinTheByteBudget) {
  std::atomic<int> made{0};
  const Dataset dataset = Dataset::from_generator(
                              [&] {
                                return [&]() -> std::optional<Value> {
                                  ++made;
                                  return Value(zeros({1 << 18}));  // 1 MiB
                                };
                              },
                              {Structure::leaf(), {LeafSpec::of({DType::f32, {1 << 18}})}})
                              .prefetch(1000);
  DatasetIterator pass = dataset.iterate(8 << 20);
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(pass.next());
    EXPECT_LE(made.load(), i + 1 + 10);
  }
}

TEST(DatasetThreads, ElementsOfParallelCallsStayWithinTheByteBudget) {
  const Dataset dataset = Dataset::range(60).map(
      ElementFunction([](const Tensor& x) { return broadcast_to(cast(x, DType::f32), {1 << 18}); }, Recording::never),
      {.num_parallel_calls = 16});
  DatasetIterator pass = dataset.iterate(4 << 20);
  for (int i = 0; i < 60; ++i) {
    const std::optional<Value> value = pass.next();
    ASSERT_TRUE(value);
    EXPECT_EQ(value->tensor().data<float>()[7], static_cast<float>(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LE(pass.stats().stages[0].buffered, 5);  // 4 MiB, and one that waits to be read
  }
  EXPECT_FALSE(pass.next());
}

TEST(DatasetThreads, ParallelInterleaveKeepsTheOrder) {
  const auto build = [](std::int64_t calls) {
    return Dataset::range(7).interleave(
        [](const Tensor& x) { return Dataset::range(x.item<int>() * 10, x.item<int>() * 10 + x.item<int>()); },
        {.cycle_length = 3, .block_length = 2, .num_parallel_calls = calls});
  };
  const Numbers expected = numbers_of(build(0));
  EXPECT_EQ(expected.size(), 21u);
  EXPECT_EQ(numbers_of(build(2)), expected);
  EXPECT_EQ(numbers_of(build(8)), expected);
  EXPECT_EQ(numbers_of(build(kAutotune)), expected);
}

TEST(DatasetThreads, AGeneratorThatThrowsIsHeardThroughBuffers) {
  const auto make = [] {
    return [i = 0]() mutable -> std::optional<Value> {
      if (i == 3) fail(ErrorCode::bad_file, "shelf.bin, record 3: expected a book");
      return Value(Tensor(i++));
    };
  };
  const Dataset dataset = Dataset::from_generator(make, {Structure::leaf(), {LeafSpec{.dtype = DType::i32}}})
                              .prefetch(8)
                              .batch(2)
                              .prefetch();
  DatasetIterator pass = dataset.iterate();
  EXPECT_EQ(pass.next()->tensor().to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 1}));
  try {
    pass.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("shelf.bin, record 3: expected a book"), std::string::npos);
  }
}

TEST(DatasetThreads, WhatNeedsAnEndRefusesADatasetWithout) {
  const Dataset endless = Dataset::range(3).repeat();
  const auto first = [](const Value& state, const Value&) { return state; };
  for (const std::function<void()>& body : std::vector<std::function<void()>>{
           [&] { endless.reduce(Value(Tensor(0)), [&](const Value& both) { return first(both[0], both[1]); }); },
           [&] { endless.save("/nowhere"); }}) {
    try {
      body();
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the dataset is infinite; take(n) makes it finite"), std::string::npos);
    }
  }
}

TEST(DatasetThreads, AStreamOfTenGigabytesStaysWithinTheBudget) {
  constexpr std::int64_t kFloats = 1 << 22;  // 16 MiB an element
  constexpr int kElements = 640;
  const std::size_t before = resident_bytes();
  std::size_t most = 0;
  const Dataset stream = Dataset::from_generator(
                             [] {
                               return [i = 0]() mutable -> std::optional<Value> {
                                 if (i == kElements) return std::nullopt;
                                 return Value(fill({kFloats}, static_cast<double>(i++)));
                               };
                             },
                             {Structure::leaf(), {LeafSpec::of({DType::f32, {kFloats}})}})
                             .prefetch();
  DatasetIterator pass = stream.iterate(128u << 20);
  std::int64_t bytes = 0;
  int number = 0;
  while (auto value = pass.next()) {
    ASSERT_EQ(value->tensor().data<float>()[kFloats - 1], static_cast<float>(number++));
    bytes += static_cast<std::int64_t>(value->tensor().spec().bytes());
    most = std::max(most, resident_bytes());
  }
  EXPECT_GE(bytes, 10'000'000'000);
  // The budget, the element in hand, the one being made, and what the pool keeps for the next.
  EXPECT_LT(most - before, (128u + 5 * 16) << 20);
}

TEST(Dataset, TheBottleneckOfParallelWorkIsFoundByItsTime) {
  const Dataset dataset = Dataset::range(400)
                              .map(ElementFunction(
                                       [](const Tensor& x) {
                                         const double until = static_cast<double>(ticks()) + 2e5;
                                         while (static_cast<double>(ticks()) < until) {}
                                         return x;
                                       },
                                       Recording::never),
                                   {.num_parallel_calls = 2})
                              .batch(10);
  DatasetIterator pass = dataset.iterate();
  while (pass.next()) {}
  const DatasetStats stats = pass.stats();
  EXPECT_EQ(stats.bottleneck, "Map");
  EXPECT_GT(stats.stages[1].cores, 0);
  EXPECT_NE(stats.to_string().find("cores"), std::string::npos);
}

TEST(Dataset, StatsNameTheStagesAndTheBottleneck) {
  const Dataset dataset = generated(2000)
                              .map([](const Tensor& x) {
                                const double until = static_cast<double>(ticks()) + 2e4;
                                while (static_cast<double>(ticks()) < until) {}
                                return x.item<int>() < 0 ? x : x;
                              })
                              .batch(10)
                              .prefetch(2);
  DatasetIterator pass = dataset.iterate();
  while (pass.next()) {}
  const DatasetStats stats = pass.stats();
  ASSERT_EQ(stats.stages.size(), 4u);
  EXPECT_EQ(stats.stages[0].name, "Prefetch");
  EXPECT_EQ(stats.stages[1].elements, 200u);
  EXPECT_EQ(stats.stages[2].elements, 2000u);
  EXPECT_EQ(stats.bottleneck, "Map");
  EXPECT_NE(stats.remedy.find("num_parallel_calls"), std::string::npos);
  EXPECT_NE(stats.to_string().find("Generator"), std::string::npos);
}

TEST(Dataset, WhatEndsInAPrefetchIsNotToldToPrefetch) {
  const Dataset slices = Dataset::from_tensor_slices(zeros({64, 100'000})).shuffle(32).batch(4);
  const auto remedy = [](const Dataset& dataset) {
    DatasetIterator pass = dataset.iterate();
    while (pass.next()) {}
    return pass.stats().remedy;
  };
  EXPECT_NE(remedy(slices).find("put prefetch(AUTOTUNE) last"), std::string::npos);
  EXPECT_EQ(remedy(slices.prefetch(1)).find("put prefetch"), std::string::npos);
}

TEST(Dataset, AFunctionThatRunsOverWholeBatchesIsNotToldToDoSo) {
  const Dataset dataset =
      Dataset::from_tensor_slices(ones({512, 4096})).map([](const Tensor& x) { return exp(tanh(x * 2.0)); }).batch(64);
  DatasetIterator pass = dataset.iterate();
  while (pass.next()) {}
  const DatasetStats stats = pass.stats();
  EXPECT_EQ(stats.bottleneck, "Map");
  EXPECT_EQ(stats.remedy.find("the function runs over whole batches already: put prefetch(AUTOTUNE) last"), 0u)
      << stats.remedy;
}

TEST(Dataset, PaddedBatchesPadToTheLongest) {
  const Dataset dataset = Dataset::range(1, 4).map(
      [](const Tensor& x) { return fill({x.item<std::int64_t>()}, x.item<double>(), DType::i32); });
  const Value batch = *dataset.padded_batch(3, {.padding_values = {Tensor(-1)}}).begin();
  EXPECT_EQ(batch.tensor().to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, -1, -1, 2, 2, -1, 3, 3, 3}));
  EXPECT_THROW(dataset.batch(3).iterate().next(), Error);
  EXPECT_THROW(dataset.padded_batch(3, {.padded_shapes = {{2}}}).iterate().next(), Error);
}

TEST(Dataset, WindowsAreDatasets) {
  std::vector<Numbers> windows;
  const Dataset dataset = Dataset::range(7).window(3, {.shift = 2, .drop_remainder = true});
  for (const Value& value : dataset) windows.push_back(numbers_of(value.dataset()));
  EXPECT_EQ(windows, (std::vector<Numbers>{{0, 1, 2}, {2, 3, 4}, {4, 5, 6}}));
  const Dataset flat = dataset.flat_map([](const Value& window) { return window.dataset().batch(3); });
  EXPECT_EQ(flat.begin()->tensor().to_vector<std::int64_t>(), (Numbers{0, 1, 2}));
  const Dataset strided = Dataset::range(7).window(2, {.shift = 1, .stride = 3, .drop_remainder = true});
  EXPECT_EQ(numbers_of(strided.begin()->dataset()), (Numbers{0, 3}));
}

TEST(Dataset, InterleaveTakesBlocksInTurn) {
  const Dataset dataset = Dataset::range(1, 4).interleave(
      [](const Value& n) { return Dataset::from_tensors(n).repeat(n.tensor().item<std::int64_t>() + 1); },
      {.cycle_length = 2, .block_length = 2});
  EXPECT_EQ(numbers_of(dataset), (Numbers{1, 1, 2, 2, 2, 3, 3, 3, 3}));
}

TEST(Dataset, SamplingFollowsTheWeightsAndChoosingTheChoices) {
  const Dataset zeros = Dataset::from_tensors(Tensor(0)).repeat(), ones = Dataset::from_tensors(Tensor(1)).repeat();
  const Numbers drawn = numbers_of(Dataset::sample_from_datasets({zeros, ones}, {0.2, 0.8}, 3).take(5000));
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 1)), 4000, 150);
  const Dataset choices = Dataset::from_tensor_slices(Tensor::from({1, 0, 1}, {3}));
  EXPECT_EQ(numbers_of(Dataset::choose_from_datasets({zeros, ones}, choices)), (Numbers{1, 0, 1}));
  EXPECT_THROW(numbers_of(Dataset::choose_from_datasets({zeros}, choices)), Error);
}

TEST(Dataset, ScanAndReduceCarryAState) {
  const Dataset sums =
      Dataset::range(1, 6).scan(Value(Tensor::scalar(std::int64_t{0}, DType::i64)),
                                [](const Tensor& state, const Tensor& x) { return std::pair(state + x, state + x); });
  EXPECT_EQ(numbers_of(sums), (Numbers{1, 3, 6, 10, 15}));
  const Value total = Dataset::range(1, 6).reduce(Value(Tensor::scalar(std::int64_t{0}, DType::i64)),
                                                  [](const Tensor& state, const Tensor& x) { return state + x; });
  EXPECT_EQ(total.tensor().item<int>(), 15);
  EXPECT_THROW(Dataset::range(3).repeat().reduce(Value(Tensor(0)), [](const Tensor& s, const Tensor&) { return s; }),
               Error);
}

TEST(Dataset, BucketsGatherElementsOfLikeLength) {
  const Dataset lines = Dataset::from_tensor_slices(Tensor::from({1, 5, 2, 6, 3, 9}, {6})).map([](const Tensor& n) {
    return ones({n.item<std::int64_t>()}, DType::i32);
  });
  std::vector<Numbers> shapes;
  for (const Value& batch :
       lines.bucket_by_sequence_length([](const Tensor& x) { return Tensor(static_cast<int>(x.size())); },
                                       {.boundaries = {4, 8}, .batch_sizes = {2, 2, 2}}))
    shapes.emplace_back(batch.tensor().shape().begin(), batch.tensor().shape().end());
  EXPECT_EQ(shapes, (std::vector<Numbers>{{2, 2}, {2, 6}, {1, 3}, {1, 9}}));
}

TEST(Dataset, ResamplingReachesTheTargetDistribution) {
  const Dataset labels =
      Dataset::range(20000).map([](const Tensor& x) { return Tensor(x.item<int>() % 10 == 0 ? 1 : 0); });
  const Numbers drawn =
      numbers_of(labels.rejection_resample([](const Tensor& x) { return x; }, {0.5, 0.5}, {0.9, 0.1}, 5));
  const double ones = static_cast<double>(std::count(drawn.begin(), drawn.end(), 1));
  EXPECT_NEAR(ones / static_cast<double>(drawn.size()), 0.5, 0.03);
  EXPECT_EQ(ones, 2000);
}

TEST(Dataset, ACacheRunsWhatIsBeforeItOnce) {
  const Scratch file("cache");
  for (const std::string& path : {std::string(), file.path.string()}) {
    int calls = 0;
    const Dataset dataset = Dataset::range(2500)
                                .map([&](const Tensor& x) {
                                  ++calls;
                                  return x.item<int>() < 0 ? x : x;
                                })
                                .cache(path);
    for (const Value& value : dataset.take(3)) EXPECT_LT(value.tensor().item<int>(), 3);
    const int before = calls;
    for (int pass = 0; pass < 3; ++pass) EXPECT_EQ(numbers_of(dataset), counting(0, 2500));
    EXPECT_EQ(calls - before, 2500);
    Numbers shuffled = numbers_of(dataset.shuffle(100, {.seed = 1}).batch(10).unbatch());
    std::ranges::sort(shuffled);
    EXPECT_EQ(shuffled, counting(0, 2500));
  }
}

TEST(Dataset, SavedDatasetsAreLoadedAndDamageIsNoticed) {
  const Scratch folder("saved");
  const Dataset dataset = Dataset::from_tensor_slices(
      Value::map({{"n", range(0, 50)}, {"s", Tensor::from_strings(std::vector<std::string>(50, "text"), {50})}}));
  dataset.save(folder.path);
  const Dataset loaded = Dataset::load(folder.path);
  EXPECT_EQ(loaded.cardinality(), 50);
  EXPECT_TRUE(loaded.element_spec() == dataset.element_spec());
  std::int64_t i = 0;
  for (const Value& value : loaded) {
    EXPECT_EQ(value["n"].tensor().item<int>(), i++);
    EXPECT_EQ(value["s"].tensor().strings()[0], "text");
  }
  const std::string file = folder.path / "elements.tandem";
  const auto size = std::filesystem::file_size(file);
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(size / 2))
      .put('\x55');
  try {
    numbers_of(loaded);
    FAIL() << "a flipped byte went unnoticed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file);
    EXPECT_NE(std::string(error.what()).find(file), std::string::npos);
  }
  std::filesystem::resize_file(file, size / 2);
  EXPECT_THROW(Dataset::load(folder.path), Error);
}

TEST(Dataset, AGeneratorThatBreaksItsWordIsAnError) {
  const Dataset wrong = Dataset::from_generator([] { return [] { return std::optional(Value(Tensor(1.5f))); }; },
                                                {Structure::leaf(), {LeafSpec{.dtype = DType::i64}}});
  try {
    wrong.iterate().next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("float32 [], expected int64 []"), std::string::npos) << error.what();
  }
}

TEST(Dataset, DifferentStructuresDoNotJoin) {
  EXPECT_THROW(Dataset::range(3).concatenate(Dataset::range(3).enumerate()), Error);
  EXPECT_THROW(Dataset::range(3).concatenate(Dataset::from_tensor_slices(ones({3}))), Error);
  EXPECT_THROW(Dataset::zip(std::vector<Value>{Tensor(1)}), Error);
}

TEST(Dataset, AnEmptyDatasetRepeatedForeverEnds) { EXPECT_EQ(numbers_of(Dataset::range(0).repeat()), Numbers{}); }

TEST(Dataset, UniqueAndTakeWhile) {
  const Dataset dataset = Dataset::from_tensor_slices(Tensor::from({3, 1, 3, 2, 1}, {5}));
  EXPECT_EQ(numbers_of(dataset.unique()), (Numbers{3, 1, 2}));
  EXPECT_EQ(numbers_of(dataset.take_while([](const Tensor& x) { return not_equal(x, Tensor(2)); })),
            (Numbers{3, 1, 3}));
  EXPECT_THROW(numbers_of(dataset.filter([](const Tensor& x) { return x; })), Error);
}

/// The parts of a ragged tensor of integers, as data/composite.h names them.
Value ragged(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& splits) {
  const auto tensor = [](const std::vector<std::int64_t>& v) {
    return Tensor::from(v, {static_cast<std::int64_t>(v.size())});
  };
  return Value::map({{std::string(data::kRaggedValues), tensor(values)}, {"~ragged/splits0", tensor(splits)}});
}

TEST(Dataset, RowsOfRaggedTensorsAreBatchedByWhereTheyBegin) {
  const Dataset rows = Dataset::from_tensors(ragged({1, 2, 3, 4}, {0, 2, 2, 4})).unbatch();
  EXPECT_EQ(rows.element_spec().structure->leaves(), 1);  // a row is its values
  std::vector<Value> batches;
  for (const Value& batch : rows.batch(2)) batches.push_back(batch);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0][data::kRaggedValues].tensor().to_vector<std::int64_t>(), (Numbers{1, 2}));
  EXPECT_EQ(batches[0]["~ragged/splits0"].tensor().to_vector<std::int64_t>(), (Numbers{0, 2, 2}));
  EXPECT_EQ(batches[1]["~ragged/splits0"].tensor().to_vector<std::int64_t>(), (Numbers{0, 2}));
}

TEST(Dataset, ABatchOfRaggedTensorsHasOneMoreLevelOfRows) {
  const Dataset both =
      Dataset::from_tensors(ragged({1, 2, 3}, {0, 1, 3})).concatenate(Dataset::from_tensors(ragged({4}, {0, 0, 1})));
  std::vector<Value> batches;
  for (const Value& batch : both.batch(2)) batches.push_back(batch);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0][data::kRaggedValues].tensor().to_vector<std::int64_t>(), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(batches[0]["~ragged/splits0"].tensor().to_vector<std::int64_t>(), (Numbers{0, 2, 4}));
  EXPECT_EQ(batches[0]["~ragged/splits1"].tensor().to_vector<std::int64_t>(), (Numbers{0, 1, 3, 3, 4}));
}

}  // namespace
}  // namespace tandem
