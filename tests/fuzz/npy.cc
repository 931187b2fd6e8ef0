// NumPy arrays: any bytes, and arrays of which some bytes were changed; the first byte chooses.
#include "tandem/files/npy.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  static const std::string numbers = npy_to_bytes(Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  static const std::string texts = npy_to_bytes(Tensor::from_strings({"one", "three"}, {2}));
  if (bytes.empty()) return;
  const std::string_view rest = bytes.substr(1);
  switch (bytes[0] & 3) {
    case 0: npy_from_bytes(rest, "input"); return;
    case 1: npy_from_bytes(damaged(texts, rest), "input"); return;
    default: npy_from_bytes(damaged(numbers, rest), "input");
  }
}
