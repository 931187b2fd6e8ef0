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

namespace {

bool may_be_open(const OpDef& op) { return op.outputs == 0 || parts_of(op); }

std::shared_ptr<const OpDef> op_at(const std::shared_ptr<const OpDef>& op, std::span<const std::int64_t> sizes,
                                   std::string& why) {
  auto found = parts_of(*op);
  if (!found) return op;
  OpParts& parts = *found;
  for (auto& function : parts.functions) {
    auto graph = graph_at({.graph = function->graph()}, sizes, kSizesInside, why);
    if (!graph) return nullptr;
    function = GraphFunction::make(*std::move(graph), std::string(function->name));
  }
  for (std::int64_t& number : parts.numbers) {
    const auto known = size_at(number, sizes);
    if (!known) {
      why = "a number of it would be negative";
      return nullptr;
    }
    number = *known;
  }
  return make_op(parts).op;
}

bool is_same_op(const OpDef& a, const OpDef& b) {
  const auto one = parts_of(a), other = parts_of(b);
  if (!one || !other || one->kind != other->kind || one->numbers != other->numbers) return false;
  std::string why;
  return std::ranges::equal(one->functions, other->functions, [&](const auto& f, const auto& g) {
    return is_same_graph(f->graph(), g->graph(), kSizesInside, why);
  });
}

}  // namespace

const SizesInside kSizesInside{.may_be_open = may_be_open, .at = op_at, .same = is_same_op};

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
  fail(ErrorCode::invalid_argument, "there is no op made of graphs called '", parts.kind,
       "'; a newer version may know it");
}

}  // namespace tandem
