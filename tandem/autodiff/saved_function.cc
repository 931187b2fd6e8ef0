#include "tandem/autodiff/saved_function.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>

#include "tandem/autodiff/open_sizes.h"
#include "tandem/autodiff/saved_graph.h"
#include "tandem/files/crc32c.h"
#include "tandem/files/file_bytes.h"
#include "tandem/files/safetensors.h"
#include "tandem/graph/replay.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;
using placer::JsonDocument;
using placer::JsonValue;

// The file: this header, then JSON, then the tensors as a safetensors file (docs/graphs.md).
constexpr std::string_view kMagic = "TANDEMFN";
constexpr std::uint32_t kVersion = 1;
struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t checksum;  // CRC-32C of all that follows it
  std::uint64_t json_bytes;
};
static_assert(sizeof(Header) == 24);
constexpr std::size_t kChecked = 16;  // where what the checksum covers begins

Json inputs_json(const std::vector<InputSpec>& inputs) {
  Json list = Json::array();
  for (const InputSpec& input : inputs) {
    Json shape = Json::array();
    for (const std::int64_t size : input.shape) shape.push_back(size == InputSpec::kAny ? Json(nullptr) : Json(size));
    list.push_back({{"dtype", dtype_name(input.dtype)}, {"shape", shape}});
  }
  return list;
}

Json function_json(const FunctionToSave& function, GraphWriter& writer) {
  const OpenSizes sizes(function.inputs);
  TANDEM_CHECK(function.traces.size() == sizes.samples().size(), function.name, " is traced ", function.traces.size(),
               " times");
  std::vector<Json> samples;
  for (const auto& trace : function.traces) samples.push_back(writer.write(*trace));
  return {{"name", function.name},
          {"inputs", inputs_json(function.inputs)},
          {"notes", function.notes},
          {"graphs", sizes.axes().empty() ? samples[0]["graphs"] : sizes.merged(samples)["graphs"]}};
}

std::vector<InputSpec> inputs_of(const GraphFunction& function) {
  std::vector<InputSpec> inputs;
  for (const std::int32_t node : function.graph().parameters) {
    const TensorSpec& spec = function.graph().nodes[static_cast<std::size_t>(node)].outputs[0];
    inputs.push_back({spec.dtype(), {spec.shape().begin(), spec.shape().end()}});
  }
  return inputs;
}

// --- Reading ---

/// A function of the file and what it shares with the others.
class LoadedFunction {
 public:
  LoadedFunction(std::string source, std::string json, std::vector<InputSpec> inputs,
                 std::shared_ptr<const SavedValues> values)
      : source_(std::move(source)),
        json_(std::move(json)),
        inputs_(std::move(inputs)),
        sizes_(inputs_),
        values_(std::move(values)) {}

  /// Runs the ops one by one: as part of the trace that Function makes, or at once.
  Tensors run(const Tensors& arguments) {
    const auto function = graph_for(arguments);
    const Graph& graph = function->graph();
    const auto all = replay(graph, arguments);
    for (const Graph::Write& write : graph.writes) {
      const Tensor value = pick(all, {&write.value, 1})[0];
      if (Trace* trace = Trace::current()) trace->write(write.cell, value);
      else Variable(write.cell).assign(value);
    }
    return pick(all, graph.results);
  }

  /// Reads the graph for small sizes, so that a damaged file is found when it is loaded.
  void check() { read(sizes_.samples()[0]); }

 private:
  std::shared_ptr<const GraphFunction> graph_for(const Tensors& arguments) {
    if (arguments.size() != inputs_.size())
      fail(ErrorCode::wrong_arity, source_, " takes ", inputs_.size(), " tensors, got ", arguments.size());
    const auto sizes = sizes_.sizes_of(arguments);
    const Specs wanted = sizes_.specs(sizes);
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].spec() != wanted[i])
        fail(ErrorCode::shape_mismatch, source_, " takes ", wanted[i], " as tensor ", i, ", got ", arguments[i].spec());
    std::lock_guard lock(mutex_);
    if (!last_ || sizes != last_sizes_) last_ = read(sizes), last_sizes_ = sizes;
    return last_;
  }

  std::shared_ptr<const GraphFunction> read(const std::vector<std::int64_t>& sizes) const {
    const std::string text = sizes.empty() ? json_ : sizes_.at(Json::parse(json_), sizes).dump();
    const JsonDocument document(text, source_);
    auto function = read_graphs(document.root(), *values_);
    const Specs wanted = sizes_.specs(sizes);
    Specs found;
    for (const InputSpec& input : inputs_of(*function))
      found.emplace_back(input.dtype, Shape(std::span<const std::int64_t>(input.shape)));
    if (found != wanted)
      document.root().complain(tandem::text("the graph takes (", join(found), "), the function (", join(wanted), ")"));
    return function;
  }

  std::string source_, json_;
  std::vector<InputSpec> inputs_;
  OpenSizes sizes_;
  std::shared_ptr<const SavedValues> values_;
  std::mutex mutex_;
  std::vector<std::int64_t> last_sizes_;
  std::shared_ptr<const GraphFunction> last_;
};

std::vector<InputSpec> read_inputs(const JsonValue& json) {
  std::vector<InputSpec> inputs;
  for (const JsonValue& value : json.elements()) {
    InputSpec input;
    const auto dtype = parse_dtype(value.at("dtype").string());
    if (!dtype) value.at("dtype").complain("is no dtype");
    input.dtype = *dtype;
    for (const JsonValue& size : value.at("shape").elements())
      input.shape.push_back(size.is_null() ? InputSpec::kAny : size.integer(0));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::string variable_key(std::size_t number) { return text("variable ", number); }

std::shared_ptr<const SavedValues> read_values(const JsonValue& root, std::string_view tensors,
                                               const std::string& source) {
  auto values = std::make_shared<SavedValues>();
  values->tensors = safetensors_from_bytes(tensors, source).tensors;
  for (const JsonValue& json : root.at("variables").elements()) {
    const auto found = values->tensors.find(variable_key(values->cells.size()));
    if (found == values->tensors.end()) json.complain("it has no value in the file");
    values->cells.push_back(
        Ref<Cell>(new Cell(found->second, json.at("trainable").boolean(), json.at("name").string())));
    values->tensors.erase(found);
  }
  return values;
}

SavedFunctions::Entry read_function(const JsonValue& json, const std::shared_ptr<const SavedValues>& values,
                                    const std::string& source) {
  const std::string name = json.at("name").string();
  const auto inputs = read_inputs(json.at("inputs"));
  const auto function =
      std::make_shared<LoadedFunction>(text(source, ", function '", name, "'"), json.dump(), inputs, values);
  function->check();
  return {.name = name,
          .inputs = inputs,
          .function = Function([function](const Tensors& arguments) { return function->run(arguments); },
                               {.name = name, .input_signature = inputs}),
          .notes = json.at("notes").string()};
}

/// The JSON and the tensors behind it.
std::pair<std::string_view, std::string_view> open_file(std::string_view bytes, const std::string& name) {
  Header header;
  const auto refuse = [&](const auto&... parts) { fail(ErrorCode::bad_file, name, ": ", parts...); };
  if (bytes.size() < sizeof header || !bytes.starts_with(kMagic))
    refuse("no file of saved functions: it does not begin with ", kMagic);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version > kVersion)
    refuse("written by a newer version: format ", header.version, ", this version reads up to ", kVersion,
           "; update tandem");
  if (header.version == 0) refuse("damaged: there is no format 0");
  if (crc32c(bytes.substr(kChecked)) != header.checksum) refuse("damaged or truncated: its checksum is wrong");
  if (header.json_bytes > bytes.size() - sizeof header)
    refuse("damaged: ", header.json_bytes, " bytes of JSON in a file of ", bytes.size());
  return {bytes.substr(sizeof header, header.json_bytes), bytes.substr(sizeof header + header.json_bytes)};
}

}  // namespace

std::vector<Specs> size_samples(const std::vector<InputSpec>& inputs) {
  const OpenSizes sizes(inputs);
  std::vector<Specs> list;
  for (const auto& sample : sizes.samples()) list.push_back(sizes.specs(sample));
  return list;
}

std::string functions_to_bytes(const FunctionsToSave& what) {
  GraphWriter writer;
  for (const Variable& variable : what.variables) writer.number_of(variable.cell());
  Json json{{"variables", Json::array()}, {"functions", Json::array()}, {"notes", what.notes}};
  for (const FunctionToSave& function : what.functions) json["functions"].push_back(function_json(function, writer));
  Safetensors tensors{.tensors = writer.values().tensors};
  for (std::size_t i = 0; i < writer.values().cells.size(); ++i) {
    const Cell& cell = *writer.values().cells[i];
    json["variables"].push_back({{"name", cell.name()}, {"trainable", cell.id().watched}});
    tensors.tensors.emplace(variable_key(i), cell.read());
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.resize((sizeof(Header) + text.size() + 7) / 8 * 8 - sizeof(Header), ' ');
  const std::string body = text + safetensors_to_bytes(tensors);
  Header header{.version = kVersion, .json_bytes = text.size()};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += body;
  header.checksum = crc32c(std::string_view(bytes).substr(kChecked));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

void save_functions(const std::string& path, const FunctionsToSave& what) {
  write_file_atomically(path, functions_to_bytes(what));
}

SavedFunctions functions_from_bytes(std::string_view bytes, const std::string& name) {
  const auto [json, tensors] = open_file(bytes, name);
  const JsonDocument document(json, name);
  const JsonValue root = document.root();
  const auto values = read_values(root, tensors, name);
  SavedFunctions saved{.notes = root.at("notes").string()};
  for (const JsonValue& function : root.at("functions").elements())
    saved.functions.push_back(read_function(function, values, name));
  for (const Ref<Cell>& cell : values->cells) saved.variables.emplace_back(cell);
  return saved;
}

SavedFunctions load_functions(const std::string& path) { return functions_from_bytes(read_file(path), path); }

const SavedFunctions::Entry& SavedFunctions::find(const std::string& name) const {
  const std::string wanted = !name.empty() ? name : functions.size() == 1 ? functions[0].name : "serve";
  const auto found = std::ranges::find(functions, wanted, &Entry::name);
  if (found != functions.end()) return *found;
  std::vector<std::string> names;
  for (const Entry& entry : functions) names.push_back(entry.name);
  fail(ErrorCode::invalid_argument, "there is no function '", wanted, "' in the file; it has ",
       names.empty() ? "none" : join(names));
}

void save_function(const std::string& path, const Function& function, const std::vector<InputSpec>& inputs,
                   const std::string& key) {
  FunctionToSave one{.name = "function", .inputs = inputs};
  for (const Specs& specs : size_samples(inputs)) {
    Tensors arguments;
    for (const TensorSpec& spec : specs) arguments.push_back(Tensor::symbolic(spec));
    one.traces.push_back(function.concrete(arguments, key));
  }
  one.name = one.traces[0]->name;
  save_functions(path, {.functions = {std::move(one)}});
}

void save_function(const std::string& path, const std::shared_ptr<const GraphFunction>& function) {
  save_functions(
      path,
      {.functions = {{.name = std::string(function->name), .inputs = inputs_of(*function), .traces = {function}}}});
}

Function load_function(const std::string& path, const std::string& name) {
  return load_functions(path).find(name).function;
}

}  // namespace tandem
