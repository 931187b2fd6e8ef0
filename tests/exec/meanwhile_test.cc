#include "tandem/exec/meanwhile.h"

#include <gtest/gtest.h>

#include "tandem/tandem.h"

namespace tandem {
namespace {

/// How often the task is called while a function runs twice.
int calls(const std::function<Tensor(const Tensor&)>& body) {
  const Function traced = function([&](const Tensors& in) { return Tensors{body(in[0])}; });
  const Tensor x = ones({4, 4});
  traced.call({x});
  int called = 0;
  const Meanwhile count([&](const Plan&) { ++called; });
  traced.call({x});
  traced.call({x});
  return called;
}

Tensor on_gpu(const Tensor& x) {
  const DeviceScope scope("/GPU:0");
  return matmul(x, x);
}

Tensor on_host(const Tensor& x) {
  const DeviceScope scope("/CPU:0");
  return matmul(x, x);
}

TEST(Meanwhile, IsCalledOnceBeforeTheHostWaitsForADevice) {
  EXPECT_EQ(calls([](const Tensor& x) { return on_host(on_gpu(x)); }), 1);
  EXPECT_EQ(calls([](const Tensor& x) { return on_host(x); }), 0) << "nobody is waited for";
  EXPECT_EQ(calls([](const Tensor& x) { return on_gpu(on_host(x)); }), 0);
}

TEST(Meanwhile, WhatItThrowsEndsThePlanAndTheNextRunIsWhole) {
  const Function traced = function([](const Tensors& in) { return Tensors{on_host(on_gpu(in[0]))}; });
  const Tensor x = ones({2, 2});
  {
    const Meanwhile failing([](const Plan&) { fail(ErrorCode::invalid_argument, "no batch"); });
    EXPECT_THROW(traced.call({x}), Error);
  }
  EXPECT_EQ(reduce_max(traced.call({x})[0]).item<double>(), 8);
}

TEST(Meanwhile, ArgumentsOfTheNextRunAreOnTheirWayToTheDeviceThatReadsThem) {
  const Function traced = function([](const Tensors& in) { return Tensors{on_host(on_gpu(in[0])) + in[1]}; });
  const Tensors first{ones({2, 2}), ones({2, 2})}, next{ones({2, 2}), ones({2, 2})};
  // A run that was handed over has made its copies once its result is read.
  const auto run = [&](const Tensors& arguments) { return reduce_max(traced.call(arguments)[0]).item<double>(); };
  run(first);
  const Meanwhile ahead([&](const Plan& running) { running.start_copies(next); });
  const TransferStats before = transfer_stats();
  run(first);
  EXPECT_EQ(transfer_stats().to_device.count, before.to_device.count + 1) << "what the host reads stays";
  run(next);
  EXPECT_EQ(transfer_stats().to_device.count, before.to_device.count + 1) << "it was there";
}

}  // namespace
}  // namespace tandem
