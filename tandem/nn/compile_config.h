// How a model was compiled, as Keras' files say it.
#pragma once
#include <optional>

#include "tandem/nn/layer_json.h"
#include "tandem/nn/model.h"

namespace tandem {

/// Nothing when optimizer, loss or metrics have no counterpart here. `outputs` are the names of the layers that give
/// them.
std::optional<CompileOptions> read_compile_config(const Json& config, const std::vector<std::string>& outputs);
Json compile_config(const CompileOptions& options, const Optimizer& optimizer);

}  // namespace tandem
