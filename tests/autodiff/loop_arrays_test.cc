// Loops that write an array row by row: in place, also on the way back.
#include <gtest/gtest.h>

#include "tandem/autodiff/control_flow.h"
#include "tandem/tandem.h"

namespace tandem {
namespace {

Tensor whole(std::int64_t number) { return Tensor::scalar(number, DType::i32); }

Tensor row_number(const Tensor& turn) { return reshape(turn, Shape({1, 1})); }

/// h = tanh(h + x[t]), written to row t: what a recurrent layer written by hand does.
Tensors recurrence(const Tensor& x, const Tensor& array, bool read_back) {
  const std::int64_t turns = x.shape()[0];
  return while_loop([&](const Tensors& v) { return less(v[0], whole(turns)); },
                    [&](const Tensors& v) {
                      Tensor h = tanh(v[1] + gather(x, v[0]));
                      if (read_back) h = h + 0.5 * gather(v[2], maximum(v[0] - 1, whole(0)));
                      return Tensors{v[0] + 1, h, tensor_scatter_nd_update(v[2], row_number(v[0]), expand_dims(h, 0))};
                    },
                    {whole(0), zeros({x.shape()[1]}), array});
}

Tensor unrolled(const Tensor& x, const Tensor& array, bool read_back) {
  Tensor h = zeros({x.shape()[1]});
  Tensors rows;
  for (std::int64_t t = 0; t < array.shape()[0]; ++t) {
    h = tanh(h + gather(x, whole(t)));
    if (read_back) h = h + 0.5 * (t ? rows.back() : gather(array, whole(0)));
    rows.push_back(h);
  }
  return reshape(concat(rows, 0), array.shape());
}

class LoopArrays : public ::testing::TestWithParam<bool> {};

TEST_P(LoopArrays, GiveTheRowsAndGradientsOfTheUnrolledLoop) {
  const Tensor x = random_normal({6, 4}), array = random_normal({6, 4}), weights = random_normal({6, 4});
  const auto gradients = [&](auto f) {
    GradientTape tape;
    tape.watch(x), tape.watch(array);
    const Tensor rows = f();
    Tensors all = tape.gradient(reduce_sum(rows * weights), Tensors{x, array}, Unconnected::zero);
    all.push_back(rows);
    return all;
  };
  const auto before = array.to_vector<float>();
  auto loop = function([&](Tensor a, Tensor b) { return recurrence(a, b, GetParam())[2]; });
  for (int run = 0; run < 3; ++run) {
    const Tensors got = gradients([&] { return loop(x, array); }),
                  expected = gradients([&] { return unrolled(x, array, GetParam()); });
    for (std::size_t k = 0; k < got.size(); ++k) {
      const auto a = got[k].to_vector<float>(), b = expected[k].to_vector<float>();
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << "result " << k << ", element " << i;
    }
    EXPECT_EQ(array.to_vector<float>(), before);  // the caller's array is nobody's to use up
  }
}

INSTANTIATE_TEST_SUITE_P(ReadingBack, LoopArrays, ::testing::Bool());

TEST(LoopArrays, TakeNoMoreMemoryThanTheirRows) {
  constexpr std::int64_t kTurns = 300, kWidth = 4096;  // 4.9 MB; a copy a turn would be 1.5 GB
  const Tensor x = random_normal({kTurns, kWidth});
  auto loop = function([](Tensor a) { return reduce_sum(recurrence(a, zeros(a.shape()), false)[2]); });
  HostPool& pool = default_runtime().host_pool();
  pool.reset_peak();
  const std::size_t before = pool.info().current;
  GradientTape tape;
  tape.watch(x);
  const Tensor gradient = tape.gradient(loop(x), Tensors{x})[0];
  EXPECT_EQ(gradient.shape(), x.shape());
  EXPECT_LT(pool.info().peak - before, std::size_t{100} << 20);
}

TEST(LoopArrays, WhatTheBodyGivesTwiceIsNotUsedUp) {
  auto loop = function([](Tensor array) {
    const Tensors end = while_loop([](const Tensors& v) { return less(v[0], whole(3)); },
                                   [](const Tensors& v) {
                                     const Tensor next = tensor_scatter_nd_update(
                                         v[1], row_number(v[0]), cast(reshape(v[0] + 1, Shape({1})), DType::f32));
                                     return Tensors{v[0] + 1, next, next};
                                   },
                                   {whole(0), array, array});
    return Tensors{end[1], end[2]};
  });
  const Tensor array = zeros({3});
  const Tensors results = loop(array);
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(array.to_vector<float>(), (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace tandem
