#include "tandem/cli/target.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "tandem/autodiff/saved_function.h"
#include "tandem/nn/model_file.h"
#include "tandem/runtime/runtime.h"

namespace tandem::cli {
namespace {

constexpr std::int64_t kMostRows = std::int64_t{1} << 40;  // of a batch

/// Keras' files; everything else is taken for saved functions, whose reader says what is wrong.
bool is_model(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".keras" || ending == ".h5" || ending == ".hdf5";
}

}  // namespace

void TargetOptions::add_to(CLI::App& command) {
  command
      .add_option("FILE", file,
                  "A file or directory of tf.saved_model.save, save_function or Model.export, or a .keras model")
      ->required();
  command.add_option("--machine", machine,
                     "What if: the devices and links of this file, such as machines/rtx3080.json");
  command.add_option("--function", function, "Which function of the file");
  command.add_option("--batch", batch, "The size of batches, where it is open")
      ->check(CLI::Range(std::int64_t{1}, kMostRows))
      ->capture_default_str();
  command.add_flag("--json", json, "Print JSON");
}

Target open_target(const TargetOptions& options) {
  default_runtime().devices();  // so that GPUs take part
  if (is_model(options.file)) {
    if (!options.function.empty())
      fail(ErrorCode::invalid_argument, "--function: ", options.file,
           " is a model, which has no functions to choose from");
    const std::shared_ptr<const Model> model = load_model(options.file, {.compile = false});
    const Tensors arguments = sample_arguments(model->inputs(), options.batch);
    return {model, model->predict_function().concrete(arguments), arguments};
  }
  const std::filesystem::path path(options.file);
  const std::string file = std::filesystem::is_directory(path) ? (path / "saved_model.tandem").string() : options.file;
  const SavedFunctions saved = load_functions(file);
  const SavedFunctions::Entry& entry = saved.find(options.function);
  const Tensors arguments = sample_arguments(entry.inputs, options.batch);
  return {nullptr, entry.function.concrete(arguments), arguments};
}

ExplainOptions explain_options(const TargetOptions& options) {
  ExplainOptions out;
  if (!options.machine.empty()) out.machine = read_machine(options.machine);
  return out;
}

}  // namespace tandem::cli
