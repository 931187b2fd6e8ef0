"""GradientTape."""
import enum
import warnings
from contextlib import contextmanager

from . import _tandem


class UnconnectedGradients(enum.Enum):
    """What the gradient is where nothing connects target and source."""

    NONE = "none"
    ZERO = "zero"


def flatten(structure):
    """The leaves of nested lists, tuples and dicts."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack_like(structure, leaves):
    """The leaves, an iterator, nested as `structure` is."""
    if isinstance(structure, dict):
        packed = {key: pack_like(structure[key], leaves) for key in sorted(structure)}
        return {key: packed[key] for key in structure}
    if isinstance(structure, (list, tuple)):
        items = [pack_like(item, leaves) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return items if isinstance(structure, list) else tuple(items)
    return next(leaves)


class GradientTape:
    """Records the ops inside its `with` block and gives gradients afterwards.

    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
    dw = tape.gradient(loss, w)
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._tape = _tandem.Tape(bool(persistent), bool(watch_accessed_variables))

    def __enter__(self):
        self._tape.start()
        return self

    def __exit__(self, *exception):
        if self._tape.recording():
            self._tape.stop()

    def watch(self, tensor):
        """What is computed from the tensor (or tensors of a structure) can be differentiated."""
        for leaf in flatten(tensor):
            if leaf.dtype.is_floating:
                self._tape.watch(leaf)
            else:
                message = f"The dtype of the watched tensor must be floating (e.g. tf.float32), got {leaf.dtype!r}"
                warnings.warn(message, stacklevel=2)

    @contextmanager
    def stop_recording(self):
        """Ops inside are not recorded."""
        if not self._tape.recording():
            raise ValueError("Tape is not recording")
        self._tape.stop()
        try:
            yield
        finally:
            self._tape.start()

    def reset(self):
        """Forgets everything recorded and watched."""
        self._tape.reset()

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
        """The gradients of the target, or of the sum of targets, nested as the sources are; None where unconnected."""
        zero = UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
        targets = flatten(target)
        weights = []
        if output_gradients is not None:
            single = not isinstance(target, (dict, list, tuple))
            given = [output_gradients] if single else flatten(output_gradients)
            if len(given) != len(targets):
                raise ValueError(f"gradient: {len(targets)} targets, but {len(given)} output_gradients")
            weights = [None if w is None else _tandem.to_tensor_beside(w, t.dtype) for w, t in zip(given, targets)]
        gradients = self._tape.gradient(targets, flatten(sources), weights, zero)
        return pack_like(sources, iter(gradients))
