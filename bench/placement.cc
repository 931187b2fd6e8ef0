// Placement: what the placer takes, what it adds to an eager op, and what measuring the machine takes.
#include <algorithm>
#include <random>

#include "bench/gpu.h"
#include "tandem/place/schedule.h"
#include "tandem/runtime/calibration.h"

namespace tandem::bench {
namespace {

/// A CPU and `gpus` GPUs with given speeds.
Machine machine(int gpus, double gpu_gflops, double latency_us) {
  Machine made{.devices = {{.name = "/CPU:0", .peak_gflops = {{DType::f32, 100}}, .gb_per_s = 20, .launch_us = 0.1}}};
  for (int g = 0; g < gpus; ++g) {
    const std::string name = text("/GPU:", g);
    made.devices.push_back(
        {.name = name, .peak_gflops = {{DType::f32, gpu_gflops}}, .gb_per_s = gpu_gflops / 5, .launch_us = 0.2});
    made.links.push_back({"/CPU:0", name, latency_us, 10});
    made.links.push_back({name, "/CPU:0", latency_us, 10});
    for (int other = 0; other < g; ++other) {
      made.links.push_back({name, text("/GPU:", other), latency_us, 10});
      made.links.push_back({text("/GPU:", other), name, latency_us, 10});
    }
  }
  return made;
}

/// Each node reads one or two of the twenty before it.
PlaceGraph layered(int nodes) {
  std::mt19937 random(7);
  PlaceGraph graph;
  for (int n = 0; n < nodes; ++n) {
    const double flops = 1e5 * static_cast<double>(1 + random() % 1000);
    graph.nodes.push_back(
        {.id = text(n), .work = OpWork{.op = "op", .flops = flops, .bytes = flops / 10}, .memory = 4096});
    for (int k = 0; k < 2 && n > 0; ++k)
      graph.edges.push_back({n - 1 - static_cast<int>(random() % static_cast<unsigned>(std::min(n, 20))), n, 4096});
  }
  return graph;
}

std::vector<Row> placer() {
  const auto seconds = [](int nodes, int gpus) {
    const PlaceGraph graph = layered(nodes);
    const Machine four = machine(gpus, 1000, 10);
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double begin = now();
      place(graph, four);
      best = std::min(best, now() - begin);
    }
    return best;
  };
  const double small = seconds(100, 1) * 1e3, large = seconds(10000, 3);
  return {{"place_100_nodes", small, "ms", "goal 5 ms", 5, small / 5, "<= 1"},
          {"place_10000_nodes_4_devices", large, "s", "goal 0.5 s", 0.5, large / 0.5, "<= 1"}};
}

/// The same op where it is best off, and where it would be faster elsewhere but for a link that never pays.
std::vector<Row> eager() {
  if (!gpu()) return {};
  const Tensor x = ones({80, 80}), y = ones({80, 80});
  const auto seconds = [&](double gpu_gflops) {
    default_runtime().set_machine(machine(1, gpu_gflops, 1e15));
    return seconds_of([&] { add(x, y); });
  };
  const Pair pair = compare([&] { return seconds(1e6); }, [&] { return seconds(1); });
  default_runtime().set_machine(std::nullopt);
  const double added = (pair.ours - pair.reference) * 1e9;
  return {{"eager_placement_adds", added, "ns", "goal 30 ns", 30, added / 30, "<= 1"}};
}

/// Once programs are compiled, which a first run on a host has to do.
std::vector<Row> quick_pass() {
  if (!gpu()) return {};
  const auto devices = default_runtime().devices();
  calibrate(devices);
  const double begin = now();
  calibrate(devices);
  const double each = (now() - begin) * 1e3;
  return {{"calibrate_quick", each, "ms", "goal 200 ms", 200, each / 200, "<= 1"}};
}

/// A step of a small network with its gradient.
auto network_step(std::int64_t width) {
  const Tensor w1 = fill({width, width}, 0.01), w2 = fill({width, width}, 0.02);
  return function([=](Tensor x) -> Tensors {
    GradientTape tape;
    tape.watch(w1);
    tape.watch(w2);
    const Tensor loss = reduce_mean(square(matmul(relu(matmul(x, w1)), w2)));
    return tape.gradient(loss, {w1, w2});
  });
}

/// After `tandem calibrate`, the predicted time of a step against the measured one, on each device of this machine
/// alone.
std::vector<Row> predicted() {
  if (!gpu()) return {};
  Runtime& runtime = default_runtime();
  const auto devices = runtime.devices();
  Machine whole = calibrate(devices, {.seconds = 1, .full = true});
  // Beside other programs nothing is learnt of single ops, and what is left predicts other steps than theirs.
  for (int again = 0; whole.doubt && again < 2; ++again) whole = calibrate(devices, {.seconds = 1, .full = true});
  const Tensor x = fill({256, 512}, 0.5);
  std::vector<Row> rows;
  for (Device* device : devices) {
    Machine alone{.measured = whole.measured};
    for (const MachineDevice& one : whole.devices)
      if (one.name == device->name().short_name()) alone.devices.push_back(one);
    const auto step = network_step(512);
    const double told = explain(step, {x}, {.machine = alone}).makespan_us;
    const std::string name = device->name().short_name();
    const DeviceScope scope{std::string_view(name)};
    const auto body = [&] { step(x); };
    const double took = 1e6 * (device->memory().is_host() ? seconds_of(body, 0.5) : gpu_seconds_of(body, 0.5));
    rows.push_back({"predicted_step_" + std::string(device->memory().is_host() ? "cpu" : "gpu"), told, "us", "measured",
                    took, std::max(told / took, took / told), "<= 1.2"});
  }
  return rows;
}

double middle(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

/// A step that notes the reason of each op, as it always does, and one that notes nothing. What is asked for is one
/// percent, less than the machine's speed varies from one tenth of a second to the next: so short blocks follow each
/// other as with, without, without, with, and the middle of their ratios counts.
std::vector<Row> reasons() {
  const auto step = network_step(128);
  const Tensor x = fill({64, 128}, 0.5);
  const double each = seconds_of([&] { step(x); });
  const int steps = std::max(1, static_cast<int>(0.5e-3 / each));
  const auto seconds = [&](bool on) {
    set_events_enabled(on);
    const double begin = now();
    for (int i = 0; i < steps; ++i) step(x);
    return (now() - begin) / steps;
  };
  std::vector<double> with, without, ratios;
  for (int i = 0; i < 801; ++i) {
    const double a = seconds(true), b = seconds(false), c = seconds(false), d = seconds(true);
    with.push_back((a + d) / 2);
    without.push_back((b + c) / 2);
    ratios.push_back((a + d) / (b + c));
  }
  set_events_enabled(true);
  return {{"explain_overhead", middle(with) * 1e6, "us", "without", middle(without) * 1e6, middle(ratios), "<= 1.01"}};
}

}  // namespace

std::vector<Benchmark> placement_benchmarks() {
  return {{"place", placer},
          {"eager_placement", eager},
          {"calibrate_quick", quick_pass},
          {"predicted_step", predicted},
          {"explain_overhead", reasons}};
}

}  // namespace tandem::bench
