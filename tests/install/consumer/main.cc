// The smallest program that uses the installed package.
#include <tandem/tandem.h>

#include <iostream>

int main() {
  auto a = tandem::Tensor::from<float>({1, 2}, {2});
  auto b = tandem::Tensor::from<float>({10, 20}, {2});
  std::cout << tandem::add(a, b) << "\n";
}
