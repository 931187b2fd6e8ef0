"""keras.layers.Bidirectional."""
from ... import _arrays, _ops
from .._engine.keras_tensor import KerasTensor
from .._engine.layer import Layer
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer

_MODES = ("sum", "mul", "ave", "concat", None)


def _copy(layer, prefix, **changes):
    """A layer with the same configuration, unbuilt, under another name."""
    config = serialize_keras_object(layer)
    config.pop("build_config", None)
    name = layer.name.removeprefix(f"{prefix}_")
    config["config"].update(changes, name=f"{prefix}_{name}")
    return deserialize_keras_object(config)


class Bidirectional(ConfiguredLayer):
    """A recurrent layer forwards and another backwards, their outputs merged."""

    def __init__(self, layer, merge_mode="concat", weights=None, backward_layer=None, **kwargs):
        for name, given in (("layer", layer), ("backward_layer", backward_layer)):
            if not isinstance(given, Layer) and not (given is None and name == "backward_layer"):
                raise ValueError(f"Bidirectional: `{name}` must be a `keras.layers.Layer` instance. Received: {given}")
        if merge_mode not in _MODES:
            raise ValueError(f'Invalid merge mode. Received: {merge_mode}. Merge mode should be one of {{"sum", "mul", "ave", "concat", None}}')
        if not hasattr(layer, "go_backwards"):
            raise TypeError(f"Bidirectional: `layer` must be recurrent, with `go_backwards` and `return_sequences`, such as an LSTM. Received: {layer}")
        super().__init__(**kwargs)
        self.forward_layer = _copy(layer, "forward")
        self.backward_layer = backward_layer or _copy(layer, "backward", go_backwards=not layer.go_backwards)
        self._check_layers()
        for inner in (self.forward_layer, self.backward_layer):
            if hasattr(inner, "zero_output_for_mask"):  # so that no direction repeats itself over padding
                inner.zero_output_for_mask = inner.return_sequences
        self.merge_mode = merge_mode
        self.stateful, self.return_sequences, self.return_state = layer.stateful, layer.return_sequences, layer.return_state
        self.supports_masking = True
        self.input_spec = layer.input_spec
        self._initial_weights = weights

    def _check_layers(self):
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "Forward layer and backward layer should have different `go_backwards` value. Received: "
                f"forward_layer.go_backwards {forward.go_backwards}, backward_layer.go_backwards={backward.go_backwards}"
            )
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(forward, name) != getattr(backward, name):
                raise ValueError(
                    f'Forward layer and backward layer are expected to have the same value for attribute "{name}", got '
                    f'"{getattr(forward, name)}" for forward layer and "{getattr(backward, name)}" for backward layer'
                )

    def build(self, sequences_shape, initial_state_shape=None):
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer.build(sequences_shape)
        if self._initial_weights:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def call(self, sequences, initial_state=None, mask=None, training=None):
        half = len(initial_state) // 2 if initial_state is not None else 0
        first, second = (initial_state[:half], initial_state[half:]) if half else (None, None)
        y = self.forward_layer(sequences, initial_state=first, mask=mask, training=training)
        back = self.backward_layer(sequences, initial_state=second, mask=mask, training=training)
        states = ()
        if self.return_state:
            states = (*y[1:], *back[1:])
            y, back = y[0], back[0]
        if self.return_sequences:
            back = _arrays.reverse(back, [1])
        merged = self._merge(y, back)
        if not self.return_state:
            return merged
        return (*merged, *states) if self.merge_mode is None else (merged, *states)

    def _merge(self, y, back):
        if self.merge_mode == "concat":
            return _ops.concat([y, back], -1)
        if self.merge_mode is None:
            return y, back
        if self.merge_mode == "mul":
            return y * back
        return y + back if self.merge_mode == "sum" else (y + back) / 2

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        shape = self.forward_layer.compute_output_shape(sequences_shape)
        output, states = (shape[0], shape[1:]) if self.return_state else (shape, ())
        if self.merge_mode == "concat":
            output = (*output[:-1], output[-1] * 2)
        outputs = (output, output) if self.merge_mode is None else (output,)
        all_shapes = (*outputs, *states, *states)
        return all_shapes[0] if len(all_shapes) == 1 else all_shapes

    def compute_output_spec(self, sequences, initial_state=None, mask=None, training=None):
        shapes = self.compute_output_shape(sequences.shape)
        if self.return_state or self.merge_mode is None:
            return tuple(KerasTensor(shape, self.compute_dtype) for shape in shapes)
        return KerasTensor(shapes, self.compute_dtype)

    def compute_mask(self, inputs, previous_mask):
        mask = previous_mask if self.return_sequences else None
        outputs = [mask, mask] if self.merge_mode is None else [mask]
        if self.return_state:
            outputs += [None] * 2 * len(self.forward_layer.state_size)
        return outputs if len(outputs) > 1 else outputs[0]

    @property
    def states(self):
        forward, backward = self.forward_layer.states, self.backward_layer.states
        return tuple(forward + backward) if forward and backward else None

    def reset_state(self):
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        self.forward_layer.reset_state()
        self.backward_layer.reset_state()

    reset_states = reset_state

    def get_config(self):
        config = Layer.get_config(self)
        return {**config, "merge_mode": self.merge_mode, "layer": serialize_keras_object(self.forward_layer),
                "backward_layer": serialize_keras_object(self.backward_layer)}  # fmt: skip

    @classmethod
    def from_config(cls, config):
        layers = {key: deserialize_keras_object(config[key]) for key in ("layer", "backward_layer") if config.get(key)}
        return super().from_config({**config, **layers})
