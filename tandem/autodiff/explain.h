// Why the ops of a traced function run where they run, and what that is predicted to take.
//
//   std::cout << explain(f, {a, b}).to_text();
//   explain(f, {a, b}, {.machine = read_machine("machines/rtx3080.json")})   // what if?
#pragma once
#include <optional>
#include <string>

#include "tandem/autodiff/function.h"
#include "tandem/place/explanation.h"

namespace tandem {

struct ExplainOptions {
  std::optional<Machine> machine = {};  // another one than this: nothing runs, all its devices may be used
  std::string key = "";                 // as for Function::call
};

/// Traces and plans the function for such inputs if that has not been done, and runs nothing.
Explanation explain(const Function& function, const Tensors& inputs, const ExplainOptions& options = {});
Explanation explain(const GraphFunction& function, std::span<const TensorRef> inputs, const ExplainOptions& options = {});

}  // namespace tandem
