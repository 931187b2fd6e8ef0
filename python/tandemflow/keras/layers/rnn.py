"""keras.layers.RNN: a cell along a sequence."""
from ... import _arrays, _ops, _tandem
from ..._gradient import flatten, pack_like
from .._engine.keras_tensor import KerasTensor
from .._engine.layer import Layer
from .._engine.lifted import lifted
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer
from .cells import StackedRNNCells, call_cell, initial_state, output_size


class _States:
    """What a stateful layer remembers: variables, but none of its weights."""

    def __init__(self, values):
        self.variables = [_tandem.Variable(value, trainable=False, name="rnn_state") for value in values]


class RNN(ConfiguredLayer):
    """Runs a cell, or several on top of each other, over [batch, steps, ...]."""

    _computes_in_floats = True

    def __init__(self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
                 zero_output_for_mask=False, **kwargs):  # fmt: skip
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "call"):
            raise ValueError(f"Argument `cell` should have a `call` method. Received: cell={cell}")
        if not hasattr(cell, "state_size"):
            raise ValueError(
                "The RNN cell should have a `state_size` attribute (single integer or list of integers, one integer per "
                f"RNN state). Received: cell={cell}"
            )
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.stateful, self.unroll, self.zero_output_for_mask = stateful, unroll, zero_output_for_mask
        self.supports_masking = True
        self._states = None

    @property
    def state_size(self):
        size = self.cell.state_size
        return [size] if isinstance(size, int) else list(size)

    # --- Building ---

    def build(self, sequences_shape, initial_state_shape=None):
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build((sequences_shape[0], *sequences_shape[2:]))
            self.cell.built = True
        if self.stateful and self._states is None:
            if sequences_shape[0] is None:
                raise ValueError(
                    "When using `stateful=True` in a RNN, the batch size must be static. Found dynamic batch size: "
                    f"sequence.shape={tuple(sequences_shape)}"
                )
            with lifted():
                self._states = _States(flatten(self.get_initial_state(sequences_shape[0])))

    def get_initial_state(self, batch_size):
        return initial_state(self.cell, batch_size)

    @property
    def states(self):
        """The variables of a stateful layer, nested as the states of the cell."""
        if self._states is None:
            return None
        return pack_like(_nested(self.state_size), iter(self._states.variables))

    def reset_state(self):
        for variable in self._states.variables if self._states else ():
            variable.assign(_ops.zeros_like(variable))

    reset_states = reset_state

    # --- Calls ---

    def call(self, sequences, initial_state=None, mask=None, training=False):
        states = self._first_states(sequences, initial_state)
        if self.go_backwards:
            sequences = _arrays.reverse(sequences, [1])
            mask = None if mask is None else _arrays.reverse(mask, [1])
        if mask is not None and mask.ndim == 3:
            mask = _ops.squeeze(mask, [2])
        try:
            output, states = self._along(sequences, states, mask, training)
        finally:
            _forget_masks(self.cell)
        if self.stateful:
            for variable, state in zip(self._states.variables, flatten(states)):
                variable.assign(_ops.cast(state, variable.dtype))
        return (output, *states) if self.return_state else output

    def _first_states(self, sequences, given):
        batch = sequences.shape[0]
        if self.stateful and self._states.variables[0].shape[0] != batch:
            raise ValueError(
                "If an RNN is stateful, the batch size of the input sequences must be the same as the batch size of the "
                f"initial state. \n- Expected batch size: {self._states.variables[0].shape[0]}\n"
                f"- Received batch size: {batch}"
            )
        if given is None:
            given = self.states if self.stateful else self.get_initial_state(batch)
        given = list(given) if isinstance(given, (list, tuple)) else [given]
        dtype = getattr(self.cell, "compute_dtype", self.compute_dtype)
        return pack_like(given, iter([_ops.cast(_tandem.to_tensor(state), dtype) for state in flatten(given)]))

    def _along(self, sequences, states, mask, training):
        """The output that is asked for, and the last states."""
        fused = getattr(self.cell, "fused", None)
        if fused is not None and sequences.shape[1]:
            compact = sequences if mask is None else _Compaction(mask).first(sequences)
            all_steps = fused(compact, states, training)
            if all_steps is not None:
                return self._pick(*all_steps, states, mask)
        return self._step_by_step(sequences, states, mask, training)

    def _pick(self, outputs, all_states, states, mask):
        """From the outputs and states of all steps."""
        if mask is None:
            last = outputs.shape[1] - 1
            finals = [state[:, last] for state in all_states]
            return (outputs if self.return_sequences else finals[0]), finals
        compaction = _Compaction(mask)
        finals = [compaction.last(all_, first) for all_, first in zip(all_states, states)]
        output = compaction.spread(outputs) if self.return_sequences else compaction.last(outputs, _ops.zeros_like(states[0]))
        return self._zeroed(output, mask), finals

    def _zeroed(self, output, mask):
        """Zeros for what the mask leaves out, where this is asked for."""
        if not self.zero_output_for_mask:
            return output
        kept = _ops.expand_dims(mask, -1) if self.return_sequences else _ops.expand_dims(mask[:, mask.shape[1] - 1], -1)
        return _ops.where(kept, output, _ops.zeros_like(output))

    def _step_by_step(self, sequences, states, mask, training):
        outputs, output = [], None
        for i in range(sequences.shape[1]):
            new, new_states = call_cell(self.cell, sequences[:, i], states, training)
            new_states = list(new_states) if isinstance(new_states, (list, tuple)) else [new_states]
            if mask is not None:
                kept = mask[:, i]
                new = _choose(kept, new, _ops.zeros_like(new) if output is None else output)
                pairs = zip(flatten(new_states), flatten(states))
                new_states = pack_like(new_states, iter([_choose(kept, a, b) for a, b in pairs]))
            output, states = new, new_states
            outputs.append(output)
        if output is None:
            raise ValueError(f"Layer '{self.name}' needs at least one step, got sequences of shape {tuple(sequences.shape)}")
        out = _ops.stack(outputs, 1) if self.return_sequences else output
        return (out if mask is None else self._zeroed(out, mask)), states

    # --- Shapes and masks ---

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        batch, steps = sequences_shape[:2]
        size = output_size(self.cell)
        size = tuple(size) if isinstance(size, (list, tuple)) else (size,)
        output = (batch, steps, *size) if self.return_sequences else (batch, *size)
        if not self.return_state:
            return output
        return (output, *_map_sizes(lambda n: (batch, n), self.state_size))

    def compute_output_spec(self, sequences, initial_state=None, mask=None, training=False):
        shapes = self.compute_output_shape(sequences.shape)
        if not self.return_state:
            return KerasTensor(shapes, self.compute_dtype)
        make = lambda shape: [make(s) for s in shape] if isinstance(shape, list) else KerasTensor(shape, self.compute_dtype)  # noqa: E731
        return tuple(make(shape) for shape in shapes)

    def compute_mask(self, inputs, previous_mask):
        mask = flatten(previous_mask)[0] if self.return_sequences else None
        return [mask] + [None] * len(flatten(_nested(self.state_size))) if self.return_state else mask

    # --- Configuration ---

    def get_config(self):
        return {**super().get_config(), "cell": serialize_keras_object(self.cell)}

    @classmethod
    def from_config(cls, config):
        return super().from_config({**config, "cell": deserialize_keras_object(config["cell"])})


class _Compaction:
    """Lets an op that knows no masks skip steps: the kept ones come first, and results go back to their places."""

    def __init__(self, mask):
        self._kept = _ops.cast(mask, "int32")
        self._counts = _ops.cumsum(self._kept, 1)  # how many are kept up to each step

    def first(self, sequences):
        steps = sequences.shape[1]
        order = _arrays.argsort(_ops.range(steps) + (1 - self._kept) * steps, 1)
        return _ops.gather(sequences, order, axis=1, batch_dims=1)

    def spread(self, outputs):
        """For each step the output of the last kept one, zeros before the first."""
        out = _ops.gather(outputs, _ops.maximum(self._counts - 1, 0), axis=1, batch_dims=1)
        return _ops.where(_ops.expand_dims(self._counts > 0, -1), out, _ops.zeros_like(out))

    def last(self, values, otherwise):
        """The value at the last kept step; `otherwise` where none is."""
        count = self._counts[:, self._counts.shape[1] - 1]
        out = _ops.gather(values, _ops.maximum(count - 1, 0), axis=1, batch_dims=1)
        return _ops.where(_ops.expand_dims(count > 0, -1), out, otherwise)


def _choose(kept, new, old):
    while kept.ndim < new.ndim:
        kept = _ops.expand_dims(kept, -1)
    return _ops.where(kept, new, old)


def _map_sizes(function, sizes):
    return [_map_sizes(function, size) if isinstance(size, (list, tuple)) else function(size) for size in sizes]


def _nested(sizes):
    """A structure with a leaf for each state."""
    return _map_sizes(lambda size: 0, sizes)


def _forget_masks(cell):
    for inner in getattr(cell, "cells", [cell]):
        if hasattr(inner, "reset_dropout_mask"):
            inner.reset_dropout_mask()
            inner.reset_recurrent_dropout_mask()
