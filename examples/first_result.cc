// The shortest useful program: from start to a printed result.
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  const Tensor a = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  std::cout << matmul(a, a) + a << "\n";
}
