// Loads a model that Keras saved and predicts: predict MODEL.keras INPUT.npy
#include <iostream>

#include "tandem/files/npy.h"
#include "tandem/tandem.h"

int main(int count, char** words) try {
  if (count != 3) throw std::runtime_error("usage: predict MODEL.keras INPUT.npy");
  const auto model = tandem::load_model(words[1]);
  std::cout << model->predict(tandem::load_npy(words[2])) << "\n";
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
