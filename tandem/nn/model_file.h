// Models in files: .keras, .weights.h5 and the older .h5, as Keras writes them.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "tandem/nn/layers.h"
#include "tandem/nn/model.h"

namespace tandem {

struct LoadOptions {
  LayerMakers custom_layers = {};  // by the name of their class
  bool compile = true;  // as the file says, if optimizer, loss and metrics are known here; else not at all
};

/// A Sequential or Functional model from a .keras file or an older .h5 file, its layers built and its weights loaded.
/// Throws file_error, bad_file, or what a layer refuses, naming file and layer.
std::unique_ptr<Model> load_model(const std::string& path, const LoadOptions& options = {});
/// The same from the bytes of such a file; `name` stands for it in errors.
std::unique_ptr<Model> model_from_bytes(std::string_view bytes, const std::string& name = "the bytes given",
                                        const LoadOptions& options = {});
/// A model of the same layers with variables of its own, made anew; not compiled.
std::unique_ptr<Model> clone_model(const Model& model, const LayerMakers& custom_layers = {});

}  // namespace tandem
