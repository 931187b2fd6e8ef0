// Serialised examples: read whole, written again, and parsed by specs.
#include "tandem/data/example.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  const Features features = read_example(bytes);
  if (serialize_example(read_example(serialize_example(features))) != serialize_example(features)) __builtin_trap();
  static const std::vector<FeatureSpec> specs{{"x", DType::f32, {2}, false, Tensor(0.f)},
                                              {"y", DType::i64, {}, false, Tensor::scalar(std::int64_t{0}, DType::i64)},
                                              {.name = "s", .dtype = DType::string, .variable = true}};
  parse_example(Tensor::from_strings({std::string(bytes), std::string(bytes)}, {2}), specs);
}
