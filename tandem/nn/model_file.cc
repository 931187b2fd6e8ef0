#include "tandem/nn/model_file.h"

#include <algorithm>
#include <ctime>
#include <functional>

#include "tandem/files/file_bytes.h"
#include "tandem/files/zip.h"
#include "tandem/nn/compile_config.h"
#include "tandem/nn/model_config.h"
#include "tandem/nn/model_description.h"
#include "tandem/nn/weights_file.h"

namespace tandem {

struct Model::Origin {
  Json description;                      // config.json
  Hdf5Object optimizer;                  // its state, as the file had it
  std::shared_ptr<Optimizer> made = {};  // from it, if that was possible
};

namespace {

constexpr const char* kConfig = "config.json";
constexpr const char* kMetadata = "metadata.json";
constexpr const char* kWeights = "model.weights.h5";
constexpr const char* kKerasVersion = "3.15.1";  // whose files these are like

// --- Loading ---

/// Runs `body`; errors say which file they are about.
template <class F>
void about(const std::string& path, F body) {
  try {
    body();
  } catch (const Error& error) {
    if (error.message().starts_with(path)) throw;
    fail(error.code(), path, ": ", error.message());
  } catch (const Json::exception& error) {
    fail(ErrorCode::bad_file, path, ": the model's description is malformed: ", error.what());
  }
}

Shape with_sizes(std::vector<std::int64_t> shape, std::int64_t open) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0) shape[i] = i == 0 ? 1 : open;
  return Shape(std::span<const std::int64_t>(shape));
}

bool anybody_waits(const Layer& layer) {
  if (layer.waits_for_input()) return true;
  for (const auto& [path, child] : layer.children())
    if (anybody_waits(*child)) return true;
  return false;
}

/// Models of strings look at values: they are built by a sample without words.
void try_words(const DescribedModel& model, std::int64_t open) {
  Tensors inputs;
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i) {
    const Shape shape = with_sizes(model.input_shapes[i], open);
    const bool strings = model.input_dtypes[i] == DType::string;
    inputs.push_back(
        strings ? Tensor::from_strings(std::vector<std::string>(static_cast<std::size_t>(shape.elements())), shape)
                : zeros(shape, model.input_dtypes[i]));
  }
  model.graph.run(inputs, false);
}

/// Sends symbolic inputs through the graph: every layer is built, and every shape compared.
void try_shapes(const DescribedModel& model, std::int64_t open) {
  if (std::ranges::find(model.input_dtypes, DType::string) != model.input_dtypes.end()) return try_words(model, open);
  Trace trace;
  Tensors inputs;
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i)
    inputs.push_back(trace.parameter({model.input_dtypes[i], with_sizes(model.input_shapes[i], open)}));
  model.graph.run(inputs, false);
}

/// Values for a layer that contains layers; they are given when all its variables are made.
struct LaterWeights {
  LayerPtr layer;
  Tensors values;  // of trainable variables first
};

void give_later(const LaterWeights& later, const std::string& path) {
  std::vector<Variable> variables = later.layer->variables();
  if (later.layer->trainable())
    std::stable_partition(variables.begin(), variables.end(), std::mem_fn(&Variable::trainable));
  if (variables.size() != later.values.size())
    fail(ErrorCode::bad_file, path, ": layer '", later.layer->name(), "' has ", variables.size(),
         " variables, the file has ", later.values.size());
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (variables[i].shape() != later.values[i].shape())
      fail(ErrorCode::bad_file, path, ": '", variables[i].name(), "' has shape ", variables[i].shape(),
           ", the file has ", later.values[i].shape());
  for (std::size_t i = 0; i < variables.size(); ++i) variables[i].assign(cast(later.values[i], variables[i].dtype()));
}

/// Makes the variables, from what the file says about shapes; `all` of them even where no values wait for it.
void build_layers(const DescribedModel& model, bool all) {
  constexpr std::int64_t kOpenSize = 32;  // for axes of any size; variables do not depend on them
  for (const auto& [layer, shape] : model.built_for)
    if (layer->waits_for_input()) layer->build(with_sizes(shape, 1));
  bool known = true, open = false, waiting = all;
  for (const auto& shape : model.input_shapes) {
    known = known && !shape.empty();
    for (std::size_t i = 1; i < shape.size(); ++i) open = open || shape[i] < 0;
  }
  for (const LayerPtr& layer : model.graph.layers()) waiting = waiting || anybody_waits(*layer);
  if (known && (waiting || !open)) try_shapes(model, kOpenSize);
  else if (waiting)
    fail(ErrorCode::bad_file,
         "the description has no input shape, neither in an InputLayer nor in build_config, so the weights cannot be "
         "put in place");
}

std::string asset_path(const std::string& place, const Layer& layer) {
  return text("assets/", place, "/", layer.asset());
}

Json parsed_entry(const ZipEntries& entries, const char* name, const std::string& path) {
  const auto entry = entries.find(name);
  if (entry == entries.end()) fail(ErrorCode::bad_file, path, ": no entry '", name, "'; it is no .keras file");
  return parse_json(entry->second, path + ", " + name);
}

/// Compiles as the file says, where that is possible here.
void compile_from_file(Model& model, Model::Origin& origin) {
  const auto config = origin.description.find("compile_config");
  std::vector<std::string> outputs;
  for (std::size_t i = 0; i < model.graph().outputs().size(); ++i)
    outputs.push_back(model.graph().layer_of(i) ? model.graph().layer_of(i)->name() : "");
  const auto options = config == origin.description.end() ? std::nullopt : read_compile_config(*config, outputs);
  if (!options) return;
  try {
    model.compile(*options);
  } catch (const Error&) {
    return;  // for example a cross entropy of probabilities that come from no softmax; predicting needs no compile
  }
  const Hdf5Object* stored = origin.optimizer.find("vars");
  Tensors state;
  for (std::size_t i = 0; stored && i < stored->items.size(); ++i)
    if (const Hdf5Object* item = stored->find(std::to_string(i)); item && !item->is_group())
      state.push_back(item->value);
  if (!state.empty()) model.optimizer()->set_state(model.trainable_variables(), state);
  origin.made = options->optimizer_object;
}

std::unique_ptr<Model> finish(DescribedModel described, std::shared_ptr<Model::Origin> origin,
                              const LoadOptions& options, const std::string& path,
                              const std::vector<LaterWeights>& later = {}) {
  build_layers(described, !later.empty());
  for (const LaterWeights& one : later) give_later(one, path);
  auto model = std::make_unique<Model>(std::move(described.graph), described.name);
  std::vector<InputSpec> inputs;
  for (std::size_t i = 0; i < described.input_shapes.size(); ++i)
    inputs.push_back({described.input_dtypes[i], described.input_shapes[i]});
  model->set_inputs(std::move(inputs));
  if (options.compile) compile_from_file(*model, *origin);
  model->set_origin(std::move(origin));
  return model;
}

std::unique_ptr<Model> load_archive(std::string_view bytes, const std::string& path, const LoadOptions& options) {
  const ZipEntries entries = zip_from_bytes(bytes, path);
  auto origin = std::make_shared<Model::Origin>();
  origin->description = parsed_entry(entries, kConfig, path);
  DescribedModel described = read_model(origin->description, options.custom_layers, path);
  const auto weights = entries.find(kWeights);
  if (weights == entries.end()) fail(ErrorCode::bad_file, path, ": no entry '", kWeights, "'");
  const Hdf5Object root = hdf5_from_bytes(weights->second, path + ", " + kWeights);
  give_weights(described.graph, root, path);
  for (const auto& [place, layer] : described.graph.stored_layers()) {
    const auto asset = layer->asset().empty() ? entries.end() : entries.find(asset_path(place, *layer));
    if (asset != entries.end()) layer->load_asset(asset->second);
  }
  if (const Hdf5Object* optimizer = root.find("optimizer")) origin->optimizer = *optimizer;
  return finish(std::move(described), std::move(origin), options, path);
}

/// The values of a layer in an older file, in the order of its attribute weight_names.
Tensors legacy_values(const Hdf5Object& weights, const Layer& layer, const std::string& path) {
  const Hdf5Object* group = weights.find(layer.name());
  const auto names = group ? group->attributes.find("weight_names") : weights.attributes.end();
  Tensors values;
  if (!group || names == group->attributes.end() || names->second.dtype() != DType::string) return values;
  for (const std::string& name : names->second.strings()) {
    const Hdf5Object* item = group->find(name);
    if (!item || item->is_group())
      fail(ErrorCode::bad_file, path, ": layer '", layer.name(), "' has no array '", name, "'");
    values.push_back(item->value);
  }
  return values;
}

std::unique_ptr<Model> load_legacy(std::string_view bytes, const std::string& path, const LoadOptions& options) {
  const Hdf5Object root = hdf5_from_bytes(bytes, path);
  const auto config = root.attributes.find("model_config");
  if (config == root.attributes.end() || config->second.dtype() != DType::string || config->second.size() != 1)
    fail(ErrorCode::bad_file, path, ": no attribute 'model_config'; a file of weights alone is read by load_weights");
  auto origin = std::make_shared<Model::Origin>();
  origin->description = parse_json(config->second.strings()[0], path + ", model_config");
  DescribedModel described = read_model(origin->description, options.custom_layers, path);
  const bool sequential = described.class_name == "Sequential";
  origin->description["module"] = sequential ? "keras" : "keras.src.models.functional";
  if (!sequential) origin->description["class_name"] = "Functional";
  const Hdf5Object* weights = root.find("model_weights");
  if (!weights) fail(ErrorCode::bad_file, path, ": no group 'model_weights'");
  std::vector<LaterWeights> later;
  for (const LayerPtr& layer : described.graph.layers()) {
    Tensors values = legacy_values(*weights, *layer, path);
    if (layer->children().empty()) layer->set_weights(std::move(values));
    else later.push_back({layer, std::move(values)});
  }
  return finish(std::move(described), std::move(origin), options, path, later);
}

// --- Saving ---

/// Which layers were frozen since the description was read.
void note_trainable(Json& description, const std::vector<LayerPtr>& layers) {
  if (!description.contains("config") || !description["config"].contains("layers")) return;
  for (Json& described : description["config"]["layers"]) {
    if (!described.contains("config") || !described["config"].is_object() || !described["config"].contains("name"))
      continue;
    for (const LayerPtr& layer : layers)
      if (described["config"]["name"] == layer->name() &&
          described["config"].value("trainable", true) != layer->trainable())
        described["config"]["trainable"] = layer->trainable();
  }
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm local{};
  localtime_r(&time, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d@%H:%M:%S", &local);
  return text;
}

}  // namespace

std::unique_ptr<Model> model_from_bytes(std::string_view bytes, const std::string& name, const LoadOptions& options) {
  std::unique_ptr<Model> model;
  about(name, [&] {
    if (bytes.starts_with("PK")) model = load_archive(bytes, name, options);
    else if (bytes.starts_with("\x89HDF")) model = load_legacy(bytes, name, options);
    else fail(ErrorCode::bad_file, name, ": neither a .keras archive nor an HDF5 file");
  });
  return model;
}

std::unique_ptr<Model> clone_model(const Model& model, const LayerMakers& custom_layers) {
  auto origin = std::make_shared<Model::Origin>();
  origin->description = model.origin() ? model.origin()->description : describe_model(model.graph(), model.name());
  origin->description.erase("compile_config");
  DescribedModel described = read_model(origin->description, custom_layers, "clone_model");
  return finish(std::move(described), std::move(origin), {.compile = false}, "clone_model");
}

std::unique_ptr<Model> load_model(const std::string& path, const LoadOptions& options) {
  return model_from_bytes(read_file(path), path, options);
}

void Model::save(const std::string& path) const {
  if (!graph_.tracked().empty())
    fail(ErrorCode::invalid_argument, "save: model '", name_,
         "' is a class of its own, which no file describes; save_weights and load_weights keep its weights");
  Json description = origin_ ? origin_->description : describe_model(graph_, name_);
  note_trainable(description, layers());
  Hdf5Object weights = weights_of(graph_, name_);
  if (compiled_) {
    if (!origin_ || optimizer() != origin_->made)
      description["compile_config"] = compile_config(*compile_options(), *optimizer());
    const Tensors state = optimizer()->state(trainable_variables());
    for (std::size_t i = 0; i < state.size(); ++i)
      weights.group("optimizer/vars").items[std::to_string(i)].value = state[i];
    constexpr std::size_t kOfScaling = 4;  // before the state of the optimizer whose losses are scaled
    for (std::size_t i = kOfScaling; optimizer()->scales_losses() && i < state.size(); ++i)
      weights.group("optimizer/inner_optimizer/vars").items[std::to_string(i - kOfScaling)].value = state[i];
  } else if (origin_ && !origin_->optimizer.items.empty()) {
    weights.items["optimizer"] = origin_->optimizer;
  }
  const Json metadata{{"keras_version", kKerasVersion}, {"date_saved", now()}};
  ZipEntries entries{{kConfig, description.dump()}, {kMetadata, metadata.dump()}, {kWeights, hdf5_to_bytes(weights)}};
  for (const auto& [place, layer] : graph_.stored_layers())
    if (std::string asset = layer->saved_asset(); !asset.empty()) entries[asset_path(place, *layer)] = std::move(asset);
  write_file_atomically(path, zip_to_bytes(entries));
}

void Model::save_weights(const std::string& path) const { save_hdf5(path, weights_of(graph_, name_)); }
void Model::load_weights(const std::string& path) { give_weights(graph_, load_hdf5(path), path); }

}  // namespace tandem
