// Serialised tf.train.Example messages: named lists of bytes, floats or integers, read into tensors and written.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// What parse_example is told of one feature: FixedLenFeature, or VarLenFeature when `variable`.
struct FeatureSpec {
  std::string name;
  DType dtype = DType::f32;  // f32, i64 or string
  Shape shape = {};
  bool variable = false;
  Tensor default_value;      // undefined: the feature must be there
};

/// The features of one serialised example, in the order of the specs. A variable feature is a tensor of one axis.
Tensors parse_single_example(const Tensor& serialized, const std::vector<FeatureSpec>& features);
/// Of many: tensors with a first axis. A variable feature is padded with zeros or empty strings to the longest.
Tensors parse_example(const Tensor& serialized, const std::vector<FeatureSpec>& features);

using FeatureValues = std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;
using Features = std::map<std::string, FeatureValues>;

/// Keys in order, as TensorFlow writes them.
std::string serialize_example(const Features& features);
/// Throws bad_file.
Features read_example(std::string_view bytes);

}  // namespace tandem
