"""One step of a recurrent layer: SimpleRNNCell, LSTMCell, GRUCell and StackedRNNCells."""
from ... import _ops
from ..._network import dropout as _dropout
from .. import activations, initializers
from .._engine.layer import Layer
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer

_records = _ops.records


class _Cell(ConfiguredLayer):
    """Kernels for inputs and state, with a part for each gate, and dropout whose masks stay for a whole sequence."""

    _gates = 1

    def _set_up(self, units, dropout, recurrent_dropout, **others):
        if not isinstance(units, int) or units <= 0:
            raise ValueError(f"Received an invalid value for argument `units`, expected a positive integer, got {units}.")
        self.units = self.state_size = self.output_size = units
        self.dropout = min(1.0, max(0.0, dropout))
        self.recurrent_dropout = min(1.0, max(0.0, recurrent_dropout))
        self._keep(**others)
        self._mask = self._recurrent_masks = None

    def build(self, input_shape):
        width = self._gates * self.units
        self.kernel = self._add("kernel", "kernel", (input_shape[-1], width))
        self.recurrent_kernel = self._add("recurrent_kernel", "recurrent", (self.units, width))
        self.bias = self._add("bias", "bias", self._bias_shape(), self._bias_initializer()) if self.use_bias else None

    def _add(self, name, kind, shape, initializer=None):
        return self.add_weight(shape, initializer or getattr(self, f"{kind}_initializer"), name=name,
                               regularizer=getattr(self, f"{kind}_regularizer"),
                               constraint=getattr(self, f"{kind}_constraint"))  # fmt: skip

    def _bias_shape(self):
        return (self._gates * self.units,)

    def _bias_initializer(self):
        return self.bias_initializer

    def get_initial_state(self, batch_size=None):
        sizes = self.state_size if isinstance(self.state_size, list) else [self.state_size]
        return [_ops.zeros([batch_size, size], self.compute_dtype) for size in sizes]

    # --- Dropout ---

    def get_dropout_mask(self, step_input):
        """What inputs are multiplied with; the same until reset_dropout_mask."""
        if self._mask is None and self.dropout > 0:
            self._mask = _dropout(_ops.ones_like(step_input), self.dropout, seed=self.seed)
        return self._mask

    def get_recurrent_dropout_mask(self, state):
        """A mask for each gate."""
        if self._recurrent_masks is None and self.recurrent_dropout > 0:
            ones = _ops.ones_like(state)
            self._recurrent_masks = [_dropout(ones, self.recurrent_dropout, seed=self.seed) for _ in range(self._gates)]
        return self._recurrent_masks

    def reset_dropout_mask(self):
        self._mask = None

    def reset_recurrent_dropout_mask(self):
        self._recurrent_masks = None

    def _dropped(self, inputs, training):
        return inputs * self.get_dropout_mask(inputs) if training and self.dropout > 0 else inputs

    def _gate_states(self, state, training):
        """The state as each gate sees it, or None where all see it as it is."""
        if not training or self.recurrent_dropout == 0:
            return None
        return [state * mask for mask in self.get_recurrent_dropout_mask(state)]

    def _from_state(self, state, training):
        """state @ recurrent_kernel"""
        parts = self._gate_states(state, training)
        if parts is None:
            return _ops.matmul(state, self.recurrent_kernel)
        kernels = _ops.split(_ops.cast(self.recurrent_kernel, state.dtype), self._gates, 1)
        return _ops.concat([_ops.matmul(part, kernel) for part, kernel in zip(parts, kernels)], 1)

    # --- Whole sequences by one op ---

    def fused(self, x, states, training):
        """Outputs and states of all steps of x [batch, steps, features], or None where the op does not cover it."""
        if not self._is_plain() or training and self.recurrent_dropout > 0 or x.ndim != 3:
            return None
        if training and self.dropout > 0:
            x = x * _ops.expand_dims(self.get_dropout_mask(x[:, 0]), 1)
        bias = _ops.zeros(self._bias_shape(), x.dtype) if self.bias is None else self.bias
        return self._run_fused(x, states, bias)


class SimpleRNNCell(_Cell):
    """activation(x @ kernel + state @ recurrent_kernel + bias)"""

    def __init__(self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
                 recurrent_initializer="orthogonal", bias_initializer="zeros", kernel_regularizer=None,
                 recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None, recurrent_constraint=None,
                 bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, seed=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self._set_up(units, dropout, recurrent_dropout, activation=activation, use_bias=use_bias,
                     kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                     bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                     recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
                     kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint,
                     bias_constraint=bias_constraint, seed=seed)  # fmt: skip

    def call(self, sequence, states, training=False):
        state = states[0] if isinstance(states, (list, tuple)) else states
        out = _ops.matmul(self._dropped(sequence, training), self.kernel)
        if self.bias is not None:
            out = _ops.bias_add(out, self.bias)
        out = self.activation(out + self._from_state(state, training))
        return out, [out] if isinstance(states, (list, tuple)) else out

    def _is_plain(self):
        return type(self).call is SimpleRNNCell.call and self.activation is activations.tanh

    def _run_fused(self, x, states, bias):
        outputs = _records["simple_rnn"](x, states[0], self.kernel, self.recurrent_kernel, bias)
        return outputs, [outputs]


class LSTMCell(_Cell):
    """Long short-term memory; gates i, f, c, o side by side."""

    _gates = 4

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
                 kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0,
                 recurrent_dropout=0.0, seed=None, **kwargs):  # fmt: skip
        kwargs.pop("implementation", None)
        super().__init__(**kwargs)
        self._set_up(units, dropout, recurrent_dropout, activation=activation,
                     recurrent_activation=recurrent_activation, use_bias=use_bias,
                     kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                     bias_initializer=bias_initializer, unit_forget_bias=unit_forget_bias,
                     kernel_regularizer=kernel_regularizer, recurrent_regularizer=recurrent_regularizer,
                     bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                     recurrent_constraint=recurrent_constraint, bias_constraint=bias_constraint, seed=seed)  # fmt: skip
        self.state_size = [units, units]

    def _bias_initializer(self):
        if not self.unit_forget_bias:
            return self.bias_initializer

        def initialize(shape, dtype=None):
            parts = [self.bias_initializer((self.units,), dtype=dtype), initializers.Ones()((self.units,), dtype=dtype),
                     self.bias_initializer((2 * self.units,), dtype=dtype)]  # fmt: skip
            return _ops.concat(parts, 0)

        return initialize

    def call(self, inputs, states, training=False):
        state, cell = states
        z = _ops.matmul(self._dropped(inputs, training), self.kernel) + self._from_state(state, training)
        if self.bias is not None:
            z = _ops.bias_add(z, self.bias)
        i, f, c, o = _ops.split(z, 4, 1)
        gate = self.recurrent_activation
        cell = gate(f) * cell + gate(i) * self.activation(c)
        state = gate(o) * self.activation(cell)
        return state, [state, cell]

    def _is_plain(self):
        tanh, sigmoid = self.activation is activations.tanh, self.recurrent_activation is activations.sigmoid
        return type(self).call is LSTMCell.call and tanh and sigmoid

    def _run_fused(self, x, states, bias):
        outputs, cells, _ = _records["lstm"](x, *states, self.kernel, self.recurrent_kernel, bias)
        return outputs, [outputs, cells]


class GRUCell(_Cell):
    """Gated recurrent unit; gates z, r, h side by side."""

    _gates = 3

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, kernel_constraint=None,
                 recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, reset_after=True,
                 seed=None, **kwargs):  # fmt: skip
        kwargs.pop("implementation", None)
        super().__init__(**kwargs)
        self._set_up(units, dropout, recurrent_dropout, activation=activation,
                     recurrent_activation=recurrent_activation, use_bias=use_bias,
                     kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                     bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                     recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
                     kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint,
                     bias_constraint=bias_constraint, reset_after=reset_after, seed=seed)  # fmt: skip

    def _bias_shape(self):
        width = 3 * self.units
        return (2, width) if self.reset_after else (width,)

    def call(self, inputs, states, training=False):
        state = states[0] if isinstance(states, (list, tuple)) else states
        x = _ops.matmul(self._dropped(inputs, training), self.kernel)
        if self.bias is not None:
            x = _ops.bias_add(x, self.bias[0] if self.reset_after else self.bias)
        x_z, x_r, x_h = _ops.split(x, 3, 1)
        gate = self.recurrent_activation
        if self.reset_after:
            inner = self._from_state(state, training)
            if self.bias is not None:
                inner = _ops.bias_add(inner, self.bias[1])
            s_z, s_r, s_h = _ops.split(inner, 3, 1)
            z, r = gate(x_z + s_z), gate(x_r + s_r)
            new = self.activation(x_h + r * s_h)
        else:
            kernels = _ops.split(_ops.cast(self.recurrent_kernel, state.dtype), 3, 1)
            seen = self._gate_states(state, training) or [state] * 3
            z, r = gate(x_z + _ops.matmul(seen[0], kernels[0])), gate(x_r + _ops.matmul(seen[1], kernels[1]))
            new = self.activation(x_h + _ops.matmul(r * seen[2], kernels[2]))
        out = z * state + (1.0 - z) * new
        return out, [out] if isinstance(states, (list, tuple)) else out

    def _is_plain(self):
        tanh, sigmoid = self.activation is activations.tanh, self.recurrent_activation is activations.sigmoid
        return type(self).call is GRUCell.call and tanh and sigmoid and self.reset_after

    def _run_fused(self, x, states, bias):
        outputs, _ = _records["gru"](x, states[0], self.kernel, self.recurrent_kernel, bias)
        return outputs, [outputs]


def call_cell(cell, inputs, states, training):
    """Cells may be layers, or any object with `call`."""
    kwargs = {"training": training} if isinstance(cell, Layer) and cell._signature.takes_training else {}
    return (cell if callable(cell) else cell.call)(inputs, states, **kwargs)


def output_size(cell):
    size = getattr(cell, "output_size", None)
    if size is not None:
        return size
    return cell.state_size[0] if isinstance(cell.state_size, (list, tuple)) else cell.state_size


def initial_state(cell, batch_size):
    """A list of tensors."""
    if getattr(cell, "get_initial_state", None) is not None:
        state = cell.get_initial_state(batch_size=batch_size)
    else:
        sizes = cell.state_size if isinstance(cell.state_size, (list, tuple)) else [cell.state_size]
        state = [_ops.zeros([batch_size, size]) for size in sizes]
    return list(state) if isinstance(state, (list, tuple)) else [state]


class StackedRNNCells(ConfiguredLayer):
    """Cells one after another, as one."""

    def __init__(self, cells, **kwargs):
        super().__init__(**kwargs)
        for cell in cells:
            for needed, what in (("call", "a `call` method"), ("state_size", "a `state_size` attribute")):
                if not hasattr(cell, needed):
                    raise ValueError(f"All cells must have {what}. Received cell without it: {cell}")
        self.cells = list(cells)

    @property
    def state_size(self):
        return [cell.state_size for cell in self.cells]

    @property
    def output_size(self):
        return output_size(self.cells[-1])

    def get_initial_state(self, batch_size=None):
        states = [initial_state(cell, batch_size) for cell in self.cells]
        return [s if isinstance(cell.state_size, (list, tuple)) else s[0] for s, cell in zip(states, self.cells)]

    def build(self, input_shape):
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(input_shape)
                cell.built = True
            input_shape = (input_shape[0], output_size(cell))

    def call(self, inputs, states, training=False):
        new_states = []
        for cell, state in zip(self.cells, states):
            single = not isinstance(state, (list, tuple))
            inputs, new = call_cell(cell, inputs, [state] if single else list(state), training)
            new = list(new) if isinstance(new, (list, tuple)) else [new]
            new_states.append(new[0] if single else new)
        return inputs, new_states

    def get_config(self):
        return {**super().get_config(), "cells": [serialize_keras_object(cell) for cell in self.cells]}

    @classmethod
    def from_config(cls, config):
        return super().from_config({**config, "cells": [deserialize_keras_object(cell) for cell in config["cells"]]})
