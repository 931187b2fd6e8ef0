"""keras.layers.Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, Dot, and add([...]) and so on."""
from ... import _ops
from ..._arrays import l2_normalize
from .. import ops
from ..ops._convert import together
from ._configured import ConfiguredLayer


class Merge(ConfiguredLayer):
    """Takes a list of tensors and makes one of them; what has fewer axes gets some after the batch axis."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merge_function(self, inputs):
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `_merge_function()` implemented.")

    def build(self, input_shape):
        _check_list(input_shape)
        batches = {shape[0] for shape in input_shape if shape} - {None}
        if len(batches) > 1:
            raise ValueError(f"Cannot merge tensors with different batch sizes. Received tensors with shapes {input_shape}")
        _merged_shape(input_shape)

    def call(self, inputs):
        rank = max(x.ndim for x in inputs)
        return self._merge_function([_with_axes(x, rank) for x in _of_one_dtype(inputs)])

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is None or any(mask is None for mask in previous_mask):
            return None
        out = previous_mask[0]
        for mask in previous_mask[1:]:
            out = ops.logical_or(out, mask)
        return out


def _of_one_dtype(inputs):
    """Whole numbers beside floats become floats."""
    if all(x.dtype == inputs[0].dtype for x in inputs):
        return list(inputs)
    return together(*inputs)


def _check_list(shapes):
    if not shapes or not isinstance(shapes[0], (tuple, list)):
        raise ValueError(f"A merge layer should be called on a list of inputs. Received: input_shape={shapes} (not a list of shapes)")


def _merged_shape(shapes):
    """The shape all of them broadcast to, without the batch axis; refuses those that do not."""
    out = []
    for shape in shapes:
        sizes = list(shape[1:])
        longer, shorter = (out, sizes) if len(out) >= len(sizes) else (sizes, out)
        merged = longer[: len(longer) - len(shorter)]
        for a, b in zip(longer[len(longer) - len(shorter) :], shorter):
            if a is not None and b is not None and 1 not in (a, b) and a != b:
                raise ValueError(f"Inputs have incompatible shapes. Received shapes {tuple(out)} and {tuple(sizes)}")
            merged.append(None if a is None or b is None else max(a, b) if 0 not in (a, b) else 0)
        out = merged
    return out


def _with_axes(x, rank):
    while x.ndim < rank:
        x = _ops.expand_dims(x, 1)
    return x


class Add(Merge):
    """The sum of the inputs."""

    def _merge_function(self, inputs):
        out = inputs[0]
        for x in inputs[1:]:
            out = out + x
        return out


class Subtract(Merge):
    """The first input less the second."""

    def build(self, input_shape):
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError(f"A `Subtract` layer should be called on exactly 2 inputs. Received: input_shape={input_shape}")

    def _merge_function(self, inputs):
        return inputs[0] - inputs[1]


class Multiply(Merge):
    """The product of the inputs."""

    def _merge_function(self, inputs):
        out = inputs[0]
        for x in inputs[1:]:
            out = out * x
        return out


class Average(Merge):
    """The mean of the inputs."""

    def _merge_function(self, inputs):
        out = inputs[0]
        for x in inputs[1:]:
            out = out + x
        return out / len(inputs)


class Maximum(Merge):
    """The largest of the inputs, elementwise."""

    def _merge_function(self, inputs):
        out = inputs[0]
        for x in inputs[1:]:
            out = _ops.maximum(out, x)
        return out


class Minimum(Merge):
    """The smallest of the inputs, elementwise."""

    def _merge_function(self, inputs):
        out = inputs[0]
        for x in inputs[1:]:
            out = _ops.minimum(out, x)
        return out


class Concatenate(Merge):
    """The inputs side by side along an axis."""

    def __init__(self, axis=-1, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape):
        _check_list(input_shape)
        rank = len(input_shape[0])
        rests = {tuple(s for i, s in enumerate(shape) if i != self.axis % rank) for shape in input_shape}
        same = all(all(a is None or b is None or a == b for a, b in zip(x, y)) for x in rests for y in rests)
        if len({len(shape) for shape in input_shape}) > 1 or not same:
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the concatenation axis. Received: "
                f"input_shape={input_shape}"
            )

    def call(self, inputs):
        return _ops.concat(_of_one_dtype(inputs), self.axis)

    def compute_mask(self, inputs, previous_mask=None):
        if previous_mask is None or all(mask is None for mask in previous_mask):
            return None
        masks = []
        for x, mask in zip(inputs, previous_mask):
            sizes = x.shape.as_list()
            if mask is None:
                mask = _ops.cast(_ops.ones(sizes), "bool")
            while mask.ndim < len(sizes):
                mask = _ops.expand_dims(mask, -1)
            masks.append(_ops.broadcast_to(mask, sizes))
        return _ops.reduce_any(_ops.concat(masks, self.axis), -1)


class Dot(Merge):
    """The products of the samples of two inputs, summed over an axis of each."""

    def __init__(self, axes, normalize=False, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(axes, int) and (not isinstance(axes, (list, tuple)) or len(axes) != 2):
            raise ValueError(f"Invalid format for argument `axes`: it should be an int or contain two elements. Received: axes={axes}")
        self.axes, self.normalize = axes, normalize

    def _axes_of(self, shapes):
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        axes = [axis % len(shape) for axis, shape in zip(axes, shapes)]
        if 0 in axes:
            raise ValueError(f"Cannot perform batch_dot over axis 0. Received: axes={self.axes}")
        return axes

    def build(self, input_shape):
        if len(input_shape) != 2 or not isinstance(input_shape[0], (tuple, list)):
            raise ValueError(f"A `Dot` layer should be called on a list of 2 inputs. Received: input_shape={input_shape}")
        (first, second), (a, b) = input_shape, self._axes_of(input_shape)
        if first[a] != second[b]:
            raise ValueError(
                f"Incompatible input shapes: axis values {first[a]} (at axis {a}) != {second[b]} (at axis {b}). "
                f"Full input shapes: {first}, {second}"
            )

    def call(self, inputs):
        x, y = inputs
        a, b = self._axes_of([x.shape, y.shape])
        if self.normalize:
            x, y = l2_normalize(x, a), l2_normalize(y, b)
        batch, size = x.shape[0], x.shape[a]
        rest_x = [i for i in range(1, x.ndim) if i != a]
        rest_y = [i for i in range(1, y.ndim) if i != b]
        left = _ops.reshape(_ops.transpose(x, [0, *rest_x, a]), [batch, -1, size])
        right = _ops.reshape(_ops.transpose(y, [0, b, *rest_y]), [batch, size, -1])
        sizes = [x.shape[i] for i in rest_x] + [y.shape[i] for i in rest_y]
        return _ops.reshape(_ops.matmul(left, right), [batch, *(sizes or [1])])

    def compute_mask(self, inputs, previous_mask=None):
        return None


def add(inputs, **kwargs):
    """Add as a function."""
    return Add(**kwargs)(inputs)


def subtract(inputs, **kwargs):
    """Subtract as a function."""
    return Subtract(**kwargs)(inputs)


def multiply(inputs, **kwargs):
    """Multiply as a function."""
    return Multiply(**kwargs)(inputs)


def average(inputs, **kwargs):
    """Average as a function."""
    return Average(**kwargs)(inputs)


def maximum(inputs, **kwargs):
    """Maximum as a function."""
    return Maximum(**kwargs)(inputs)


def minimum(inputs, **kwargs):
    """Minimum as a function."""
    return Minimum(**kwargs)(inputs)


def concatenate(inputs, axis=-1, **kwargs):
    """Concatenate as a function."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs, axes=-1, **kwargs):
    """Dot as a function."""
    return Dot(axes=axes, **kwargs)(inputs)
