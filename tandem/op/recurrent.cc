// Recurrent layers over whole sequences, a record a cell: what the gradient needs of each step is an output.
#include "tandem/op/network_ops.h"
#include "tandem/op/network_records.h"
#include "tandem/op/open_size.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

/// Which inputs are which, and how many gates the cell has.
struct Layout {
  int x, h0, kernel, recurrent_kernel, gates;
};

/// x [batch, steps, inputs], h0 [batch, units], kernel [inputs, gates * units], recurrent kernel [units, gates *
/// units].
void check_sequence(const InferContext& c, const Layout& l) {
  const Shape &x = c.shape(l.x), &h0 = c.shape(l.h0), &kernel = c.shape(l.kernel),
              &recurrent = c.shape(l.recurrent_kernel);
  if (x.rank() != 3) fail(ErrorCode::shape_mismatch, c.op.name, ": x must be [batch, steps, inputs], got ", x);
  if (recurrent.rank() != 2 || recurrent[1] != l.gates * recurrent[0])
    fail(ErrorCode::shape_mismatch, c.op.name, ": recurrent_kernel must be [units, ", l.gates, " * units], got ",
         recurrent);
  const std::int64_t units = recurrent[0];
  if (kernel != Shape{x[2], l.gates * units})
    fail(ErrorCode::shape_mismatch, c.op.name, ": kernel must be ", Shape{x[2], l.gates * units}, " for x ", x, " and ",
         units, " units, got ", kernel);
  if (h0 != Shape{x[0], units})
    fail(ErrorCode::shape_mismatch, c.op.name, ": h0 must be [batch, units] = ", Shape{x[0], units}, ", got ", h0);
}

void check_is(const InferContext& c, int i, const Shape& wanted) {
  if (c.shape(i) != wanted)
    fail(ErrorCode::shape_mismatch, c.op.name, ": ", c.op.inputs[i], " must have shape ", wanted, ", got ", c.shape(i));
}

/// [batch, steps, width].
TensorSpec sequence(const InferContext& c, int x, std::int64_t width) {
  return {c.dtype(x), {c.shape(x)[0], c.shape(x)[1], width}};
}

double sequence_flops(const InferContext& c, int x, int kernel) {
  const Shape &s = c.shape(x), &k = c.shape(kernel), &r = c.shape(kernel + 1);
  return 2.0 * static_cast<double>(s[0] * s[1]) * static_cast<double>(k.elements() + r.elements());
}

/// Steps of the sequence that input `x` is: they follow one another.
template <int x>
double sequence_depth(const InferContext& c) {
  return static_cast<double>(c.shape(x)[1]);
}

constexpr Layout kLstm{0, 1, 3, 4, 4}, kLstmGrad{2, 3, 5, 6, 4};
constexpr Layout kGru{0, 1, 2, 3, 3}, kGruGrad{1, 2, 3, 4, 3};
constexpr Layout kSimple{0, 1, 2, 3, 1}, kSimpleGrad{1, 2, 3, 4, 1};

// --- The layers step by step, in ops: for gradients of gradients. ---

/// Columns [k * units, (k + 1) * units) of a gate.
Tensor gate(const Tensor& gates, std::int64_t k, std::int64_t units) {
  return slice(gates, {0, k * units}, {-1, units});
}

std::int64_t steps_of(const Tensor& x) {
  require_known("the steps of a gradient of a recurrent layer's gradient", x.shape()[1]);
  return x.shape()[1];
}

/// Step t of [batch, steps, width].
Tensor step_of(const Tensor& sequence, std::int64_t t) {
  const Shape& s = sequence.shape();
  return reshape(slice(sequence, {0, t, 0}, {-1, 1, -1}), Shape{s[0], s[2]});
}

/// x [batch, steps, inputs] times kernel [inputs, width] and a bias, as a list of [batch, width].
Tensors projected_steps(const Tensor& x, const Tensor& kernel, const Tensor& bias) {
  Tensors steps;
  for (std::int64_t t = 0, count = steps_of(x); t < count; ++t) steps.push_back(matmul(step_of(x, t), kernel) + bias);
  return steps;
}

/// A list of [batch, units] as [batch, steps, units].
Tensor joined_steps(const Tensors& steps) {
  Tensors apart;
  for (const Tensor& step : steps) apart.push_back(expand_dims(step, 1));
  return concat(apart, 1);
}

/// What lstm computes.
Tensors lstm_steps(const Tensors& in) {
  const std::int64_t units = in[4].shape()[0];
  Tensor state = in[1], cell = in[2];
  Tensors states, cells, gates;
  for (const Tensor& from_x : projected_steps(in[0], in[3], in[5])) {
    const Tensor sums = from_x + matmul(state, in[4]);
    const Tensor i = sigmoid(gate(sums, 0, units)), f = sigmoid(gate(sums, 1, units)), g = tanh(gate(sums, 2, units)),
                 o = sigmoid(gate(sums, 3, units));
    cells.push_back(cell = f * cell + i * g);
    states.push_back(state = o * tanh(cell));
    gates.push_back(concat({i, f, g, o}, 1));
  }
  return {joined_steps(states), joined_steps(cells), joined_steps(gates)};
}

/// What lstm_grad computes.
Tensors lstm_gradient_steps(const Tensors& in) {
  const Tensor &x = in[2], &h0 = in[3], &c0 = in[4], &kernel = in[5], &recurrent = in[6], &states = in[7],
               &cells = in[8];
  const std::int64_t units = recurrent.shape()[0];
  const Tensor cell_grads = broadcast_to(in[1], cells.shape());
  Tensor dstate = zeros_like(h0), dcell = zeros_like(c0), dkernel = zeros_like(kernel),
         drecurrent = zeros_like(recurrent);
  Tensors dx, dgates;
  for (std::int64_t t = steps_of(x); t-- > 0;) {
    const Tensor gates = step_of(in[9], t), i = gate(gates, 0, units), f = gate(gates, 1, units),
                 g = gate(gates, 2, units), o = gate(gates, 3, units), curved = tanh(step_of(cells, t));
    dstate = dstate + step_of(in[0], t);
    dcell = dcell + step_of(cell_grads, t) + dstate * o * (1 - square(curved));
    const Tensor by_gates = concat({dcell * g * i * (1 - i), dcell * (t ? step_of(cells, t - 1) : c0) * f * (1 - f),
                                    dcell * i * (1 - square(g)), dstate * curved * o * (1 - o)},
                                   1);
    dx.insert(dx.begin(), matmul(by_gates, kernel, false, true));
    dgates.push_back(by_gates);
    dkernel = dkernel + matmul(step_of(x, t), by_gates, true);
    drecurrent = drecurrent + matmul(t ? step_of(states, t - 1) : h0, by_gates, true);
    dstate = matmul(by_gates, recurrent, false, true);
    dcell = dcell * f;
  }
  return {joined_steps(dx), dstate, dcell, dkernel, drecurrent, reduce_sum(joined_steps(dgates), {0, 1})};
}

/// What gru computes, without what its gradient needs.
Tensors gru_steps(const Tensors& in) {
  const std::int64_t units = in[3].shape()[0];
  const auto bias = [&](std::int64_t row) { return slice(in[4], {row, 0}, {1, -1}); };
  Tensor state = in[1];
  Tensors states;
  for (const Tensor& from_x : projected_steps(in[0], in[2], bias(0))) {
    const Tensor from_state = matmul(state, in[3]) + bias(1);
    const auto both = [&](std::int64_t k) { return sigmoid(gate(from_x, k, units) + gate(from_state, k, units)); };
    const Tensor z = both(0), candidate = tanh(gate(from_x, 2, units) + both(1) * gate(from_state, 2, units));
    state = z * state + (1 - z) * candidate;
    states.push_back(state);
  }
  return {joined_steps(states)};
}

/// What simple_rnn computes.
Tensors simple_rnn_steps(const Tensors& in) {
  Tensor state = in[1];
  Tensors states;
  for (const Tensor& from_x : projected_steps(in[0], in[2], in[4]))
    states.push_back(state = tanh(from_x + matmul(state, in[3])));
  return {joined_steps(states)};
}

}  // namespace

const OpDef lstm_op{
    .name = "lstm",
    .doc = "An LSTM over [batch, steps, inputs], as Keras' (gates i, f, c, o): states, cells and gates of every step.",
    .inputs = {"x", "h0", "c0", "kernel", "recurrent_kernel", "bias"},
    .dtypes = kFloating,
    .outputs = 3,
    .infer =
        [](const InferContext& c) {
          check_sequence(c, kLstm);
          const std::int64_t units = c.shape(4)[0];
          check_is(c, 2, c.shape(1));
          check_is(c, 5, {4 * units});
          return Specs{sequence(c, 0, units), sequence(c, 0, units), sequence(c, 0, 4 * units)};
        },
    .grad =
        [](GradContext& g) {
          if (g.has_output_grad(2))  // of the gates: from the gradient of lstm_grad
            return g.differentiate(lstm_steps, {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4), g.input(5)},
                                   g.output_grads());
          const Tensor dcells = g.has_output_grad(1) ? g.output_grad(1) : zeros({}, g.input_spec().dtype());
          const TensorRef inputs[] = {g.output_grad(0), dcells,     g.input(0),  g.input(1),  g.input(2),
                                      g.input(3),       g.input(4), g.output(0), g.output(1), g.output(2)};
          return apply_all(lstm_grad_op, inputs, Attrs());
        },
    .grad_reads = {.inputs = 0b111111, .outputs = 0b111},
    .flops = [](const InferContext& c) { return sequence_flops(c, 0, 3); },
    .depth = sequence_depth<0>,
};

const OpDef lstm_grad_op{
    .name = "lstm_grad",
    .doc =
        "The gradients of lstm by x, h0, c0, kernel, recurrent_kernel and bias; `cell_grad` may be one number for all.",
    .inputs = {"grad", "cell_grad", "x", "h0", "c0", "kernel", "recurrent_kernel", "output", "cells", "gates"},
    .dtypes = kFloating,
    .outputs = 6,
    .infer =
        [](const InferContext& c) {
          check_sequence(c, kLstmGrad);
          const Shape output = sequence(c, 2, c.shape(6)[0]).shape();
          for (int i : {0, 7, 8}) check_is(c, i, output);
          if (c.shape(1).rank() != 0) check_is(c, 1, output);
          check_is(c, 4, c.shape(3));
          check_is(c, 9, sequence(c, 2, 4 * output[2]).shape());
          return Specs{c.input(2), c.input(3), c.input(4), c.input(5), c.input(6), {c.dtype(0), {4 * output[2]}}};
        },
    .grad =
        [](GradContext& g) {
          Tensors inputs;
          for (int i = 0; i < g.count(); ++i) inputs.push_back(g.input(i));
          return g.differentiate(lstm_gradient_steps, inputs, g.output_grads());
        },
    .grad_reads = {.inputs = GradReads::kAll},
    .flops = [](const InferContext& c) { return 2 * sequence_flops(c, 2, 5); },
    .depth = sequence_depth<2>,
};

const OpDef gru_op{
    .name = "gru",
    .doc =
        "A GRU over [batch, steps, inputs], as Keras' with reset_after (gates z, r, h): states, and what its gradient "
        "needs.",
    .inputs = {"x", "h0", "kernel", "recurrent_kernel", "bias"},
    .dtypes = kFloating,
    .outputs = 2,
    .infer =
        [](const InferContext& c) {
          check_sequence(c, kGru);
          const std::int64_t units = c.shape(3)[0];
          check_is(c, 4, {2, 3 * units});
          return Specs{sequence(c, 0, units), sequence(c, 0, 4 * units)};
        },
    .grad =
        [](GradContext& g) {
          const TensorRef inputs[] = {g.output_grad(0), g.input(0),  g.input(1),  g.input(2),
                                      g.input(3),       g.output(0), g.output(1), g.input(4)};
          return apply_all(gru_grad_op, inputs, Attrs());
        },
    .grad_reads = {.inputs = 0b11111, .outputs = 0b11},
    .flops = [](const InferContext& c) { return sequence_flops(c, 0, 2); },
    .depth = sequence_depth<0>,
};

const OpDef gru_grad_op{
    .name = "gru_grad",
    .doc = "The gradients of gru by x, h0, kernel, recurrent_kernel and bias.",
    .inputs = {"grad", "x", "h0", "kernel", "recurrent_kernel", "output", "saved", "bias"},
    .dtypes = kFloating,
    .outputs = 5,
    .infer =
        [](const InferContext& c) {
          check_sequence(c, kGruGrad);
          const Shape output = sequence(c, 1, c.shape(4)[0]).shape();
          for (int i : {0, 5}) check_is(c, i, output);
          check_is(c, 6, sequence(c, 1, 4 * output[2]).shape());
          check_is(c, 7, {2, 3 * output[2]});
          return Specs{c.input(1), c.input(2), c.input(3), c.input(4), {c.dtype(0), {2, 3 * output[2]}}};
        },
    .grad =
        [](GradContext& g) {
          return second_gradients(g, {.forward = gru_steps, .output_grads = {0}, .inputs = {1, 2, 3, 4, 7}});
        },
    .grad_reads = {.inputs = 0b10011111},
    .flops = [](const InferContext& c) { return 2 * sequence_flops(c, 1, 3); },
    .depth = sequence_depth<1>,
};

const OpDef simple_rnn_op{
    .name = "simple_rnn",
    .doc = "tanh(x kernel + state recurrent_kernel + bias) over [batch, steps, inputs]: the state of every step.",
    .inputs = {"x", "h0", "kernel", "recurrent_kernel", "bias"},
    .dtypes = kFloating,
    .infer =
        [](const InferContext& c) {
          check_sequence(c, kSimple);
          check_is(c, 4, {c.shape(3)[0]});
          return Specs{sequence(c, 0, c.shape(3)[0])};
        },
    .grad =
        [](GradContext& g) {
          const TensorRef inputs[] = {g.output_grad(0), g.input(0),  g.input(1), g.input(2),
                                      g.input(3),       g.output(0), g.input(4)};
          return apply_all(simple_rnn_grad_op, inputs, Attrs());
        },
    .grad_reads = {.inputs = 0b11111, .outputs = 0b1},
    .flops = [](const InferContext& c) { return sequence_flops(c, 0, 2); },
    .depth = sequence_depth<0>,
};

const OpDef simple_rnn_grad_op{
    .name = "simple_rnn_grad",
    .doc = "The gradients of simple_rnn by x, h0, kernel, recurrent_kernel and bias.",
    .inputs = {"grad", "x", "h0", "kernel", "recurrent_kernel", "output", "bias"},
    .dtypes = kFloating,
    .outputs = 5,
    .infer =
        [](const InferContext& c) {
          check_sequence(c, kSimpleGrad);
          const Shape output = sequence(c, 1, c.shape(4)[0]).shape();
          for (int i : {0, 5}) check_is(c, i, output);
          check_is(c, 6, {output[2]});
          return Specs{c.input(1), c.input(2), c.input(3), c.input(4), {c.dtype(0), {output[2]}}};
        },
    .grad =
        [](GradContext& g) {
          return second_gradients(g, {.forward = simple_rnn_steps, .output_grads = {0}, .inputs = {1, 2, 3, 4, 6}});
        },
    .grad_reads = {.inputs = 0b1011111},
    .flops = [](const InferContext& c) { return 2 * sequence_flops(c, 1, 3); },
    .depth = sequence_depth<1>,
};

OpGroup recurrent_ops() {
  static constexpr const OpDef* kOps[] = {&lstm_op,     &lstm_grad_op,  &gru_op,
                                          &gru_grad_op, &simple_rnn_op, &simple_rnn_grad_op};
  return kOps;
}

namespace {

/// The last step of [batch, steps, units]; the state it began with if there is none.
Tensor last_step(const Tensor& sequence, const Tensor& before) {
  const Shape& s = sequence.shape();
  if (s[1] == 0) return before;
  return reshape(slice(sequence, {0, s[1] - 1, 0}, {s[0], 1, s[2]}), Shape{s[0], s[2]});
}

}  // namespace

Tensors lstm(const Tensor& x, const Tensor& h0, const Tensor& c0, const Tensor& kernel, const Tensor& recurrent_kernel,
             const Tensor& bias) {
  const TensorRef inputs[] = {x, h0, c0, kernel, recurrent_kernel, bias};
  const Tensors out = apply_all(lstm_op, inputs, Attrs());
  return {out[0], last_step(out[0], h0), last_step(out[1], c0)};
}
Tensors gru(const Tensor& x, const Tensor& h0, const Tensor& kernel, const Tensor& recurrent_kernel,
            const Tensor& bias) {
  const TensorRef inputs[] = {x, h0, kernel, recurrent_kernel, bias};
  const Tensor y = apply_all(gru_op, inputs, Attrs())[0];
  return {y, last_step(y, h0)};
}
Tensors simple_rnn(const Tensor& x, const Tensor& h0, const Tensor& kernel, const Tensor& recurrent_kernel,
                   const Tensor& bias) {
  const Tensor y = apply(simple_rnn_op, {x, h0, kernel, recurrent_kernel, bias});
  return {y, last_step(y, h0)};
}

}  // namespace tandem
