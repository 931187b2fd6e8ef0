// Functions whose sizes are left open: one trace for any, and what refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/autodiff/opening.h"
#include "tandem/core/large_shapes.h"
#include "tandem/op/open_size.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

constexpr std::int64_t kAny = InputSpec::kAny;

Tensors arguments_for(const std::vector<InputSpec>& signature, std::int64_t size) {
  Tensors arguments;
  for (const InputSpec& spec : signature) {
    std::vector<std::int64_t> shape = spec.shape;
    std::replace(shape.begin(), shape.end(), kAny, size);
    arguments.push_back(random_normal(Shape(std::span<const std::int64_t>(shape))));
  }
  return arguments;
}

/// Runs `body` for each size and compares it with eager execution; how often it was traced.
template <class F>
int traces_of(F body, const std::vector<InputSpec>& signature, const std::vector<std::int64_t>& sizes) {
  auto f = function(body, {.input_signature = signature});
  for (std::int64_t size : sizes) {
    const Tensors arguments = arguments_for(signature, size);
    const Tensors found = f.call(arguments);
    run_functions_eagerly(true);
    const Tensors expected = f.call(arguments);
    run_functions_eagerly(false);
    EXPECT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].spec(), expected[k].spec()) << "size " << size;
      const auto a = cast(found[k], DType::f32).to_vector<float>(),
                 b = cast(expected[k], DType::f32).to_vector<float>();
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << "size " << size;
    }
  }
  return f.tracing_count();
}

/// A size as a tensor, in an open trace and outside of one.
Tensor open_or_known(std::int64_t size) {
  return is_open(size) ? open_sizes({&size, 1}, DType::i32)
                       : Tensor::from(std::vector{static_cast<std::int32_t>(size)}, {1});
}

const std::vector<InputSpec> kRows = {{DType::f32, {kAny, 6}}};
const std::vector<std::int64_t> kSizes = {4, 1, 2, 3, 5, 8, 33};

TEST(OpenSizes, OneTraceServesAnyBatch) {
  EXPECT_EQ(traces_of([](Tensor x) { return softmax(matmul(x, ones({6, 4}))) * 2.0f; }, kRows, kSizes), 1);
}

TEST(OpenSizes, MeansOverTheBatchAndTheirGradientsFollowTheSize) {
  const auto step = [](Tensor x, Tensor y) -> Tensors {
    GradientTape tape;
    tape.watch(x);
    const Tensor loss = reduce_mean(square(x - y));
    return {loss, tape.gradient(loss, Tensors{x})[0], reduce_mean(x, {0})};
  };
  EXPECT_EQ(traces_of(step, {{DType::f32, {kAny, 7}}, {DType::f32, {kAny, 7}}}, kSizes), 1);
}

TEST(OpenSizes, ShapesReckonedFromTheBatchFollowIt) {
  const auto body = [](Tensor x) -> Tensors {
    const std::int64_t rows = x.shape()[0];
    return {reshape(x, Ints{rows * 2, 3}),
            reshape(x, Ints{-1}),
            broadcast_to(reduce_sum(x, {0}, true), {rows, 6}),
            zeros({rows, 2}),
            concat({x, x}, 0),
            gather(x, cast(range(static_cast<double>(rows - 1), -1, -1), DType::i32))};
  };
  EXPECT_EQ(traces_of(body, kRows, kSizes), 1);
}

TEST(OpenSizes, ConvolutionsAndPoolsTakeAnyBatch) {
  const Tensor filters = random_normal({3, 3, 2, 4});
  const auto body = [&](Tensor x) { return reshape(max_pool2d(relu(conv2d(x, filters))), Ints{x.shape()[0], -1}); };
  EXPECT_EQ(traces_of(body, {{DType::f32, {kAny, 8, 8, 2}}}, kSizes), 1);
}

TEST(OpenSizes, WhatCanOnlyBeSaidForOneSizeIsTracedForEach) {
  const std::pair<const char*, Tensor (*)(Tensor)> bodies[] = {
      {"a half", [](Tensor x) { return slice(x, {x.shape()[0] / 2, 0}, {x.shape()[0] - x.shape()[0] / 2, 6}); }},
      {"a number", [](Tensor x) { return reduce_sum(x) / static_cast<float>(x.shape()[0]); }},
      {"its inverse", [](Tensor x) { return reduce_sum(x) * (1.0f / static_cast<float>(x.shape()[0])); }},
      {"its root", [](Tensor x) { return x * std::sqrt(static_cast<double>(x.shape()[0])); }},
      {"a ratio",
       [](Tensor x) { return x * (static_cast<double>(x.shape()[0]) / static_cast<double>(x.shape()[0] + 1)); }},
      {"an integer", [](Tensor x) { return x + cast(Tensor::scalar(x.shape()[0], DType::i32), DType::f32); }},
      {"a branch", [](Tensor x) { return x.shape()[0] > 100 ? x * 2.0f : x; }},
      {"steps", [](Tensor x) { return strided_slice(x, {0, 0}, {(x.shape()[0] + 1) / 2, 6}, {2, 1}); }},
  };
  for (const auto& [name, body] : bodies)
    EXPECT_GE(traces_of(body, kRows, kSizes), static_cast<int>(kSizes.size())) << name;
}

TEST(OpenSizes, SizesTooSmallForWhatWasTracedAreTracedByThemselves) {
  const auto rest = [](Tensor x) { return slice(x, {2, 0}, {x.shape()[0] - 2, 6}); };
  EXPECT_EQ(traces_of(rest, kRows, {4, 3, 2, 9}), 1);
  const auto squeezed = [](Tensor x) { return squeeze(x); };
  EXPECT_EQ(traces_of(squeezed, kRows, {4, 3, 9}), 1);
  EXPECT_EQ(traces_of(squeezed, kRows, {4, 1, 9}), 2);
}

TEST(OpenSizes, EmptyBatchesAreTracedByThemselves) {
  EXPECT_EQ(traces_of([](Tensor x) { return reduce_sum(x, {0}); }, kRows, {3, 0, 5}), 2);
}

TEST(OpenSizes, TwoOpenAxesAreIndependent) {
  auto f = function([](Tensor x) -> Tensors { return {reduce_sum(x, {1}), transpose(x, {1, 0})}; },
                    {.input_signature = {{DType::f32, {kAny, kAny}}}});
  for (const Shape& shape : {Shape{3, 4}, Shape{7, 2}, Shape{5, 1}}) {
    const Tensor x = random_normal(shape);
    const Tensors found = f(x);
    EXPECT_EQ(found[0].to_vector<float>(), reduce_sum(x, {1}).to_vector<float>());
    EXPECT_EQ(found[1].to_vector<float>(), transpose(x, {1, 0}).to_vector<float>());
  }
  EXPECT_EQ(f.tracing_count(), 1);
}

TEST(OpenSizes, EqualSizesOfDifferentInputsAreNotTakenForGranted) {
  auto f = function([](Tensor x, Tensor y) { return x + y; },
                    {.input_signature = {{DType::f32, {kAny, 2}}, {DType::f32, {kAny, 2}}}});
  EXPECT_EQ(f(ones({3, 2}), ones({3, 2})).shape(), (Shape{3, 2}));
  EXPECT_EQ(f(ones({1, 2}), ones({4, 2})).shape(), (Shape{4, 2}));
  EXPECT_EQ(f(ones({5, 2}), ones({1, 2})).shape(), (Shape{5, 2}));
  EXPECT_EQ(f(ones({9, 2}), ones({9, 2})).to_vector<float>(), std::vector<float>(18, 2));
  EXPECT_THROW(f(ones({3, 2}), ones({4, 2})), Error);
}

/// A branch over the rows inside a loop that turns four times.
Tensor branch_in_loop(const Tensor& x) {
  const auto turn = [&](const Tensors& v) {
    const Tensor next = cond(
        greater(reduce_sum(v[1]), Tensor(0.0f)), [&] { return v[1] * 0.5f - x; },
        [&] { return v[1] + broadcast_to(reduce_mean(x, {0}, true), x.shape()); });
    return Tensors{v[0] + 1, next};
  };
  return while_loop([](const Tensors& v) { return less(v[0], Tensor(4)); }, turn, {Tensor(0), x})[1];
}

TEST(OpenSizes, BranchesAndLoopsFollowTheSize) {
  const auto branch = [](Tensor x) {
    return cond(
        greater(reduce_sum(x), Tensor(0.0f)), [&] { return x * 2.0f; }, [&] { return zeros({x.shape()[0], 6}); });
  };
  EXPECT_EQ(traces_of(branch, kRows, kSizes), 1);
  EXPECT_EQ(traces_of([](Tensor x) { return branch_in_loop(x); }, kRows, kSizes), 1);
}

TEST(OpenSizes, GradientsOfBranchesAndLoopsFollowTheSize) {
  const auto step = [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(reduce_mean(square(branch_in_loop(x))), Tensors{x})[0];
  };
  EXPECT_EQ(traces_of(step, kRows, kSizes), 1);
}

TEST(OpenSizes, ALoopOverTheRowsTurnsAsOftenAsThereAreRows) {
  const auto sums = [](Tensor x) {
    const auto go_on = [&](const Tensors& v) { return less(v[0], reshape(open_or_known(x.shape()[0]), Shape{})); };
    const auto turn = [&](const Tensors& v) { return Tensors{v[0] + 1, v[1] + gather(x, v[0])}; };
    return while_loop(go_on, turn, {Tensor(0), zeros({6})}, {.maximum_iterations = x.shape()[0]})[1];
  };
  EXPECT_EQ(traces_of(sums, kRows, kSizes), 1);
}

TEST(OpenSizes, GradientsGivenByHandFollowTheSize) {
  const auto step = [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    const auto twice = [](const Tensors& in) -> WithGradient {
      return {{in[0] * 2.0f}, [in](const Tensors& up, const Tensors&) { return Tensors{up[0] * in[0] * 3.0f}; }};
    };
    return tape.gradient(reduce_sum(custom_gradient({x}, twice)[0]), Tensors{x})[0];
  };
  EXPECT_EQ(traces_of(step, kRows, kSizes), 1);
}

TEST(OpenSizes, VariablesAssignedInABranchAreAssignedByEverySize) {
  const Variable total(Tensor(0.0f));
  auto f = function(
      [&](Tensor x) {
        return cond(
            greater(reduce_sum(x), Tensor(0.0f)), [&] { return total.assign_add(reduce_sum(x)), x; },
            [&] { return x * 2.0f; });
      },
      {.input_signature = {{DType::f32, {kAny}}}});
  f(ones({3}));
  EXPECT_EQ(f(ones({5}) * -1.0f).to_vector<float>(), std::vector<float>(5, -2));
  f(ones({4}));
  EXPECT_EQ(total.value().item<float>(), 7);
  EXPECT_EQ(f.tracing_count(), 1);
}

TEST(OpenSizes, WhyEachSizeIsTracedCanBeRead) {
  auto f =
      function([](Tensor x) { return slice(x, {x.shape()[0] / 2}, {1}); }, {.input_signature = {{DType::f32, {kAny}}}});
  f(ones({3})), f(ones({2}));
  EXPECT_NE(f.retraces().back().reason.find("its sizes cannot be left open: "), std::string::npos)
      << f.retraces().back().reason;
}

TEST(OpenSizes, VariablesAreReadAndWrittenByEverySize) {
  const Variable total(Tensor(0.0f));
  auto f = function([&](Tensor x) { return total.assign_add(reduce_sum(x)), total.value() * 2.0f; },
                    {.input_signature = {{DType::f32, {kAny}}}});
  EXPECT_EQ(f(ones({3})).item<float>(), 6);
  EXPECT_EQ(f(ones({5})).item<float>(), 16);
  EXPECT_EQ(total.value().item<float>(), 8);
  EXPECT_EQ(f.tracing_count(), 1);
}

TEST(OpenSizes, NumbersAreFoundAgainOrNotAtAll) {
  const std::int64_t sizes[] = {12, 5, 7};
  const LargeShapes allowed;
  for (std::int64_t number : {0, -1, 1, 784, 50257, 1 << 30}) EXPECT_EQ(size_at(number, sizes), number);
  const std::int64_t n = open_size(0), m = open_size(1), l = open_size(2);
  EXPECT_EQ(size_at(n, sizes), 12);
  EXPECT_EQ(size_at(n * 784, sizes), 12 * 784);
  EXPECT_EQ(size_at(n - 1, sizes), 11);
  EXPECT_EQ(size_at(3 * m + 100, sizes), 115);
  EXPECT_EQ(size_at(n + m, sizes), 17);
  EXPECT_EQ(size_at(2 * l - n, sizes), 2);
  for (std::int64_t number : {n / 2, n / 3, n + n / 2, -n, n - 13, m * 3 / 2, n + m + l, n * 2 / 3})
    EXPECT_EQ(size_at(number, sizes), std::nullopt) << number;
  EXPECT_EQ(open_text(Shape{n, 3, n * 2 + 1}), "[None, 3, 2n + 1]");
}

TEST(OpenSizes, NothingIsOpenOutsideOfATrace) {
  EXPECT_FALSE(is_open(open_size(0)));
  EXPECT_TRUE(Opening({{DType::f32, Shape{0, 3}}}, {1}).sizes.empty());
  EXPECT_TRUE(Opening({{DType::f32, Shape{2, 3}}}, {}).sizes.empty());
  const Opening same({{DType::f32, Shape{4, 3}}, {DType::f32, Shape{4}}}, {1, 1});
  EXPECT_EQ(same.sizes, (std::vector<std::int64_t>{4}));
  EXPECT_EQ(same.specs[1].shape()[0], open_size(0));
}

}  // namespace
}  // namespace tandem
