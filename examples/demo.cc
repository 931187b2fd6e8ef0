// The main job of scripts/demo: the devices, a classifier whose training step is one plan, work that both devices
// share, an op that only one of them can do, and the same work on a machine one does not have. build/demo
// [MACHINE.json]
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr std::int64_t kFeatures = 100, kClasses = 10;

void title(const std::string& text) { std::cout << "\n== " << text << "\n" << std::flush; }

void show_devices() {
  for (const Device* device : default_runtime().devices()) {
    const auto& known = device->properties();
    std::cout << "  " << device->name().short_name() << "  " << known.description << ", " << known.cores
              << (known.cores == 1 ? " core, " : " cores, ") << (known.memory_bytes >> 30) << " GiB\n";
  }
}

struct Data {
  Tensor x;  // (samples, features)
  Tensor y;  // (samples), class numbers
};

/// Each class is a cloud around a centre of its own; the clouds overlap a little.
Data make_data(std::int64_t samples, const Tensor& centres) {
  const Tensor y = random_uniform({samples}, 0, kClasses, DType::i32);
  return {gather(centres, y) + random_normal({samples, kFeatures}, 0, 2), y};
}

void train() {
  const Tensor centres = random_normal({kClasses, kFeatures});
  const Data training = make_data(20'000, centres), unseen = make_data(4'000, centres);
  Sequential model({Dense(64, "relu"), Dense(kClasses, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(training.x, training.y, {.batch_size = 32, .epochs = 5});
  std::cout << "Accuracy on 4000 samples it has not seen: " << 100 * model.evaluate(unseen.x, unseen.y).at("accuracy")
            << " %\n"
            << "Where a prediction for 32 samples runs, and why:\n"
            << explain(model).to_text();
}

Tensor chain(Tensor x) {
  for (int i = 0; i < 4; ++i) x = matmul(x, x) * Tensor(0.01f);
  return reduce_sum(x);
}

/// Milliseconds of one call, the least of those of a second.
template <class F>
double milliseconds(F call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (const auto end = Clock::now() + std::chrono::seconds(1); Clock::now() < end;) {
    const auto begin = Clock::now();
    call().template item<double>();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return best;
}

/// Two chains of products that need nothing of each other: alone on each device, then wherever they finish first.
auto share_work(const Tensors& inputs) {
  const auto two_chains = [](const Tensor& a, const Tensor& b) { return chain(a) + chain(b); };
  for (const Device* device : default_runtime().devices()) {
    const std::string name = device->name().short_name();
    const auto there = function([&](Tensor a, Tensor b) {
      const DeviceScope scope(name);
      return two_chains(a, b);
    });
    std::cout << "  " << name << " alone: " << milliseconds([&] { return there(inputs[0], inputs[1]); }) << " ms\n"
              << std::flush;
  }
  const auto anywhere = function([=](Tensor a, Tensor b) { return two_chains(a, b); });
  std::cout << "  without a scope: " << milliseconds([&] { return anywhere(inputs[0], inputs[1]); }) << " ms\n\n";
  const Explanation why = explain(anywhere, inputs);
  std::cout << why.summary() << '\n' << timeline_text(why);
  return anywhere;
}

void fall_back() {
  const DeviceScope scope("/GPU:0");
  std::cout << explain(cholesky(Tensor::from<float>({4, 2, 2, 3}, {2, 2}))) << '\n';
}

}  // namespace

int main(int count, char** arguments) try {
  set_seed(1);
  std::cout << std::fixed << std::setprecision(2);
  title("Devices");
  show_devices();
  title("A classifier, 100 -> 64 relu -> 10 softmax, batch 32, Adam: the whole training step is one plan");
  train();
  title("Two chains of four products of 512 x 512: every op runs where it finishes first");
  const Tensors inputs{random_normal({512, 512}), random_normal({512, 512})};
  const auto work = share_work(inputs);
  title("An op that was asked for on /GPU:0 and has no kernel there");
  fall_back();
  if (count > 1) {
    title("The same two chains on another machine, predicted");
    std::cout << explain(work, inputs, {.machine = read_machine(arguments[1])}).summary() << '\n';
  }
  return 0;
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
