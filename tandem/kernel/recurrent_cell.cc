#include "tandem/kernel/recurrent_cell.h"

#include "tandem/op/network_records.h"

namespace tandem {
namespace {

using expr::Expr;
using Exprs = std::vector<Expr>;

Expr sigmoid(Expr x) { return 1 / (1 + exp(-x)); }

/// A program of `arity` inputs and what build makes of them, all of one dtype.
template <class F>
expr::Program build_program(std::size_t arity, DType dtype, F build) {
  expr::Graph graph;
  Exprs in;
  for (std::size_t i = 0; i < arity; ++i) in.push_back(graph.input(static_cast<int>(i), expr::lane_of(dtype)));
  const Exprs out = build(in);
  return expr::make_program(graph, std::vector<DType>(arity, dtype), out, std::vector<DType>(out.size(), dtype));
}

Exprs lstm_forward(const Exprs& in) {
  const Expr i = sigmoid(in[0] + in[4]), f = sigmoid(in[1] + in[5]), g = tanh(in[2] + in[6]),
             o = sigmoid(in[3] + in[7]);
  const Expr cell = f * in[8] + i * g;
  return {o * tanh(cell), cell, i, f, g, o};
}

Exprs lstm_backward(const Exprs& in) {
  const Expr i = in[0], f = in[1], g = in[2], o = in[3], before = in[5];
  const Expr state = in[6] + in[7], curved = tanh(in[4]);
  const Expr cell = in[8] + in[9] + state * o * (1 - curved * curved);
  return {cell * g * i * (1 - i), cell * before * f * (1 - f), cell * i * (1 - g * g), state * curved * o * (1 - o),
          cell * f};
}

Exprs gru_forward(const Exprs& in) {
  const Expr z = sigmoid(in[0] + in[3]), r = sigmoid(in[1] + in[4]), recurrent = in[5];
  const Expr candidate = tanh(in[2] + r * recurrent);
  return {z * in[6] + (1 - z) * candidate, z, r, candidate, recurrent};
}

Exprs gru_backward(const Exprs& in) {
  const Expr z = in[0], r = in[1], candidate = in[2], recurrent = in[3], before = in[4], state = in[5] + in[6];
  const Expr by_candidate = state * (1 - z) * (1 - candidate * candidate);
  const Expr by_z = state * (before - candidate) * z * (1 - z), by_r = by_candidate * recurrent * r * (1 - r);
  return {by_z, by_r, by_candidate, by_z, by_r, by_candidate * r, state * z};
}

}  // namespace

CellKind cell_kind(const OpDef& op) {
  if (&op == &lstm_op || &op == &lstm_grad_op) return CellKind::lstm;
  return &op == &gru_op || &op == &gru_grad_op ? CellKind::gru : CellKind::simple_rnn;
}

RecurrentSizes::RecurrentSizes(const KernelCall& call, int x, int recurrent_kernel)
    : kind(cell_kind(call.op)),
      batch(call.shape(x)[0]),
      steps(call.shape(x)[1]),
      inputs(call.shape(x)[2]),
      units(call.shape(recurrent_kernel)[0]),
      gates(kind == CellKind::lstm  ? 4
            : kind == CellKind::gru ? 3
                                    : 1),
      saved(kind == CellKind::simple_rnn ? 0 : 4) {}

expr::Program cell_forward(CellKind kind, DType dtype) {
  switch (kind) {
    case CellKind::lstm: return build_program(9, dtype, lstm_forward);
    case CellKind::gru: return build_program(7, dtype, gru_forward);
    default: return build_program(2, dtype, [](const Exprs& in) { return Exprs{tanh(in[0] + in[1])}; });
  }
}

expr::Program cell_backward(CellKind kind, DType dtype) {
  switch (kind) {
    case CellKind::lstm: return build_program(10, dtype, lstm_backward);
    case CellKind::gru: return build_program(7, dtype, gru_backward);
    default:
      return build_program(3, dtype, [](const Exprs& in) { return Exprs{(in[1] + in[2]) * (1 - in[0] * in[0])}; });
  }
}

}  // namespace tandem
