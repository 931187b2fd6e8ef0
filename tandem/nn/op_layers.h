// Functions of keras.ops that a functional model calls.
#pragma once

#include "tandem/nn/layer_json.h"
#include "tandem/nn/layers.h"

namespace tandem {

/// The op that `config` names, called with `args` and, by name, `named`: in place of each tensor its description, else
/// numbers and slices.
LayerPtr make_op_layer(const LayerConfig& config, const Json& args, const Json& named = Json::object());

}  // namespace tandem
