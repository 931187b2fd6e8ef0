// Eager placement on simulated devices: what it takes beside the best placement known in advance.
#include <gtest/gtest.h>

#include <random>

#include "tandem/backend/sim/sim_device.h"
#include "tandem/exec/eager.h"
#include "tandem/exec/graph_placement.h"
#include "tandem/tandem.h"
#include "tests/exec/device_list.h"

namespace tandem {
namespace {

/// A CPU and a GPU as a machine describes them; ops of this thread run there while it lives.
class SimMachine final : public Dispatcher {
 public:
  explicit SimMachine(const Machine& machine)
      : machine_(std::make_shared<const Machine>(machine)),
        cpu_(make(0, &host_memory())),
        gpu_(make(1, nullptr)),
        registry_({cpu_.get(), gpu_.get()}),
        eager_(registry_) {
    gpu_->memory().set_device(gpu_.get());
    eager_.machine = [this] { return machine_; };
    DispatchStack::push(*this);
  }
  ~SimMachine() override { DispatchStack::remove(*this); }
  void run(OpCall& call) override { eager_.run(call); }
  sim::Clock clock;

 private:
  std::unique_ptr<Device> make(std::size_t index, MemorySpace* host) {
    const auto op_us = [this, index](const KernelCall& call) {
      std::vector<const TensorSpec*> specs;
      for (const Operand& input : call.inputs) specs.push_back(&input.spec);
      Specs outputs;
      for (const Operand& output : call.outputs) outputs.push_back(output.spec);
      return predict(work_of(call.op, specs, call.attrs, outputs), machine_->devices[index]).total();
    };
    const auto link_us = [this](const char* from, const char* to) {
      return [this, from, to](std::size_t bytes) {
        return machine_->link(from, to)->microseconds(static_cast<std::int64_t>(bytes));
      };
    };
    return sim::make_device({index == 0 ? "CPU" : "GPU", 0},
                            {op_us, link_us("/CPU:0", "/GPU:0"), link_us("/GPU:0", "/CPU:0")}, clock, host);
  }

  std::shared_ptr<const Machine> machine_;
  std::unique_ptr<Device> cpu_, gpu_;
  DeviceList registry_;
  EagerDispatcher eager_;
};

Machine machine(double gpu_gflops, double launch_us, double latency_us, double gb_per_s) {
  return {.devices = {{.name = "/CPU:0", .peak_gflops = {{DType::f32, 50}}, .gb_per_s = 10, .launch_us = 0.2},
                      {.name = "/GPU:0",
                       .peak_gflops = {{DType::f32, gpu_gflops}},
                       .gb_per_s = 5 * gb_per_s + 20,
                       .launch_us = launch_us}},
          .links = {{"/CPU:0", "/GPU:0", latency_us, gb_per_s}, {"/GPU:0", "/CPU:0", latency_us, gb_per_s}}};
}

double matmul_us(const Machine& machine, std::size_t device, double n) {
  return predict({.op = "matmul", .flops = 2 * n * n * n, .bytes = 12 * n * n}, machine.devices[device]).total();
}

/// What 100 products take that follow one another, x = x · w: the same each time, so that moving pays at once or never.
double best_chain_us(const Machine& machine, std::int64_t n) {
  const double move = 2 * machine.links[0].microseconds(4 * n * n);
  return std::min(100 * matmul_us(machine, 0, static_cast<double>(n)),
                  move + 100 * matmul_us(machine, 1, static_cast<double>(n)));
}

/// x = x · w with another w from the host each time: the least for x here and there after each of them.
double best_chain_of_others_us(const Machine& machine, std::int64_t n) {
  const double copy = machine.links[0].microseconds(4 * n * n), cpu = matmul_us(machine, 0, static_cast<double>(n)),
               gpu = matmul_us(machine, 1, static_cast<double>(n));
  double here = 0, there = copy;
  for (int k = 0; k < 100; ++k) {
    const double from_here = here, from_there = there;
    here = std::min(from_here, from_there + copy) + cpu;
    there = std::min(from_here + copy, from_there) + copy + gpu;
  }
  return std::min(here, there);
}

/// Machines and sizes of many kinds.
class Kinds {
 public:
  double between(double low, double high) {
    return low * std::pow(high / low, static_cast<double>(random_() % 1000) / 1000);
  }
  Machine figures() { return machine(between(10, 20000), between(1, 100), between(1, 1000), between(0.05, 50)); }
  std::int64_t size() { return static_cast<std::int64_t>(between(8, 512)); }

 private:
  std::mt19937 random_{3};
};

TEST(EagerSim, AHundredMatmulsTakeAtMostTwiceTheBestPlacementKnownInAdvance) {
  Kinds kinds;
  int on_gpu = 0;
  for (int i = 0; i < 200; ++i) {
    const Machine figures = kinds.figures();
    const std::int64_t n = kinds.size();
    SimMachine sim(figures);
    Tensor x = ones({n, n});
    const Tensor w = ones({n, n});
    sim.clock = {};
    for (int k = 0; k < 100; ++k) x = matmul(x, w);
    EXPECT_EQ(sim.clock.ops, 100);
    EXPECT_LE(sim.clock.now_us, 2 * best_chain_us(figures, n)) << "size " << n << "\n" << to_json(figures);
    on_gpu += explain(x).device == "/GPU:0";
  }
  EXPECT_GT(on_gpu, 20);  // both kinds were seen
  EXPECT_LT(on_gpu, 180);
}

// Three times is what can be promised where staying, moving and moving back may each turn out to be wrong.
TEST(EagerSim, OperandsThatComeFromTheHostEachTimeAreCountedEachTime) {
  Kinds kinds;
  for (int i = 0; i < 200; ++i) {
    const Machine figures = kinds.figures();
    const std::int64_t n = kinds.size();
    SimMachine sim(figures);
    Tensor x = ones({n, n});
    Tensors others;
    for (int k = 0; k < 100; ++k) others.push_back(ones({n, n}));
    sim.clock = {};
    for (const Tensor& other : others) x = matmul(x, other);
    EXPECT_LE(sim.clock.now_us, 3 * best_chain_of_others_us(figures, n)) << "size " << n << "\n" << to_json(figures);
  }
}

TEST(EagerSim, WhatHasMovedStaysAndIsCopiedOnce) {
  SimMachine sim(machine(5000, 5, 10, 10));
  Tensor x = ones({256, 256});
  const Tensor w = ones({256, 256});
  sim.clock = {};
  for (int k = 0; k < 100; ++k) x = matmul(x, w);
  EXPECT_EQ(explain(x).device, "/GPU:0");
  EXPECT_EQ(sim.clock.copies, 2);
}

}  // namespace
}  // namespace tandem
