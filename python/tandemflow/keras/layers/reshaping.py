"""keras.layers.Flatten, Reshape, Permute and RepeatVector."""
import math

from ... import _ops
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer
from ._images import channels_last


class Flatten(ConfiguredLayer):
    """One row a sample."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = formats.standardize(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs):
        if self.data_format == "channels_first" and inputs.ndim > 2:
            inputs = channels_last(inputs, self.data_format)
        sizes = inputs.shape.as_list()
        return _ops.reshape(inputs, [sizes[0], math.prod(sizes[1:])])

    def compute_output_shape(self, input_shape):
        sizes = input_shape[1:]
        return (input_shape[0], None if None in sizes else math.prod(sizes))


class Reshape(ConfiguredLayer):
    """Each sample under another shape; one size may be -1."""

    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = (target_shape,) if isinstance(target_shape, int) else tuple(target_shape)
        if self.target_shape.count(-1) > 1:
            raise ValueError(
                "The `target_shape` argument must not contain more than one `-1` value. Received: "
                f"target_shape={self.target_shape}"
            )

    def _sizes(self, sizes):
        """target_shape with its -1 filled in."""
        if None in sizes:
            return [None if size == -1 else size for size in self.target_shape]
        total, known = math.prod(sizes), math.prod(size for size in self.target_shape if size != -1)
        if known != total and (-1 not in self.target_shape or not known or total % known):
            raise ValueError(
                f"The total size of the tensor must be unchanged. Received: input_shape={tuple(sizes)}, "
                f"target_shape={self.target_shape}"
            )
        return [total // known if size == -1 else size for size in self.target_shape]

    def call(self, inputs):
        sizes = inputs.shape.as_list()
        return _ops.reshape(inputs, [sizes[0], *self._sizes(sizes[1:])])

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *self._sizes(list(input_shape[1:])))

    def build(self, input_shape):
        self._sizes(list(input_shape[1:]))


class Permute(ConfiguredLayer):
    """The axes of each sample in another order; the first is 1."""

    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                "Invalid permutation argument `dims` for Permute Layer. The set of indices in `dims` must be consecutive "
                f"and start from 1. Received dims={self.dims}"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs):
        return _ops.transpose(inputs, [0, *self.dims])


class RepeatVector(ConfiguredLayer):
    """Each row n times: [batch, features] to [batch, n, features]."""

    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {type(n)}.")
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs):
        batch, features = inputs.shape.as_list()
        return _ops.broadcast_to(_ops.expand_dims(inputs, 1), [batch, self.n, features])
