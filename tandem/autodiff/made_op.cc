#include "tandem/autodiff/made_op.h"

#include <algorithm>

namespace tandem {
namespace made_op {

std::vector<std::optional<TensorSpec>> parameters_of(const GraphFunction& function) {
  std::vector<std::optional<TensorSpec>> specs;
  for (std::int32_t node : function.graph().parameters)
    specs.emplace_back(function.graph().nodes[static_cast<std::size_t>(node)].outputs[0]);
  return specs;
}

void check_parts(const OpParts& parts, std::size_t functions, std::size_t numbers) {
  // Far above what an op can have: sums of numbers below it do not overflow.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const bool sound = std::ranges::all_of(parts.numbers, [](std::int64_t n) { return n >= -1 && n < kMost; });
  if (parts.functions.size() == functions && parts.numbers.size() >= numbers && sound) return;
  fail(ErrorCode::invalid_argument, parts.kind, " needs ", functions, " graphs and ", numbers, " numbers, got ",
       parts.functions.size(), " graphs and the numbers [", join(parts.numbers), "]");
}

}  // namespace made_op

std::optional<OpParts> parts_of(const OpDef& op) {
  using namespace made_op;
  for (auto* take_apart : {call_parts, cond_parts, while_parts, custom_gradient_parts})
    if (auto parts = take_apart(op)) return parts;
  return std::nullopt;
}

MadeOp make_op(const OpParts& parts) {
  using namespace made_op;
  if (parts.kind == "call") {
    check_parts(parts, 1, 0);
    return {parts.functions[0], parameters_of(*parts.functions[0])};
  }
  if (parts.kind == "cond") return make_cond(parts);
  if (parts.kind == "while_loop") return make_while(parts);
  if (parts.kind == "while_loop_gradient") return make_while_gradient(parts);
  if (parts.kind == "custom_gradient") return make_custom_gradient(parts);
  fail(ErrorCode::invalid_argument, "there is no op made of graphs called '", parts.kind, "'; a newer version may know it");
}

}  // namespace tandem
