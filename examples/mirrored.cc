// Mirrored training over devices of any number and speed, and of a model that is larger than any of them.
// TANDEM_OPENCL_CPU_AS_GPU=2 build/mirrored
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr std::int64_t kWidth = 512, kLayers = 12;  // 12 MiB of weights
constexpr double kLimit = 8;                        // MiB that each logical GPU may use

/// The loss of each epoch of a deep and narrow model with dropout; its last batch is smaller than the others.
std::vector<double> losses(const MirroredStrategy& strategy, std::int64_t width, std::int64_t depth, double dropped) {
  set_seed(1);
  const Tensor x = random_uniform({60, width}), y = reduce_mean(x, {1}, true);
  std::vector<LayerPtr> layers;
  for (std::int64_t i = 0; i < depth; ++i) layers.push_back(Dense(width, "tanh"));
  layers.push_back(Dropout(dropped));
  layers.push_back(Dense(1));
  Sequential model(layers);
  const auto scope = strategy.scope();
  model.compile({.optimizer_object = std::make_shared<Adam>(AdamOptions{.learning_rate = 1e-4}), .loss = "mse"});
  return model.fit(x, y, {.batch_size = 16, .epochs = 2, .verbose = 0}).at("loss");
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]) / b[i]);
  return most;
}

void any_devices(const std::vector<std::string>& gpus) {
  const std::vector<double> one = losses(OneDeviceStrategy("/CPU:0"), 16, 2, 0.3);
  std::vector<std::string> devices{"/CPU:0"};
  std::vector<double> speeds{2};
  for (std::size_t count = 1;; ++count) {
    const MirroredStrategy strategy(devices);
    strategy.set_speeds(speeds);  // else they are measured
    const double off = difference(losses(strategy, 16, 2, 0.3), one);
    std::printf("%d replicas, %s: losses %s\n", strategy.num_replicas_in_sync(), strategy.explain().c_str(),
                off < 1e-4 ? "of one device" : "differ");
    if (count > gpus.size()) return;
    devices.push_back(gpus[count - 1]);
    speeds.push_back(static_cast<double>(count));
  }
}

void larger_than_a_device(const std::vector<std::string>& gpus) {
  if (gpus.size() < 2) return;
  const MirroredStrategy strategy({gpus.front(), gpus.back()}, {.sharded = true});
  strategy.set_speeds({1, 1});
  const double off =
      difference(losses(strategy, kWidth, kLayers, 0), losses(OneDeviceStrategy("/CPU:0"), kWidth, kLayers, 0));
  std::printf("12 MiB of weights on two devices of 8 MiB: losses %s\n", off < 1e-4 ? "of one device" : "differ");
}

}  // namespace

int main() {
  for (const auto& gpu : config::list_physical_devices("GPU"))
    config::set_logical_device_configuration(gpu, {{kLimit}, {kLimit}});
  std::vector<std::string> gpus;
  for (const auto& gpu : config::list_logical_devices("GPU")) gpus.push_back(gpu.name);
  any_devices(gpus);
  larger_than_a_device(gpus);
}
