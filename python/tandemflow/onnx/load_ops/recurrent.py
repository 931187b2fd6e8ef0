"""LSTM, GRU and RNN over sequences [steps, batch, inputs]."""
import tandemflow as tf

from ..support import as_tensor, op, shape_of

_ACTIVATIONS = {"Sigmoid": tf.sigmoid, "Tanh": tf.tanh, "Relu": tf.nn.relu, "Softsign": tf.nn.softsign, "Softplus": tf.nn.softplus}


class _Layer:
    """One direction of a recurrent layer, step by step."""

    def __init__(self, node, gates, defaults, direction, w, r, bias):
        names = node.get("activations", defaults * 2)[direction * len(defaults) :][: len(defaults)]
        unknown = [name for name in names if name not in _ACTIVATIONS]
        if unknown or "clip" in node:
            raise NotImplementedError(f"node '{node.name}' ({node.op}): {'clip' if 'clip' in node else unknown[0]} is not supported")
        self.activations = [_ACTIVATIONS[name] for name in names]
        self.w, self.r = tf.transpose(as_tensor(w)[direction]), tf.transpose(as_tensor(r)[direction])
        self.units = shape_of(r)[-1]
        bias = tf.zeros([2 * gates * self.units], self.w.dtype) if bias is None else as_tensor(bias)[direction]
        self.w_bias, self.r_bias = bias[: gates * self.units], bias[gates * self.units :]

    def gate(self, values, index):
        return values[:, index * self.units : (index + 1) * self.units]


def _run(node, x, gates, defaults, w, r, bias, lengths, states, step):
    """All outputs [steps, directions, batch, units] and the last states [directions, batch, units]."""
    if node.get("layout", 0):
        x = tf.transpose(as_tensor(x), [1, 0, 2])
        states = [None if s is None else tf.transpose(as_tensor(s), [1, 0, 2]) for s in states]
    x = as_tensor(x)
    steps, batch = shape_of(x)[:2]
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[node.get("direction", "forward")]
    outputs, lasts = [], []
    for direction, backwards in enumerate(ways):
        layer = _Layer(node, gates, defaults, direction, w, r, bias)
        now = [tf.zeros([batch, layer.units], x.dtype) if s is None else as_tensor(s)[direction] for s in states]
        series = [None] * steps
        for t in reversed(range(steps)) if backwards else range(steps):
            new = step(layer, x[t], now)
            if lengths is not None:
                inside = tf.expand_dims(t < as_tensor(lengths), -1)
                new = [tf.where(inside, n, old) for n, old in zip(new, now)]
                series[t] = tf.where(inside, new[0], tf.zeros_like(new[0]))
            else:
                series[t] = new[0]
            now = new
        outputs.append(tf.stack(series))
        lasts.append(now)
    whole = tf.stack(outputs, axis=1)
    ends = [tf.stack([last[i] for last in lasts]) for i in range(len(states))]
    if node.get("layout", 0):
        whole, ends = tf.transpose(whole, [2, 0, 1, 3]), [tf.transpose(end, [1, 0, 2]) for end in ends]
    return (whole, *ends)


@op("LSTM")
def lstm(node, x, w, r, bias=None, lengths=None, h=None, c=None, peepholes=None):
    peeps = None if peepholes is None else as_tensor(peepholes)
    if node.get("input_forget", 0):
        raise NotImplementedError(f"node '{node.name}' (LSTM): input_forget is not supported")

    def step(layer, x_t, states):
        hidden, cell = states
        f, g, out = layer.activations
        sums = tf.matmul(x_t, layer.w) + tf.matmul(hidden, layer.r) + layer.w_bias + layer.r_bias
        peep = [0.0] * 3 if peeps is None else [cell * peeps[0, i * layer.units : (i + 1) * layer.units] for i in range(2)]
        i_gate, f_gate = f(layer.gate(sums, 0) + peep[0]), f(layer.gate(sums, 2) + (peep[1] if peeps is None else cell * peeps[0, 2 * layer.units :]))
        new_cell = f_gate * cell + i_gate * g(layer.gate(sums, 3))
        o_in = layer.gate(sums, 1) + (0.0 if peeps is None else new_cell * peeps[0, layer.units : 2 * layer.units])
        return [f(o_in) * out(new_cell), new_cell]

    return _run(node, x, 4, ["Sigmoid", "Tanh", "Tanh"], w, r, bias, lengths, [h, c], step)


@op("GRU")
def gru(node, x, w, r, bias=None, lengths=None, h=None):
    before = bool(node.get("linear_before_reset", 0))

    def step(layer, x_t, states):
        hidden = states[0]
        f, g = layer.activations
        x_part, n = tf.matmul(x_t, layer.w) + layer.w_bias, layer.units
        h_part = tf.matmul(hidden, layer.r) + layer.r_bias
        update, reset = f(layer.gate(x_part, 0) + layer.gate(h_part, 0)), f(layer.gate(x_part, 1) + layer.gate(h_part, 1))
        if before:
            candidate = g(layer.gate(x_part, 2) + reset * layer.gate(h_part, 2))
        else:
            candidate = g(layer.gate(x_part, 2) + tf.matmul(reset * hidden, layer.r[:, 2 * n :]) + layer.r_bias[2 * n :])
        return [(1.0 - update) * candidate + update * hidden]

    return _run(node, x, 3, ["Sigmoid", "Tanh"], w, r, bias, lengths, [h], step)


@op("RNN")
def rnn(node, x, w, r, bias=None, lengths=None, h=None):
    def step(layer, x_t, states):
        return [layer.activations[0](tf.matmul(x_t, layer.w) + tf.matmul(states[0], layer.r) + layer.w_bias + layer.r_bias)]

    return _run(node, x, 1, ["Tanh"], w, r, bias, lengths, [h], step)
