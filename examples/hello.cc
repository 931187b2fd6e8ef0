#include <tandem/tandem.h>

#include <iostream>

int main() {
  using namespace tandem;
  auto x = Tensor::from<float>({0, 1, 2, 3}, {4}), y = 2 * x + 1;
  Variable w(zeros({})), b(zeros({}));
  Sgd optimizer({.learning_rate = 0.1});
  for (int step = 0; step < 200; ++step) {
    GradientTape tape;
    auto loss = reduce_mean(square(w * x + b - y));
    optimizer.apply_gradients({w, b}, tape.gradient(loss, {w, b}));
  }
  auto line = w * x + b;  // y, as near as 200 steps get
  std::cout << line << "\n" << explain(line) << "\n";
}
