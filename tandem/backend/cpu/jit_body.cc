#include "tandem/backend/cpu/jit_body.h"

#include <algorithm>

namespace tandem::cpu {

using expr::Lane;
using expr::Node;
using expr::Prim;

namespace {

bool is_constant(const Node& node) { return node.prim == Prim::constant; }
bool is_index(const Node& node) { return node.prim == Prim::index_lo || node.prim == Prim::index_hi; }

/// Registers an instruction needs besides its operands and its result: multiplication in halves, constants loaded.
constexpr int kScratchRegisters = 2;

}  // namespace

Body::Body(VectorEmitter& emit, const expr::Program& program) : emit_(emit), program_(program) {
  const auto& nodes = program.nodes;
  const auto count = static_cast<std::int32_t>(nodes.size());
  same_.resize(count);
  last_use_.assign(count, -1);
  uses_.assign(count, 0);
  resident_.resize(count);
  for (std::int32_t i = 0; i < count; ++i) {
    const Node& node = nodes[i];
    same_[i] = node.prim == Prim::bitcast ? same_[node.a] : i;
    uses_index_ |= is_index(node);
    if (node.prim == Prim::bitcast) continue;
    length_ += !is_constant(node);
    for (const std::int32_t operand : {node.a, node.b, node.c}) {
      if (operand < 0) continue;
      last_use_[same_[operand]] = i;
      ++uses_[same_[operand]];
    }
  }
  for (const auto& output : program.outputs) last_use_[same_[output.node]] = count;
  // The last instruction may write into a register that it or earlier ones read: nobody reads it afterwards.
  if (program.outputs.size() == 1 && count > 0 && same_[program.outputs[0].node] == count - 1) writes_into_ = count - 1;
}

int Body::most_live() const {
  const auto& nodes = program_.nodes;
  std::vector<bool> live(nodes.size(), false);
  int now = 0, most = 0;
  auto takes_vector = [&](std::int32_t i) {
    return !is_constant(nodes[i]) && !resident_[i].isValid() && !(emit_.wide() && nodes[i].lane == Lane::mask);
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (node.prim == Prim::bitcast || node.prim == Prim::input || is_constant(node)) continue;
    auto begin = [&](std::int32_t n) {  // inputs are loaded where they are first read
      if (takes_vector(n) && !live[n]) live[n] = true, ++now;
    };
    for (const std::int32_t operand : {node.a, node.b, node.c})
      if (operand >= 0) begin(same_[operand]);
    most = std::max(most, now);
    for (const std::int32_t operand : {node.a, node.b, node.c}) {
      if (operand < 0) continue;
      const std::int32_t n = same_[operand];
      if (live[n] && last_use_[n] == static_cast<std::int32_t>(i)) live[n] = false, --now;
    }
    begin(static_cast<std::int32_t>(i));
    most = std::max(most, now);
  }
  return most;
}

void Body::hoist_constants(int reserved) {
  std::vector<std::int32_t> constants;
  int row_inputs = 0;
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    if (is_constant(program_.nodes[i]) && (uses_[i] > 0 || last_use_[i] >= 0)) constants.push_back(static_cast<std::int32_t>(i));
    row_inputs += resident_[i].isValid();
  }
  std::stable_sort(constants.begin(), constants.end(), [&](auto a, auto b) { return uses_[a] > uses_[b]; });
  int room = emit_.vector_registers() - reserved - row_inputs - most_live() - kScratchRegisters;
  for (const std::int32_t n : constants) {
    if (room-- <= 0) break;
    resident_[n] = emit_.constant_register(program_.nodes[n]);
  }
}

void Body::set_row_input(int input, const x86::Reg& value) {
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (node.prim == Prim::input && static_cast<int>(node.bits) == input) resident_[i] = value;
  }
}

Arg Body::argument(std::int32_t node_index, std::int32_t user, const BodySource& source) {
  if (node_index < 0) return {};
  const std::int32_t n = same_[node_index];
  const Node& node = program_.nodes[n];
  const bool constant = is_constant(node);
  Arg arg{.zero = constant && node.bits == 0, .uniform = constant || resident_[n].isValid()};
  if (resident_[n].isValid()) {
    arg.operand = resident_[n];
  } else if (constant) {
    if (node.lane == Lane::mask) arg.operand = emit_.constant_register(node);
    else arg.operand = emit_.constant(node.bits);
  } else {
    if (!values_[n].isValid()) values_[n] = source.load(static_cast<int>(node.bits));
    arg.operand = values_[n];
    arg.dies = last_use_[n] == user && !(source.keep_inputs && node.prim == Prim::input);
  }
  return arg;
}

std::vector<x86::Reg> Body::write(const BodySource& source, const x86::Reg& into) {
  const auto& nodes = program_.nodes;
  const auto count = static_cast<std::int32_t>(nodes.size());
  values_.assign(count, {});
  for (std::int32_t i = 0; i < count; ++i) {
    const Node& node = nodes[i];
    switch (node.prim) {
      case Prim::input:
      case Prim::constant:
      case Prim::bitcast: break;
      case Prim::index_lo: values_[i] = emit_.index_lo(source.index); break;
      case Prim::index_hi: values_[i] = emit_.index_hi(source.index); break;
      default: {
        const Arg a = argument(node.a, i, source), b = argument(node.b, i, source), c = argument(node.c, i, source);
        values_[i] = emit_.apply(node, nodes[node.a].lane, a, b, c, i == writes_into_ ? into : x86::Reg{});
      }
    }
  }
  std::vector<x86::Reg> results;
  for (const auto& output : program_.outputs) {
    const Arg result = argument(output.node, count, source);
    if (result.operand.isReg()) {
      results.push_back(result.operand.as<x86::Reg>());
    } else {
      results.push_back(emit_.constant_register(nodes[same_[output.node]]));
    }
  }
  if (into.isValid() && !results.empty() && results[0] != into) {
    emit_.move(into, results[0]);
    results[0] = into;
  }
  return results;
}

}  // namespace tandem::cpu
