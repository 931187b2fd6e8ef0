// Traced functions in a file: graphs, constants and the values of variables, with a version and a checksum.
//
//   save_function("step.tandem", f, {{DType::f32, {InputSpec::kAny, 784}}});   // any batch size
//   Function g = load_function("step.tandem");
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/autodiff/function.h"
#include "tandem/autodiff/variable.h"

namespace tandem {

/// A function to be written: traced once, or where its inputs leave sizes open once for each of `size_samples`.
struct FunctionToSave {
  std::string name;
  std::vector<InputSpec> inputs;
  std::vector<std::shared_ptr<const GraphFunction>> traces;
  std::string notes = "";  // kept as they are: what a language knows beside the graph
};
/// The inputs to trace a function for: the sizes they leave open filled in.
std::vector<Specs> size_samples(const std::vector<InputSpec>& inputs);

struct FunctionsToSave {
  std::vector<FunctionToSave> functions;
  std::vector<Variable> variables = {};  // kept whether a function reads them or not, first and in this order
  std::string notes = "";
};
/// Written atomically. Throws file_error, or invalid_argument naming an op that cannot be saved.
void save_functions(const std::string& path, const FunctionsToSave& what);
std::string functions_to_bytes(const FunctionsToSave& what);

/// What was in a file. The functions share its variables, which are new.
struct SavedFunctions {
  struct Entry {
    std::string name;
    std::vector<InputSpec> inputs;
    Function function;
    std::string notes;
  };
  std::vector<Entry> functions;
  std::vector<Variable> variables;
  std::string notes;

  /// By name; without one the only function, or "serve". Throws invalid_argument with the names there are.
  const Entry& find(const std::string& name = "") const;
};
/// Throws file_error, or bad_file for a file that is damaged, truncated, of another format or of a newer version.
SavedFunctions load_functions(const std::string& path);
SavedFunctions functions_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");

/// One function. `key` as for Function::call.
void save_function(const std::string& path, const Function& function, const std::vector<InputSpec>& inputs,
                   const std::string& key = "");
void save_function(const std::string& path, const std::shared_ptr<const GraphFunction>& function);
Function load_function(const std::string& path, const std::string& name = "");

}  // namespace tandem
