// The cells of recurrent networks: sizes, and one step of each as a program over the units, the same for every device.
#pragma once
#include "tandem/expr/program.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

enum class CellKind { lstm, gru, simple_rnn };

/// x [batch, steps, inputs]; a step makes `gates` values a unit from x and from the state before, and keeps `saved` of
/// them for the gradient.
struct RecurrentSizes {
  CellKind kind;
  std::int64_t batch, steps, inputs, units;
  int gates, saved;

  /// `x`: which input of the call that is; the recurrent kernel's shape tells the units.
  RecurrentSizes(const KernelCall& call, int x, int recurrent_kernel);

  bool has_cells() const { return kind == CellKind::lstm; }
  /// What the state contributes is not simply added to what x does: it has a bias and gradients of its own.
  bool reset_after() const { return kind == CellKind::gru; }
  std::int64_t gate_width() const { return gates * units; }
  std::int64_t saved_width() const { return saved * units; }
};

CellKind cell_kind(const OpDef& op);

/// Inputs: from x (gates), from the state (gates), state before (gru), cell before (lstm).
/// Outputs: state, cell (lstm), saved.
expr::Program cell_forward(CellKind kind, DType dtype);

/// Inputs: saved (for simple_rnn the state), cell and cell before (lstm), state before (gru), gradient of the output,
/// of the state from the step after, and for lstm of the cell from there and of the cell itself.
/// Outputs: gradients of what x gave (gates); for gru of what the state gave (gates) and its direct share of the state
/// before; for lstm of the cell before.
expr::Program cell_backward(CellKind kind, DType dtype);

}  // namespace tandem
