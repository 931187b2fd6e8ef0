// CPU and GPU in one program: a product timed on the device there is, data prepared on the CPU for a model, and a
// thread that computes on the device. build/both_devices [1|2|3]
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include "tandem/tandem.h"

using namespace tandem;
using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string find_device() {
  const bool gpu = !config::list_physical_devices("GPU").empty();
  std::printf(gpu ? "GPU is available. Using GPU.\n" : "GPU is not available. Using CPU.\n");
  return gpu ? "/GPU:0" : "/CPU:0";
}

void matrix_multiplication() {
  const std::string device = find_device();
  const Tensor a = random_normal({1000, 1000}), b = random_normal({1000, 1000});
  const DeviceScope scope(device);
  const auto begin = Clock::now();
  const Tensor result = matmul(a, b);
  std::printf("Matrix multiplication time on %s: %.4f seconds\n", device.c_str(), seconds_since(begin));
}

void loading_and_model() {
  const std::string device = find_device();
  const auto begin = Clock::now();
  const Tensor images = random_uniform({64, 28, 28, 3}) / Tensor(255.0f);
  std::printf("CPU data loading and preprocessing time: %.4f seconds\n", seconds_since(begin));
  const DeviceScope scope(device);
  const Sequential model({Conv2D(32, {3, 3}, {.activation = "relu"}), Flatten(), Dense(10, "softmax")});
  const Tensor predictions = model(images);
  std::printf("Model processing complete: %s on %s\n", predictions.shape().to_string().c_str(),
              predictions.device().c_str());
}

void asynchronous_execution() {
  const std::string device = find_device();
  auto begin = Clock::now();
  const Tensor data = random_normal({1000, 1000});
  std::printf("CPU preprocessing time: %.4f seconds\n", seconds_since(begin));
  std::thread gpu_thread([&] {
    const DeviceScope scope(device);  // threads do not inherit scopes
    const auto start = Clock::now();
    const Tensor result = matmul(data, data, false, true);
    std::printf("GPU computation time: %.4f seconds\n", seconds_since(start));
  });
  gpu_thread.join();
  std::printf("Asynchronous processing complete\n");
}

}  // namespace

int main(int count, char** arguments) {
  const std::string which = count > 1 ? arguments[1] : "123";
  if (which.find('1') != which.npos) matrix_multiplication();
  if (which.find('2') != which.npos) loading_and_model();
  if (which.find('3') != which.npos) asynchronous_execution();
}
