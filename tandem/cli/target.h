// What `explain` and `suggest` look at: a function of a saved file, or a prediction of a model.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tandem/autodiff/explain.h"

namespace CLI {
class App;
}

namespace tandem::cli {

/// The options that both commands have.
struct TargetOptions {
  std::string file, function, machine;
  std::int64_t batch = 32;
  bool json = false;

  void add_to(CLI::App& command);
};

struct Target {
  std::shared_ptr<const void> owner;  // keeps a model alive
  std::shared_ptr<const GraphFunction> function;
  Tensors arguments;

  std::vector<TensorRef> refs() const { return {arguments.begin(), arguments.end()}; }
};

/// Throws file_error or bad_file.
Target open_target(const TargetOptions& options);
/// The machine that --machine names.
ExplainOptions explain_options(const TargetOptions& options);

}  // namespace tandem::cli
