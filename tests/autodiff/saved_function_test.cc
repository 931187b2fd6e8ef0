// Traced functions in files: what comes back computes the same, and no damaged or hostile file does more than throw.
#include "tandem/autodiff/saved_function.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "tandem/files/crc32c.h"
#include "tandem/files/file_bytes.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

std::string file(const std::string& name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

const std::vector<InputSpec> kRows{{DType::f32, {InputSpec::kAny, 3}}};

/// Saves and loads.
Function again(const Function& function, const std::vector<InputSpec>& inputs) {
  save_function(file("again.tandem"), function, inputs);
  return load_function(file("again.tandem"));
}

std::vector<float> values(const Tensors& tensors) { return tensors.at(0).to_vector<float>(); }

Tensor counting(const Shape& shape) {
  std::vector<float> list;
  for (std::int64_t i = 0; i < shape.elements(); ++i) list.push_back(0.25f * static_cast<float>(i) - 1);
  return Tensor::from(list, shape);
}

TEST(SavedFunction, ComputesTheSameWithItsConstantsAndAttributes) {
  const Tensor w = counting({3, 4});
  auto f = function([w](Tensor x) { return reduce_sum(softmax(matmul(x, w)) * 2.5f, {1}, true); });
  const Function g = again(f, {{DType::f32, {5, 3}}});
  const Tensor x = counting({5, 3});
  EXPECT_EQ(values(g.call({x})), f(x).to_vector<float>());
}

TEST(SavedFunction, KeepsInfinityAsAnAttribute) {
  auto f = function([](Tensor x) { return maximum(x, fill({5, 3}, -std::numeric_limits<float>::infinity())); });
  EXPECT_EQ(values(again(f, {{DType::f32, {5, 3}}}).call({counting({5, 3})})), counting({5, 3}).to_vector<float>());
}

TEST(SavedFunction, RunsAnyBatchSizeWhereItWasLeftOpen) {
  const Tensor w = counting({6, 2});
  auto f = function([w](Tensor x) {
    const std::int64_t rows = x.shape()[0];
    const Tensor pairs = reshape(concat({x, x * 2.0f}, 1), Shape{rows, 6});
    return matmul(pairs, w) + reshape(cast(range(0, static_cast<double>(2 * rows)), DType::f32), Shape{rows, 2});
  });
  const Function g = again(f, kRows);
  for (const std::int64_t rows : {1, 2, 4, 33})
    EXPECT_EQ(values(g.call({counting({rows, 3})})), f(counting({rows, 3})).to_vector<float>()) << rows;
  EXPECT_THROW(g.call({counting({4, 2})}), Error);
}

TEST(SavedFunction, TwoOpenAxesMayBeMultiplied) {
  auto f = function([](Tensor x) { return reshape(x, Shape{x.shape()[0] * x.shape()[1]}); });
  const Function g = again(f, {{DType::f32, {InputSpec::kAny, InputSpec::kAny}}});
  EXPECT_EQ(g.call({counting({4, 9})})[0].shape(), Shape({36}));
}

TEST(SavedFunction, WhatDependsOnTheSizeInAnotherWayIsRefusedWithThePlace) {
  auto f = function([](Tensor x) {
    Tensor sum = x;
    for (std::int64_t i = 0; i < x.shape()[0]; ++i) sum = sum + x;
    return sum;
  });
  try {
    save_function(file("refused.tandem"), f, kRows);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("graphs[0].nodes"), std::string::npos) << error.what();
  }
}

TEST(SavedFunction, KeepsTheValuesOfVariablesAndUpdatesItsOwn) {
  const Variable count(Tensor(1.0), false, "count");
  auto f = function([&](Tensor x) {
    count.assign_add(Tensor(1.0));
    return x * count.value();
  });
  count.assign(Tensor(10.0));
  save_function(file("count.tandem"), f, kRows);
  const SavedFunctions saved = load_functions(file("count.tandem"));
  const Function& g = saved.find().function;
  EXPECT_EQ(values(g.call({ones({1, 3})}))[0], 11);
  EXPECT_EQ(values(g.call({ones({2, 3})}))[0], 12);
  ASSERT_EQ(saved.variables.size(), 1u);
  EXPECT_EQ(saved.variables[0].name(), "count");
  EXPECT_FALSE(saved.variables[0].trainable());
  EXPECT_EQ(saved.variables[0].value().item<float>(), 12);
  EXPECT_EQ(count.value().item<float>(), 10);
}

TEST(SavedFunction, ATapeGoesThroughItToItsVariables) {
  const Variable w(counting({3, 2}));
  auto f = function([&](Tensor x) { return reduce_sum(square(matmul(x, w))); });
  save_function(file("tape.tandem"), f, kRows);
  const SavedFunctions saved = load_functions(file("tape.tandem"));
  const Tensor x = counting({4, 3});
  GradientTape one, other;
  const Tensor a = f(x), b = saved.find().function.call({x})[0];
  EXPECT_EQ(one.gradient(a, w).to_vector<float>(), other.gradient(b, saved.variables[0]).to_vector<float>());
}

Tensor branches(const Tensor& x) {
  return cond(
      greater(reduce_sum(x), Tensor(0.0f)), [&]() -> Tensor { return x * 2.0f; }, [&]() -> Tensor { return x - 1.0f; });
}
Tensor turns(const Tensor& x) {
  return while_loop([](const Tensors& v) { return less(v[0], Tensor(5)); },
                    [&](const Tensors& v) -> Tensors { return {v[0] + Tensor(1), v[1] * 1.5f + x}; },
                    {Tensor(0), x})[1];
}

TEST(SavedFunction, BranchesAndLoopsAreInTheFile) {
  auto f = function([](Tensor x) { return branches(turns(x)); });
  const Function g = again(f, kRows);
  for (const float sign : {1.0f, -1.0f})
    EXPECT_EQ(values(g.call({counting({7, 3}) * sign})), f(counting({7, 3}) * sign).to_vector<float>());
}

TEST(SavedFunction, GradientsTracedIntoItAreInTheFile) {
  auto f = function([](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(reduce_sum(branches(turns(x))), x);
  });
  const Function g = again(f, {{DType::f32, {2, 3}}});
  EXPECT_EQ(values(g.call({counting({2, 3})})), f(counting({2, 3})).to_vector<float>());
}

TEST(SavedFunction, AGradientGivenByHandIsInTheFile) {
  auto f = function([](Tensor x) {
    return custom_gradient({x}, [](const Tensors& in) -> WithGradient {
      return {{square(in[0])}, [](const Tensors& up, const Tensors&) -> Tensors { return {up[0] * 7.0f}; }};
    })[0];
  });
  const Function g = again(f, kRows);
  const Tensor x = counting({2, 3});
  GradientTape tape;
  tape.watch(x);
  EXPECT_EQ(tape.gradient(reduce_sum(g.call({x})[0]), x).to_vector<float>(), std::vector<float>(6, 7.0f));
}

TEST(SavedFunction, RandomNumbersAreFreshInEveryCall) {
  auto f = function([](Tensor x) { return x + random_normal({2, 3}); });
  const Function g = again(f, {{DType::f32, {2, 3}}});
  EXPECT_NE(values(g.call({ones({2, 3})})), values(g.call({ones({2, 3})})));
}

TEST(SavedFunction, AScopeIsKept) {
  auto f = function([](Tensor x) {
    const DeviceScope scope("/GPU:0");
    return x + x;
  });
  const auto g = again(f, {{DType::f32, {2, 3}}}).concrete({ones({2, 3})});
  EXPECT_NE(g->graph().to_string().find("/GPU:0"), std::string::npos) << g->graph().to_string();
}

// --- Files that are wrong ---

std::string sample_bytes() {
  const Variable w(counting({3, 2}), true, "w");
  auto f = function([&](Tensor x) { return branches(turns(x) + reduce_mean(matmul(x, w))); });
  save_function(file("sample.tandem"), f, kRows);
  return read_file(file("sample.tandem"));
}

/// What is said of the bytes; "" when they are accepted.
std::string complaint(const std::string& bytes) {
  try {
    functions_from_bytes(bytes, "file");
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_file) << error.what();
    return error.what();
  }
}

TEST(SavedFunction, AnyByteThatIsNotAsItWasWrittenIsFound) {
  const std::string bytes = sample_bytes();
  ASSERT_EQ(complaint(bytes), "");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    EXPECT_NE(complaint(damaged), "") << i;
  }
}

TEST(SavedFunction, ATruncatedFileIsFound) {
  const std::string bytes = sample_bytes();
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 16)
    EXPECT_NE(complaint(bytes.substr(0, size)), "") << size;
  EXPECT_NE(complaint(bytes + "x"), "");
}

TEST(SavedFunction, ANewerVersionSaysSo) {
  std::string bytes = sample_bytes();
  bytes[8] = 2;
  EXPECT_NE(complaint(bytes).find("newer version: format 2"), std::string::npos) << complaint(bytes);
  EXPECT_NE(complaint("PK\3\4 an archive, not a function").find("TANDEMFN"), std::string::npos);
}

void correct_checksum(std::string& bytes) {
  const std::uint32_t sum = crc32c(std::string_view(bytes).substr(16));
  std::memcpy(bytes.data() + 12, &sum, 4);
}

TEST(SavedFunction, AFileWithAFittingChecksumThatNobodyWroteIsReadWithCare) {
  const std::string bytes = sample_bytes();
  int refused = 0;
  for (std::size_t i = 16; i < bytes.size(); ++i) {
    std::string hostile = bytes;
    hostile[i] = hostile[i] >= '0' && hostile[i] <= '9' ? static_cast<char>('0' + (hostile[i] - '0' + 1 + i % 8) % 10)
                                                        : static_cast<char>(hostile[i] ^ (1 << i % 7));
    correct_checksum(hostile);
    refused += !complaint(hostile).empty();
  }
  EXPECT_GT(refused, 500);  // nearly all of the JSON; other values of numbers are no mistake
}

/// The sample with one piece of its JSON replaced by another of the same length.
std::string with(std::string bytes, const std::string& before, std::string after) {
  const std::size_t at = bytes.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  after.resize(before.size(), ' ');
  bytes.replace(at, before.size(), after);
  correct_checksum(bytes);
  return bytes;
}

TEST(SavedFunction, AComplaintNamesThePlace) {
  const std::string bytes = sample_bytes();
  EXPECT_NE(complaint(with(bytes, R"("op":"matmul")", R"("op":"mat")")).find("there is no op 'mat' here"),
            std::string::npos);
  const std::string cycle = complaint(with(bytes, R"("inputs":[0,1])", R"("inputs":[0,9])"));
  EXPECT_NE(cycle.find(".nodes["), std::string::npos) << cycle;
  EXPECT_NE(complaint(with(bytes, R"("made":"cond")", R"("made":"con")")).find("'con'"), std::string::npos);
  EXPECT_NE(complaint(with(bytes, R"("variable":0)", R"("variable":7)")).find("there is no variable 7; there are 1"),
            std::string::npos);
}

TEST(SavedFunction, ANumberThatAnOlderFileDoesNotNameHasItsDefault) {
  auto f = function([](Tensor x) { return gather(x, Tensor::from(std::vector<std::int32_t>{2, 0}, Shape{2}), 1); });
  save_function(file("older.tandem"), f, {{DType::f32, {5, 3}}});
  const std::string older = with(read_file(file("older.tandem")), R"("axis":1,"batch_dims":0)", R"("axis":1)");
  EXPECT_EQ(complaint(older), "");
}

TEST(SavedFunction, AFunctionThatIsNotThereIsNamedWithThoseThatAre) {
  sample_bytes();
  EXPECT_THROW(load_function(file("sample.tandem"), "serve"), Error);
  EXPECT_THROW(load_function(file("no such file.tandem")), Error);
}

}  // namespace
}  // namespace tandem
