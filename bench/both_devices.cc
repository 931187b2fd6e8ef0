// /CPU:0 on one core and a PoCL /GPU:0 on the other: each alone, and what the placer makes of both.
#include "bench/both_devices.h"

#include <cstdio>
#include <sstream>

#include "bench/child.h"
#include "bench/gpu.h"
#include "tandem/exec/placement_log.h"

namespace tandem::bench {
namespace {

struct Work {
  const char* name;
  int steps;  // until it has tried what there is
  Tensors (*arguments)();
  Tensors (*body)(const Tensors&);
};

Tensor chain(Tensor x, const Tensor& w) {
  for (int i = 0; i < 6; ++i) x = matmul(x, w);
  return x;
}

const Work kWorks[] = {
    {"both_matmul_chains", 60,
     [] { return Tensors{random_normal({1024, 1024}, 0, 0.03), random_normal({1024, 1024}, 0, 0.03)}; },
     [](const Tensors& t) { return Tensors{chain(t[0], t[1]), chain(t[1], t[0])}; }},
    {"both_batched_matmul", 50,
     [] { return Tensors{random_normal({24, 1024, 1024}), random_normal({24, 1024, 1024})}; },
     [](const Tensors& t) { return Tensors{matmul(t[0], t[1])}; }},
    {"both_cnn_forward", 800,  // the seeds' network
     [] {
       return Tensors{random_normal({256, 28, 28, 1}), random_normal({3, 3, 1, 32}, 0, 0.1), random_normal({32}),
                      random_normal({26 * 26 * 32, 10}, 0, 0.01), random_normal({10})};
     },
     [](const Tensors& t) {
       const Tensor features = relu(bias_add(conv2d(t[0], t[1]), t[2]));
       return Tensors{softmax(bias_add(matmul(reshape(features, Ints{256, 26 * 26 * 32}), t[3]), t[4]))};
     }},
};

/// Steps that end with their results on the host, for a while; seconds of one.
double seconds_of_steps(const Function& function, const Tensors& arguments, double at_least, int least_steps = 1) {
  const double begin = now();
  int steps = 0;
  do {
    for (const Tensor& result : function.call(arguments)) result.storage().host();
    ++steps;
  } while (now() - begin < at_least || steps < least_steps);
  return (now() - begin) / steps;
}

/// Prints seconds together, on the CPU and on the GPU: the best of some rounds, in turn.
void measure(const Work& work) {
  default_runtime().devices();
  set_log_device_placement(std::getenv("TANDEM_BENCH_EXPLAIN"));
  const Tensors arguments = work.arguments();
  const Function function(work.body);
  const auto seconds = [&](const char* device, double at_least) {
    std::optional<DeviceScope> scope;
    if (device) scope.emplace(device);
    return seconds_of_steps(function, arguments, at_least);
  };
  for (const char* device : {"/CPU:0", "/GPU:0"}) seconds(device, 0.5);
  seconds_of_steps(function, arguments, 5, work.steps);
  double together = 1e9, cpu = 1e9, gpu = 1e9;
  for (int round = 0; round < 5; ++round) {
    together = std::min(together, seconds(nullptr, 0.4));
    cpu = std::min(cpu, seconds("/CPU:0", 0.4));
    gpu = std::min(gpu, seconds("/GPU:0", 0.4));
  }
  std::printf("%.6f %.6f %.6f\n", together, cpu, gpu);
  if (std::getenv("TANDEM_BENCH_EXPLAIN")) std::printf("%s\n", explain(function, arguments).to_text().c_str());
}

/// Seconds together against those of two devices that share the work as their speeds alone say.
std::vector<Row> row(const Work& work) {
  if (!gpu() || Cores::process().threads() < 2) return {};
  double together = 1e9, ideal = 0;
  for (int i = 0; i < 2; ++i) {
    const auto child = run_child("tandem_bench", {text("--child=", work.name)},
                                 {"TANDEM_OPENCL_CPU_AS_GPU=1", "TANDEM_CPU_CORES=0", "TANDEM_OPENCL_CORES=1"});
    double both = 1e9, cpu = 0, gpu = 0;
    if (!child || !(std::istringstream(child->output) >> both >> cpu >> gpu)) return {};
    const double least = 1 / (1 / cpu + 1 / gpu);
    if (ideal > 0 && both / least >= together / ideal) continue;
    together = both;
    ideal = least;
  }
  return {{work.name, together * 1e3, "ms", "speeds alone added up", ideal * 1e3, together / ideal, "<= 1.136"}};
}

}  // namespace

bool run_both_devices_child(const std::string& mode) {
  for (const Work& work : kWorks)
    if (mode == work.name) {
      measure(work);
      return true;
    }
  return false;
}

std::vector<Benchmark> both_devices_benchmarks() {
  std::vector<Benchmark> all;
  for (const Work& work : kWorks) all.push_back({work.name, [&work] { return row(work); }});
  return all;
}

}  // namespace tandem::bench
