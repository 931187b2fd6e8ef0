// Scopes and fallback: where ops run, and why. build/placement [1…7]
#include <iostream>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

void results_of_both() {
  Tensor cpu, gpu;
  {
    const DeviceScope scope("/CPU:0");
    cpu = reduce_sum(Tensor::from<std::int32_t>({1, 2, 3}, {3}));
  }
  {
    const DeviceScope scope("/GPU:0");
    gpu = reduce_sum(Tensor::from<std::int32_t>({4, 5, 6}, {3}));
  }
  std::cout << "CPU result: " << cpu << "\nGPU result: " << gpu << '\n';
}

void missing_kernel() {
  std::cout << "Num GPUs Available:  " << config::list_physical_devices("GPU").size() << '\n';
  const Tensor a = Tensor::from<double>({1, 2, 3, 4}, {2, 2});
  const DeviceScope scope("/GPU:0");
  const Tensor c = matmul(a, a);
  std::cout << c.device() << '\n' << explain(c) << '\n';
}

void large_tensor() {
  try {
    const DeviceScope scope("/GPU:0");
    const Tensor large = random_normal({256, 1024, 1024});
    std::cout << "Tensor allocated successfully on " << large.device() << '\n';
  } catch (const Error& error) {
    std::cout << "Tensor allocation failed: " << error.what() << '\n';
  }
}

void nested_scopes() {
  const DeviceScope outer("/GPU:0");
  const Tensor a = Tensor::from<float>({1, 2, 3, 4}, {2, 2}), b = Tensor::from<float>({5, 6, 7, 8}, {2, 2});
  Tensor c;
  {
    const DeviceScope inner("/CPU:0");
    c = add(a, b);
  }
  const Tensor d = matmul(a, b);
  std::cout << c.device() << '\n' << d.device() << '\n';
}

void product_then_sum() {
  Tensor product;
  {
    const DeviceScope scope("/GPU:0");
    product = matmul(random_normal({1024, 1024}), random_normal({1024, 1024}));
  }
  const DeviceScope scope("/CPU:0");
  std::cout << reduce_sum(product) << '\n';
}

void traced_function() {
  const auto computation = function([](Tensor x) {
    Tensor squared;
    {
      const DeviceScope scope("/GPU:0");
      squared = square(x);
    }
    const DeviceScope scope("/CPU:0");
    return reduce_mean(squared);
  });
  std::cout << computation(random_normal({1000, 1000})) << '\n';
}

void memory_growth() {
  const auto gpus = config::list_physical_devices("GPU");
  if (gpus.empty()) {
    std::cout << "No GPUs detected. Proceeding with CPU only.\n";
    return;
  }
  try {
    for (const auto& gpu : gpus) config::set_memory_growth(gpu, true);
    std::cout << gpus.size() << " Physical GPUs, " << config::list_logical_devices("GPU").size() << " Logical GPUs\n";
  } catch (const Error& error) {  // must be said before the devices are used
    std::cout << error.what() << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string which = count > 1 ? arguments[1] : "7123456";  // growth is settled before devices are used
  void (*const programs[])() = {results_of_both,  missing_kernel,  large_tensor, nested_scopes,
                                product_then_sum, traced_function, memory_growth};
  for (const char c : which)
    if (c >= '1' && c <= '7') programs[c - '1']();
}
