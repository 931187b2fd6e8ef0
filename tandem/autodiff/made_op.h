// Ops made at run time (calls, branches, loops, gradients given by hand) taken apart into what a file can hold, and
// made again from the parts: read from a file, or with open sizes put in.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autodiff/graph_function.h"
#include "tandem/graph/open_graph.h"

namespace tandem {

struct OpParts {
  std::string kind;  // "call", "cond", "while_loop", "while_loop_gradient", "custom_gradient"
  std::vector<std::shared_ptr<const GraphFunction>> functions;
  std::vector<std::int64_t> numbers;
};

/// Nothing for an op that only this process can run, such as a call of Python.
std::optional<OpParts> parts_of(const OpDef& op);

/// An op and the operands it needs; those without a spec may be anything.
struct MadeOp {
  std::shared_ptr<const OpDef> op;
  std::vector<std::optional<TensorSpec>> inputs;
};
/// Throws invalid_argument when the parts do not fit each other: they may come from a hostile file.
MadeOp make_op(const OpParts& parts);

/// The kinds, each beside its op.
namespace made_op {

std::optional<OpParts> call_parts(const OpDef& op);
std::optional<OpParts> cond_parts(const OpDef& op);
std::optional<OpParts> while_parts(const OpDef& op);
std::optional<OpParts> custom_gradient_parts(const OpDef& op);

MadeOp make_cond(const OpParts& parts);
MadeOp make_while(const OpParts& parts);
MadeOp make_while_gradient(const OpParts& parts);
MadeOp make_custom_gradient(const OpParts& parts);

/// For traces with open sizes. Calls of Python without results have no sizes and stay as they are.
extern const SizesInside kSizesInside;

/// Of a function, as operands.
std::vector<std::optional<TensorSpec>> parameters_of(const GraphFunction& function);
/// Throws invalid_argument unless there are so many functions and at least so many numbers, none of them negative.
void check_parts(const OpParts& parts, std::size_t functions, std::size_t numbers);

}  // namespace made_op
}  // namespace tandem
