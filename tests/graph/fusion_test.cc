// Fused regions against the ops they are made of, one by one: elementwise ops before a reduction, after a product, with
// several results; on the CPU and on the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tandem/base/cores.h"
#include "tandem/graph/passes.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

using Body = std::function<Tensors(const Tensors&)>;

Graph optimized(const Body& body, const Tensors& arguments) {
  return optimize(function(body).concrete(arguments)->graph());
}

std::vector<double> numbers(const Tensor& tensor) { return cast(tensor, DType::f64).to_vector<double>(); }

/// The traced function gives what its ops give, on `device`.
void expect_as_eager(const Body& body, const Tensors& arguments, double tolerance, const char* device = "/CPU:0") {
  Tensors expected, results;
  {
    DeviceScope scope("/CPU:0");
    expected = body(arguments);
  }
  {
    DeviceScope scope(device);
    results = function(body)(arguments);
  }
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].spec(), expected[i].spec());
    const auto got = numbers(results[i]), wanted = numbers(expected[i]);
    for (std::size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], wanted[k], tolerance * (1 + std::abs(wanted[k])))
          << "result " << i << ", element " << k << " on " << device << "\n"
          << optimized(body, arguments).to_string();
  }
}

constexpr const char* kDevices[] = {"/CPU:0", "/GPU:0"};

TEST(Fusion, AReductionTakesInTheOpsBeforeIt) {
  const Tensors x{random_normal({40, 70}), random_normal({70})};
  for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}, Ints{-1}}) {
    const Body body = [&](const Tensors& a) { return Tensors{reduce_mean(square(a[0] - a[1]), axes)}; };
    const Graph graph = optimized(body, x);
    EXPECT_EQ(graph.op_count(), 1u) << graph.to_string();
  }
}

TEST(DevicesFusion, EveryReductionOverAnyAxesGivesWhatItsOpsGive) {
  const Tensors x{random_normal({7, 70, 9}), random_normal({9}), random_normal({70, 1}), random_normal({})};
  for (const char* device : kDevices)
    for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}, Ints{2}, Ints{0, 1}, Ints{1, 2}, Ints{0, 2}})
      for (const bool keepdims : {false, true}) {
        const auto check = [&](const Body& body) { expect_as_eager(body, x, 1e-5, device); };
        check([&](const Tensors& a) { return Tensors{reduce_sum(tanh(a[0]) * 0.5, axes, keepdims)}; });
        check([&](const Tensors& a) { return Tensors{reduce_mean(a[0] * a[1], axes, keepdims)}; });
        check([&](const Tensors& a) { return Tensors{reduce_max(a[0] - a[2], axes, keepdims)}; });
        check([&](const Tensors& a) { return Tensors{reduce_min(abs(a[0]) * a[3], axes, keepdims)}; });
        check([&](const Tensors& a) { return Tensors{reduce_prod(1.0 + 0.01 * a[0], axes, keepdims)}; });
        check([&](const Tensors& a) { return Tensors{reduce_any(greater(a[0], 2.0 + a[3]), axes, keepdims)}; });
        check([&](const Tensors& a) { return Tensors{reduce_all(less(a[0], 2.0 + a[1]), axes, keepdims)}; });
      }
}

TEST(DevicesFusion, ReductionsOfEveryDtypeGiveWhatTheirOpsGive) {
  for (const char* device : kDevices)
    for (const DType dtype : {DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64}) {
      // Of one sign: the ops one by one round to 16 bits in between, and sums that cancel would show it. Small enough
      // for the sum of all to be a float16, whatever the numbers drawn.
      const Tensors x{cast(random_uniform({33, 129}, 1, 5), dtype), cast(random_uniform({129}, 1, 4), dtype)};
      const double tolerance = dtype == DType::f16 ? 2e-2 : dtype == DType::bf16 ? 1e-1 : 1e-9;
      for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}})
        expect_as_eager(
            [&](const Tensors& a) {
              return Tensors{reduce_sum(a[0] * a[1] + a[1], axes), reduce_max(a[0] - a[1], axes)};
            },
            x, tolerance, device);
    }
}

TEST(Fusion, AReductionHasTheSameBitsWithAnyNumberOfThreads) {
  const Tensor x = random_normal({1000, 1000}), row = random_normal({1000});
  for (const Ints& axes : {Ints{}, Ints{0}, Ints{1}}) {
    auto f = function([&](const Tensors& a) { return Tensors{reduce_sum(exp(a[0]) * a[1], axes)}; });
    Cores::process().set_threads(1);
    const auto one = f(Tensors{x, row})[0].to_vector<float>();
    Cores::process().set_threads(3);
    EXPECT_EQ(f(Tensors{x, row})[0].to_vector<float>(), one);
    Cores::process().set_threads(usable_cores());
  }
}

TEST(Fusion, AProductGoesOnWithItsBiasAndActivation) {
  const Tensors dense{random_normal({32, 20}), random_normal({20, 16}), random_normal({16})};
  const Graph a = optimized([](const Tensors& v) { return Tensors{relu(bias_add(matmul(v[0], v[1]), v[2]))}; }, dense);
  EXPECT_EQ(a.op_count(), 1u) << a.to_string();
  const Tensors image{random_normal({2, 9, 9, 3}), random_normal({3, 3, 3, 8}), random_normal({8})};
  const Graph b = optimized([](const Tensors& v) { return Tensors{tanh(bias_add(conv2d(v[0], v[1]), v[2]))}; }, image);
  EXPECT_EQ(b.op_count(), 1u) << b.to_string();
}

TEST(Fusion, AProductGoesOnWithWhatFollowsItsReshape) {
  // The way back through Flatten: the gradient of the layer before it.
  const Tensors x{random_normal({8, 5}), random_normal({24, 5}), random_normal({8, 2, 3, 4})};
  const Body body = [](const Tensors& v) {
    return Tensors{tanh(reshape(matmul(v[0], v[1], false, true), Shape({8, 2, 3, 4})) * v[2])};
  };
  const Graph graph = optimized(body, x);
  EXPECT_EQ(std::ranges::count_if(graph.nodes, [](const Node& node) { return !is_source(node) && !node.op->view; }), 1)
      << graph.to_string();
  EXPECT_EQ(function(body)(x)[0].to_vector<float>(), body(x)[0].to_vector<float>());
  EXPECT_EQ(function(body)(x)[0].shape(), Shape({8, 2, 3, 4}));
}

TEST(Fusion, AProductThatGoesOnWithAValueNobodyNeedsAnyMoreLiesWhereThatWas) {
  const Tensors x{random_normal({64, 10}), random_normal({1500, 10}), random_normal({64, 1500})};
  const DeviceName host;  // a plan for several devices has other buffers
  const auto bytes_and_check = [&](const Body& body) {
    const auto f = function(body);
    EXPECT_EQ(f(x)[0].to_vector<float>(), body(x)[0].to_vector<float>());
    return f.concrete(x)->plan(&host)->arena_bytes();
  };
  const std::size_t whole = x[2].spec().bytes();
  const auto larger = [](const Tensors& v, const Tensor& than) {
    return maximum(matmul(v[0], v[1], false, true), than);
  };
  const std::size_t once =
      bytes_and_check([&](const Tensors& v) { return Tensors{reduce_max(larger(v, softmax(v[2])))}; });
  EXPECT_LT(once, 2 * whole);
  const std::size_t twice = bytes_and_check([&](const Tensors& v) {
    const Tensor first = softmax(v[2]);
    return Tensors{reduce_max(larger(v, first)) + reduce_max(softmax(first))};
  });
  EXPECT_GE(twice, 2 * whole);
}

TEST(Fusion, AReshapedProductReadByOthersStaysAsItIs) {
  const Tensors x{random_normal({8, 5}), random_normal({5, 6}), random_normal({4, 12})};
  const Body body = [](const Tensors& v) {
    const Tensor product = reshape(matmul(v[0], v[1]), Shape({4, 12}));
    return Tensors{product * v[2], product};
  };
  EXPECT_EQ(optimized(body, x).op_count(), 3u) << optimized(body, x).to_string();
  expect_as_eager(body, x, 1e-6);
}

TEST(DevicesFusion, WhatFollowsReshapedProductsGivesWhatItsOpsGive) {
  for (const char* device : kDevices)
    for (const std::int64_t rows : {3, 64, 70}) {
      const Tensors x{random_normal({rows, 10}), random_normal({1300, 10}), random_normal({rows, 10, 130}),
                      random_normal({130})};
      const auto product = [](const Tensors& v) { return reshape(matmul(v[0], v[1], false, true), v[2].shape()); };
      expect_as_eager([&](const Tensors& v) { return Tensors{relu(product(v)) * v[2] - v[2]}; }, x, 1e-5, device);
      expect_as_eager([&](const Tensors& v) { return Tensors{bias_add(product(v) * v[2], v[3])}; }, x, 1e-5, device);
      expect_as_eager([&](const Tensors& v) { return Tensors{where(greater(v[2], 0.0), product(v), v[2])}; }, x, 1e-5,
                      device);
    }
}

TEST(Fusion, AProductReadByOthersStaysAsItIs) {
  const Tensors x{random_normal({8, 8}), random_normal({8, 8})};
  const Graph graph = optimized(
      [](const Tensors& v) {
        const Tensor product = matmul(v[0], v[1]);
        return Tensors{relu(product), matmul(product, v[0])};
      },
      x);
  EXPECT_EQ(graph.op_count(), 3u) << graph.to_string();
}

TEST(DevicesFusion, WhatFollowsAProductGivesWhatItsOpsGive) {
  for (const char* device : kDevices)
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1, 5, 1},
                                  {33, 100, 10},
                                  {64, 300, 70},
                                  {5, 2100, 17},
                                  {32, 784, 128},
                                  {200, 0, 9}}) {
      const Tensors x{random_normal({m, k}), random_normal({k, n}, 0, 0.1), random_normal({n}), random_normal({m, n}),
                      random_normal({})};
      const auto check = [&](const Body& body) { expect_as_eager(body, x, 1e-4, device); };
      check([](const Tensors& v) { return Tensors{relu(bias_add(matmul(v[0], v[1]), v[2]))}; });
      check([](const Tensors& v) { return Tensors{gelu(matmul(v[0], v[1]) + v[2]) * v[3] - v[4]}; });
      check([](const Tensors& v) { return Tensors{where(greater(v[3], 0.0), matmul(v[0], v[1]), v[3])}; });
      check([](const Tensors& v) {
        const Tensor before = matmul(v[0], v[1]) + v[2];
        return Tensors{sigmoid(before), before};
      });
    }
}

TEST(DevicesFusion, WhatFollowsABatchOfProductsOrAConvolutionGivesWhatItsOpsGive) {
  for (const char* device : kDevices) {
    const Tensors x{random_normal({3, 4, 20, 8}), random_normal({4, 8, 12}), random_normal({12}),
                    random_normal({3, 4, 20, 12})};
    expect_as_eager([](const Tensors& v) { return Tensors{tanh(matmul(v[0], v[1]) + v[2]) * v[3]}; }, x, 1e-5, device);
    const Tensors image{random_normal({5, 12, 11, 6}), random_normal({3, 3, 6, 10}), random_normal({10}),
                        random_normal({3, 3, 3, 10})};
    expect_as_eager(
        [](const Tensors& v) { return Tensors{relu(bias_add(conv2d(v[0], v[1], {.padding = "same"}), v[2]))}; }, image,
        1e-4, device);
    expect_as_eager([](const Tensors& v) { return Tensors{gelu(bias_add(conv2d(v[0], v[3]), v[2]))}; }, image, 1e-4,
                    device);  // two groups
  }
}

TEST(DevicesFusion, ProductsOfEveryFloatGoOn) {
  for (const char* device : kDevices)
    for (const DType dtype : {DType::f64, DType::f16, DType::bf16}) {
      const Tensors x{cast(random_normal({17, 30}), dtype), cast(random_normal({30, 21}), dtype),
                      cast(random_normal({21}), dtype)};
      expect_as_eager([](const Tensors& v) { return Tensors{relu(matmul(v[0], v[1]) + v[2])}; }, x,
                      dtype == DType::f64   ? 1e-12
                      : dtype == DType::f16 ? 1e-2
                                            : 8e-2,
                      device);
    }
}

TEST(Fusion, AProductThatGoesOnHasTheBitsOfItsOps) {
  const Tensors x{random_normal({130, 70}), random_normal({70, 90}), random_normal({90})};
  const Body body = [](const Tensors& v) { return Tensors{tanh(bias_add(matmul(v[0], v[1]), v[2]))}; };
  EXPECT_EQ(function(body)(x)[0].to_vector<float>(), body(x)[0].to_vector<float>());
}

TEST(DevicesFusion, AValueReadByOthersTooIsStoredOnTheWay) {
  const Tensors x{random_normal({50, 60}), random_normal({60})};
  const Body body = [](const Tensors& v) {
    const Tensor middle = exp(v[0] * 0.1) + v[1];
    return Tensors{tanh(middle) * v[0], matmul(middle, middle, true)};
  };
  const Graph graph = optimized(body, x);
  EXPECT_EQ(graph.op_count(), 2u) << graph.to_string();
  for (const char* device : kDevices) expect_as_eager(body, x, 1e-4, device);
}

TEST(DevicesFusion, GradientsOfFusedFunctionsAreThoseOfTheirOps) {
  const Tensors x{random_normal({32, 20}), random_normal({20, 16}, 0, 0.3), random_normal({16}),
                  random_normal({16, 4})};
  for (Tensor (*activation)(const Tensor&) :
       {+[](const Tensor& t) { return relu(t); }, +[](const Tensor& t) { return tanh(t); },
        +[](const Tensor& t) { return gelu(t); }, +[](const Tensor& t) { return sigmoid(t); }})
    for (const char* device : kDevices)
      expect_as_eager(
          [activation](const Tensors& v) {
            GradientTape tape;
            for (const Tensor& one : v) tape.watch(one);
            const Tensor loss = reduce_mean(square(matmul(activation(bias_add(matmul(v[0], v[1]), v[2])), v[3])));
            Tensors results = tape.gradient(loss, v);
            results.push_back(loss);
            return results;
          },
          x, 1e-4, device);
}

TEST(Fusion, WhatAnUpdateOverwritesStaysInPlace) {
  const Variable w(ones({64, 64}));
  const Tensor gradient = ones({64, 64});
  Sgd optimizer;
  auto step = function([&](const Tensors& v) {
    optimizer.apply_gradients({w}, {v[0] * 0.5});
    return Tensors{reduce_sum(v[0])};
  });
  step(Tensors{gradient});
  const void* before = w.value().raw_data();
  for (int i = 0; i < 3; ++i) step(Tensors{gradient});
  EXPECT_EQ(w.value().raw_data(), before);
  EXPECT_FLOAT_EQ(w.value().to_vector<float>()[5], 1 - 4 * 0.005f);
}

/// Two regions that each store what the other reads would wait for one another.
TEST(Fusion, RegionsThatStoreForOneAnotherDoNotWaitForEachOther) {
  const Tensors x{random_normal({64}), random_normal({64})};
  for (int width = 1; width <= 6; ++width)
    expect_as_eager(
        [&](const Tensors& a) {
          Tensors left{a[0] + 1.0}, right{a[1] * 2.0};
          for (int k = 0; k < 3 * width; ++k) {
            const Tensor &l = left[left.size() - 1], &r = right[right.size() > static_cast<std::size_t>(width)
                                                                    ? right.size() - 1 - static_cast<std::size_t>(width)
                                                                    : 0];
            left.push_back(l * 0.5 + r);
            right.push_back(right.back() + left[left.size() / 2] * 0.25);
          }
          Tensors out{reduce_sum(left.back()), right.back()};
          for (std::size_t k = 0; k < left.size(); k += 2)
            out.push_back(gather(left[k], argmax(right[k], 0, DType::i32)));
          return out;
        },
        x, 1e-5);
}

}  // namespace
}  // namespace tandem
