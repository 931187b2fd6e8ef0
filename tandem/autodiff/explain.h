// Why the ops of a traced function run where they run, and what that is predicted to take.
//
//   std::cout << explain(f, {a, b}).to_text();
//   explain(f, {a, b}, {.machine = read_machine("machines/rtx3080.json")})   // what if?
#pragma once
#include <optional>
#include <string>

#include "tandem/autodiff/function.h"
#include "tandem/autodiff/run_notes.h"
#include "tandem/exec/suggestions.h"
#include "tandem/place/explanation.h"
#include "tandem/place/lock.h"

namespace tandem {

struct ExplainOptions {
  std::optional<Machine> machine = {};  // another one than this: nothing runs, all its devices may be used
  std::string key = "";                 // as for Function::call
  bool scopes = true;                   // false: as if no op asked for a device
  std::optional<DeviceName> scope = {};  // in which the function is called
};

/// Traces and plans the function for such inputs if that has not been done, and runs nothing.
Explanation explain(const Function& function, const Tensors& inputs, const ExplainOptions& options = {});
Explanation explain(const GraphFunction& function, std::span<const TensorRef> inputs,
                    const ExplainOptions& options = {});

/// What ran op by op, as it ran; on another machine, as it would be placed.
Explanation explain(const RunNotes& notes, const ExplainOptions& options = {});

/// What would make a step shorter, the best first.
std::vector<Suggestion> suggest(const GraphFunction& function, std::span<const TensorRef> inputs,
                                const ExplainOptions& options = {});

/// The placement as a lock keeps it.
LockedFunction locked(const GraphFunction& function, const Explanation& explanation);

}  // namespace tandem
