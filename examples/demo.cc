// The main job: list the devices, train a classifier (100 -> 64 relu -> 10 softmax) with Adam on synthetic data,
// then say which device and kernel each kind of op used, and why.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr std::int64_t kSamples = 20'000, kTest = 4'000, kFeatures = 100, kClasses = 10, kBatch = 32;
constexpr int kEpochs = 5;

struct Data {
  Tensor x;  // (samples, features)
  Tensor y;  // (samples), class numbers
};

/// Each class is a cloud around a centre of its own; the clouds overlap a little.
Data make_data(std::int64_t samples, const Tensor& centres) {
  const Tensor y = random_uniform({samples}, 0, kClasses, DType::i32);
  return {gather(centres, y) + random_normal({samples, kFeatures}, 0, 2), y};
}

struct Classifier {
  Variable w1{random_normal({kFeatures, 64}, 0, 0.1), true, "w1"}, b1{zeros({64}), true, "b1"};
  Variable w2{random_normal({64, kClasses}, 0, 0.1), true, "w2"}, b2{zeros({kClasses}), true, "b2"};

  std::vector<Variable> variables() const { return {w1, b1, w2, b2}; }
  Tensor logits(const Tensor& x) const {
    const Tensor hidden = relu(bias_add(matmul(x, w1), b1));
    return bias_add(matmul(hidden, w2), b2);
  }
};

double accuracy(const Classifier& model, const Data& data) {
  const Tensor predicted = argmax(softmax(model.logits(data.x)), -1, DType::i32);
  return reduce_mean(cast(equal(predicted, data.y), DType::f32)).item<double>();
}

void show_progress(int epoch, std::int64_t step, std::int64_t steps, double loss, double seconds) {
  if (step != steps && !isatty(STDOUT_FILENO)) return;  // in a file only the last state of an epoch is of use
  const int done = static_cast<int>(20 * step / steps);
  std::string bar;
  for (int i = 0; i < 20; ++i) bar += i < done ? "━" : "─";
  std::printf("\rEpoch %d/%d  %s  %ld/%ld  %.0f us/step  loss %.4f", epoch, kEpochs, bar.c_str(), step, steps,
              seconds / static_cast<double>(step) * 1e6, loss);
  if (step == steps) std::printf("\n");
  std::fflush(stdout);
}

void train_epoch(int epoch, const Classifier& model, Optimizer& optimizer, const Data& data) {
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t steps = kSamples / kBatch;
  for (std::int64_t step = 0; step < steps; ++step) {
    const Tensor x = slice(data.x, {step * kBatch, 0}, {kBatch, kFeatures});
    const Tensor y = slice(data.y, {step * kBatch}, {kBatch});
    GradientTape tape;
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(y, model.logits(x)));
    const std::vector<Variable> variables = model.variables();
    const Tensors gradients = tape.gradient(loss, Tensors(variables.begin(), variables.end()));
    optimizer.apply_gradients(variables, gradients);
    if ((step + 1) % 25 == 0 || step + 1 == steps) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
      show_progress(epoch, step + 1, steps, loss.item<double>(), elapsed.count());
    }
  }
}

/// Op by op what the event sink still holds of the last steps.
void explain_ops() {
  struct Use {
    int count = 0;
    double microseconds = 0;
  };
  std::map<std::string, std::pair<const Decision*, Use>> uses;
  for (const Span& span : recorded_spans()) {
    auto& [decision, use] = uses[span.decision->op];
    decision = span.decision;
    ++use.count;
    use.microseconds += span.microseconds();
  }
  std::printf("\nWhere the ops of the last steps ran, and why:\n%-42s %6s %9s  %-7s %-9s %s\n", "op", "calls", "us/call",
              "device", "kernel", "reason");
  for (const auto& [op, entry] : uses) {
    const auto& [decision, use] = entry;
    std::printf("%-42s %6d %9.2f  %-7s %-9s %s\n", op.c_str(), use.count, use.microseconds / use.count,
                decision->device.c_str(), decision->kernel.c_str(), std::string(reason_name(decision->reason)).c_str());
  }
  if (!uses.empty()) std::printf("\nIn full, for one of them:\n  %s\n", uses.begin()->second.first->text().c_str());
}

}  // namespace

int main() try {
  std::printf("Devices:\n");
  for (const Device* device : default_runtime().devices())
    std::printf("  %s  %s, %d cores, %.1f GiB\n", device->name().short_name().c_str(),
                device->properties().description.c_str(), device->properties().cores,
                static_cast<double>(device->properties().memory_bytes) / (1 << 30));

  set_seed(1);
  const Tensor centres = random_normal({kClasses, kFeatures});
  const Data training = make_data(kSamples, centres), test = make_data(kTest, centres);
  const Classifier model;
  Adam optimizer;
  std::printf("\nTraining 100 -> 64 relu -> 10 softmax on %ld samples, batch %ld, Adam:\n", kSamples, kBatch);
  for (int epoch = 1; epoch <= kEpochs; ++epoch) train_epoch(epoch, model, optimizer, training);
  explain_ops();
  std::printf("\nAccuracy on %ld samples it has not seen: %.2f %%\n", kTest, 100 * accuracy(model, test));
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
