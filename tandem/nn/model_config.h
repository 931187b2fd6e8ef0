// From the description of a model in Keras' files to a graph of layers.
#pragma once
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tandem/nn/layer_graph.h"
#include "tandem/nn/layer_json.h"
#include "tandem/nn/layers.h"

namespace tandem {

/// Arguments of a call in Keras that belong to a layer here.
inline constexpr std::array<const char*, 2> kCallFlags{"use_causal_mask", "return_attention_scores"};

/// A graph of layers whose variables are not made yet, and what the file says about shapes.
struct DescribedModel {
  std::string class_name, name;
  LayerGraph graph;
  std::vector<std::vector<std::int64_t>> input_shapes;  // an input; -1 where open; empty when the file does not say
  std::vector<DType> input_dtypes;
  std::vector<std::pair<LayerPtr, std::vector<std::int64_t>>> built_for;  // shapes that single layers saw
};

/// `description` is an object with class_name and config. Throws bad_file naming `file`, or what a layer refuses.
inline bool is_model_class(std::string_view name) {
  return name == "Sequential" || name == "Functional" || name == "Model";
}
/// A model as a layer: one inside TimeDistributed, for example.
LayerPtr read_nested_model(const LayerConfig& config, const LayerMakers& custom);
DescribedModel read_model(const Json& description, const LayerMakers& custom, const std::string& file);

}  // namespace tandem
