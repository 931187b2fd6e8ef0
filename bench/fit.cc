// Fitting models: on a GPU beside the CPU, and how much memory a training takes.
#include <cstdio>
#include <fstream>
#include <string>

#include "bench/gpu.h"

namespace tandem::bench {
namespace {

/// Seconds of one step of fit over all samples, the best of a few rounds.
double step_seconds(const char* device, Sequential& model, const Tensor& x, const Tensor& y, std::int64_t batch) {
  const DeviceScope scope(device);
  const FitOptions options{.batch_size = batch, .verbose = 0};
  model.fit(x, y, options);
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double begin = now();
    model.fit(x, y, options);
    best = std::min(best, (now() - begin) / static_cast<double>(x.shape()[0] / batch));
  }
  return best;
}

const CompileOptions kClassifier{
    .optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}};

std::vector<Row> on_gpu() {
  if (!gpu()) return {};
  const Tensor x = random_normal({12'800, 100}), y = random_uniform({12'800}, 0, 10, DType::i32);
  Sequential dense({Dense(64, "relu"), Dense(10, "softmax")});
  dense.compile(kClassifier);
  const double small = step_seconds("/GPU:0", dense, x, y, 32);

  const Tensor images = random_normal({640, 28, 28, 3}), labels = random_uniform({640}, 0, 10, DType::i32);
  const auto picture_seconds = [&](const char* device) {
    Sequential model({Conv2D(32, {3, 3}, {.activation = "relu"}), Flatten(), Dense(10, "softmax")});
    model.compile(kClassifier);
    return step_seconds(device, model, images, labels, 64);
  };
  const Pair pictures =
      compare([&] { return picture_seconds("/GPU:0"); }, [&] { return picture_seconds("/CPU:0"); }, 2);
  return {{"gpu_fit_dense_64_10_step", small * 1e6, "us", "goal 200 us", 200, small / 200e-6, "<= 1"},
          {"gpu_fit_cnn_step", pictures.ours * 1e3, "ms", "CPU backend", pictures.reference * 1e3,
           pictures.ours / pictures.reference, "<= 2"}};
}

/// A line of /proc/self/status in MB.
double status_megabytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) / 1024;
  return 0;
}

std::vector<Row> memory() {
  constexpr std::int64_t kSide = 1500, kBatch = 64, kSamples = 640;
  const Tensor x = random_normal({kSamples, kSide}), y = random_uniform({kSamples}, 0, 10, DType::i32);
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak counts from here
  const double before = status_megabytes("VmRSS:");
  Sequential model({Dense(kSide, "relu"), Dense(kSide, "relu"), Dense(10, "softmax")});
  model.compile(kClassifier);
  const DeviceScope scope("/CPU:0");
  model.fit(x, y, {.batch_size = kBatch, .epochs = 3, .verbose = 0});
  const double grown = status_megabytes("VmHWM:") - before;
  const double parameters = static_cast<double>(model.count_params()) * 4 / (1 << 20);
  const double batch = static_cast<double>(kBatch * (kSide * 3 + 10)) * 4 / (1 << 20);
  const double allowed = batch + 5 * parameters + 32;
  return {{"fit_memory_growth", grown, "MB", "batch + 5 x parameters + 32", allowed, grown / allowed, "<= 1"}};
}

}  // namespace

std::vector<Benchmark> fit_benchmarks() { return {{"gpu_fit", on_gpu}, {"fit_memory", memory}}; }

}  // namespace tandem::bench
