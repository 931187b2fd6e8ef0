#include "tandem/nn/weights_file.h"

namespace tandem {
namespace {

void write_layer(const Layer& layer, Hdf5Object& group) {
  Hdf5Object& variables = group.group(layer.variables_path());
  variables.attributes["name"] = Tensor::from_strings({layer.name()}, {});
  const std::vector<Variable> stored = layer.stored_variables();
  for (std::size_t i = 0; i < stored.size(); ++i)
    variables.items[layer.variable_name().empty() ? std::to_string(i) : std::string(layer.variable_name())].value =
        stored[i].value();
  for (const auto& [path, child] : layer.children()) write_layer(*child, group.group(path));
}

struct Gift {
  Layer* layer;
  Tensors values;
};

/// The arrays "0", "1", … of a group.
Tensors numbered(const Hdf5Object& group, const Layer& layer, const std::string& file) {
  Tensors values;
  for (std::size_t i = 0; i < group.items.size(); ++i) {
    const Hdf5Object* item =
        group.find(layer.variable_name().empty() ? std::to_string(i) : std::string(layer.variable_name()));
    if (!item || item->is_group())
      fail(ErrorCode::bad_file, file, ": layer '", layer.name(), "' has ", group.items.size(),
           " variables, but number ", i, " is missing");
    values.push_back(item->value);
  }
  return values;
}

void read_layer(Layer& layer, const Hdf5Object* group, const std::string& file, std::vector<Gift>& out) {
  const Hdf5Object* variables = group ? group->find(layer.variables_path()) : nullptr;
  out.push_back({&layer, variables ? numbered(*variables, layer, file) : Tensors{}});
  for (const auto& [path, child] : layer.children()) read_layer(*child, group ? group->find(path) : nullptr, file, out);
}

void check(const Gift& gift, const std::string& file) {
  if (!gift.layer->built()) return;  // compared when the variables are made
  const std::vector<Variable> variables = gift.layer->stored_variables();
  if (gift.values.size() != variables.size())
    fail(ErrorCode::bad_file, file, ": layer '", gift.layer->name(), "' has ", variables.size(),
         " variables, the file has ", gift.values.size());
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (gift.values[i].shape() != variables[i].shape())
      fail(ErrorCode::bad_file, file, ": variable '", variables[i].name(), "' has shape ", variables[i].shape(),
           ", in the file ", gift.values[i].shape());
}

}  // namespace

Hdf5Object weights_of(const LayerGraph& graph, const std::string& name) {
  Hdf5Object root;
  root.group("vars").attributes["name"] = Tensor::from_strings({name}, {});
  if (graph.tracked().empty()) root.group("layers");
  for (const auto& [path, layer] : graph.stored_layers()) write_layer(*layer, root.group(path));
  return root;
}

void give_weights(const LayerGraph& graph, const Hdf5Object& root, const std::string& file) {
  constexpr std::string_view kOldName = "_layer_checkpoint_dependencies";  // of "layers", before Keras 3.0
  if (graph.tracked().empty() && !root.find("layers") && !root.find(kOldName))
    fail(ErrorCode::bad_file, file, ": no group 'layers', as Keras' weights have it");
  std::vector<Gift> gifts;
  for (const auto& [path, layer] : graph.stored_layers()) {
    const Hdf5Object* group = root.find(path);
    if (!group && graph.tracked().empty()) group = root.find(text(kOldName, path.substr(path.find('/'))));
    read_layer(*layer, group, file, gifts);
  }
  for (const Gift& gift : gifts) check(gift, file);
  for (Gift& gift : gifts) gift.layer->set_weights(gift.layer->own_of_stored(std::move(gift.values)));
}

}  // namespace tandem
