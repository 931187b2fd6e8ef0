// The demo's training step written with the eager API and the tape. PyTorch's time comes from bench/torch_rows.py.
#include "bench/harness.h"
#include "tandem/tandem.h"

namespace tandem::bench {
namespace {

std::vector<Row> train_loop() {
  const Tensor data = random_normal({3200, 100}), labels = random_uniform({3200}, 0, 10, DType::i32);
  const Variable w1(random_normal({100, 64}, 0, 0.1)), b1(zeros({64})), w2(random_normal({64, 10}, 0, 0.1)),
      b2(zeros({10}));
  const std::vector<Variable> variables{w1, b1, w2, b2};
  Adam optimizer;
  auto step = [&](std::int64_t i) {
    const Tensor x = slice(data, {i * 32, 0}, {32, 100}), y = slice(labels, {i * 32}, {32});
    GradientTape tape;
    const Tensor logits = bias_add(matmul(relu(bias_add(matmul(x, w1), b1)), w2), b2);
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(y, logits));
    optimizer.apply_gradients(variables, tape.gradient(loss, Tensors(variables.begin(), variables.end())));
  };
  for (std::int64_t i = 0; i < 100; ++i) step(i);
  constexpr int kSteps = 10'000;
  const double begin = now();
  for (std::int64_t i = 0; i < kSteps; ++i) step(i % 100);
  const double us = (now() - begin) / kSteps * 1e6;
  return {{"train_loop_step", us, "us", "PyTorch", 0, 0, "<= 0.25"}};
}

}  // namespace

std::vector<Benchmark> training_benchmarks() { return {{"train_loop", train_loop}}; }

}  // namespace tandem::bench
