#include "tandem/backend/cpu/jit_body.h"

#include <algorithm>

namespace tandem::cpu {

using expr::Lane;
using expr::Node;
using expr::Prim;

namespace {

bool is_constant(const Node& node) { return node.prim == Prim::constant; }
bool is_index(const Node& node) { return node.prim == Prim::index_lo || node.prim == Prim::index_hi; }

/// Registers an instruction needs besides its operands and its result: multiplication in halves, constants loaded; a
/// quotient by products.
constexpr int kScratchRegisters = 2, kScratchOfQuotient = 4;

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
  by_products_.assign(count, false);
  if (emit.wide() && divides_faster_by_products(JitTarget::avx512)) choose_divisions();
}

/// Quotients and roots wait for one another, all else for two other units: quotients change sides where that is by far
/// the longer wait, as in the updates of Adam and RMSprop.
void Body::choose_divisions() {
  constexpr int kQuotient = 10, kRoot = 12, kByProducts = 8;  // cycles
  int unit = 0;
  const auto is_f32 = [](const Node& node, Prim prim) { return node.prim == prim && node.lane == Lane::f32; };
  for (const Node& node : program_.nodes)
    unit += is_f32(node, Prim::div) ? kQuotient : is_f32(node, Prim::sqrt) ? kRoot : 0;
  int others = length_ / 2;
  for (std::size_t i = 0; i < program_.nodes.size() && unit - others > kQuotient; ++i) {
    if (!is_f32(program_.nodes[i], Prim::div)) continue;
    by_products_[i] = true;
    unit -= kQuotient;
    others += kByProducts;
  }
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

void Body::hoist_constants(int reserved, int copies) {
  std::vector<std::int32_t> constants;
  int row_inputs = 0;
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    if (is_constant(program_.nodes[i]) && last_use_[i] >= 0) constants.push_back(static_cast<std::int32_t>(i));
    row_inputs += resident_[i].isValid();
  }
  std::stable_sort(constants.begin(), constants.end(), [&](auto a, auto b) { return uses_[a] > uses_[b]; });
  int room = emit_.vector_registers() - reserved - row_inputs - copies * most_live() -
             (std::ranges::count(by_products_, true) > 0 ? kScratchOfQuotient : kScratchRegisters);
  for (const std::int32_t n : constants) {
    if (room-- <= 0) break;
    resident_[n] = emit_.constant_register(program_.nodes[n]);
  }
}

bool Body::reads(int input) const {
  return std::any_of(program_.nodes.begin(), program_.nodes.end(), [&](const Node& node) {
    return node.prim == Prim::input && static_cast<int>(node.bits) == input;
  });
}

void Body::set_row_input(int input, const x86::Reg& value) {
  for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
    const Node& node = program_.nodes[i];
    if (node.prim == Prim::input && static_cast<int>(node.bits) == input) resident_[i] = value;
  }
}

Arg Body::argument(std::int32_t node_index, std::int32_t user, Copy& copy) {
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
    x86::Reg& value = copy.values[n];
    if (!value.isValid()) {
      const std::size_t mark = emit_.mark();
      value = copy.source.load(static_cast<int>(node.bits));
      emit_.release_since(mark, value);
    }
    arg.operand = value;
    arg.dies = last_use_[n] == user && !(copy.source.keep_inputs && node.prim == Prim::input);
  }
  return arg;
}

void Body::write_node(std::int32_t i, Copy& copy, const x86::Reg& into) {
  const Node& node = program_.nodes[i];
  if (node.prim == Prim::input || node.prim == Prim::constant || node.prim == Prim::bitcast) return;
  const Arg args[] = {argument(node.a, i, copy), argument(node.b, i, copy), argument(node.c, i, copy)};
  const std::size_t mark = emit_.mark();
  emit_.set_by_products(by_products_[static_cast<std::size_t>(i)]);
  x86::Reg& value = copy.values[i];
  if (node.prim == Prim::index_lo) value = emit_.index_lo(copy.source.index);
  else if (node.prim == Prim::index_hi) value = emit_.index_hi(copy.source.index);
  else value = emit_.apply(node, program_.nodes[node.a].lane, args, i == writes_into_ ? into : x86::Reg{});
  emit_.release_since(mark, value);
  for (const Arg& arg : args)
    if (arg.dies && arg.operand != value) emit_.release(arg.operand.as<x86::Reg>());
}

Body::Results Body::results(Copy& copy) {
  Results out;
  for (const auto& output : program_.outputs) {
    const Arg result = argument(output.node, static_cast<std::int32_t>(program_.nodes.size()), copy);
    if (result.operand.isReg()) out.push_back(result.operand.as<x86::Reg>());
    else out.push_back(emit_.constant_register(program_.nodes[same_[output.node]]));
  }
  return out;
}

Body::Results Body::write(const BodySource& source, const x86::Reg& into) {
  const auto count = static_cast<std::int32_t>(program_.nodes.size());
  Copy copy{source, std::vector<x86::Reg>(count)};
  for (std::int32_t i = 0; i < count; ++i) write_node(i, copy, into);
  Results out = results(copy);
  if (into.isValid() && !out.empty() && out[0] != into) {
    emit_.move(into, out[0]);
    out[0] = into;
  }
  return out;
}

/// Puts the constants of a node into registers for the time of its copies, so that they are read once.
std::vector<std::int32_t> Body::lend_constants(std::int32_t i) {
  std::vector<std::int32_t> lent;
  const Node& node = program_.nodes[i];
  if (node.prim == Prim::bitcast) return lent;
  for (const std::int32_t operand : {node.a, node.b, node.c}) {
    if (operand < 0) continue;
    const std::int32_t n = same_[operand];
    if (!is_constant(program_.nodes[n]) || resident_[n].isValid()) continue;
    resident_[n] = emit_.constant_register(program_.nodes[n]);
    lent.push_back(n);
  }
  return lent;
}

std::vector<Body::Results> Body::write(const std::vector<BodySource>& sources) {
  const auto count = static_cast<std::int32_t>(program_.nodes.size());
  std::vector<Copy> copies;
  for (const BodySource& source : sources) copies.push_back({source, std::vector<x86::Reg>(count)});
  for (std::int32_t i = 0; i < count; ++i) {
    const std::vector<std::int32_t> lent = copies.size() > 2 ? lend_constants(i) : std::vector<std::int32_t>();
    for (Copy& copy : copies) write_node(i, copy, {});
    for (const std::int32_t n : lent) {
      emit_.release(resident_[n]);
      resident_[n] = {};
    }
  }
  std::vector<Results> out;
  for (Copy& copy : copies) out.push_back(results(copy));
  return out;
}

}  // namespace tandem::cpu
