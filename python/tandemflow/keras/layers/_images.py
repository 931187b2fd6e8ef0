"""Layers of images, sequences and volumes compute with the channels last; here is the way there and back."""
from ... import _ops


def channels_last(x, data_format):
    """x with its channels at the end."""
    if data_format == "channels_last":
        return x
    return _ops.transpose(x, [0, *range(2, x.ndim), 1])


def as_given(x, data_format):
    """The way back."""
    if data_format == "channels_last":
        return x
    return _ops.transpose(x, [0, x.ndim - 1, *range(1, x.ndim - 1)])


def channel_axis(data_format):
    return -1 if data_format == "channels_last" else 1


def is_smaller(shape, window, data_format):
    """Whether a known size of space of the shape is below that of the window, so that nothing would come out."""
    space = shape[1:-1] if data_format == "channels_last" else shape[2:]
    return any(size is not None and size < least for size, least in zip(space, window))


def spaced(numbers):
    """As NumPy shows them, which is how Keras' messages do."""
    return f"[{' '.join(map(str, numbers))}]"


def spatial_axes(rank, data_format):
    """The axes that are neither batch nor channels."""
    return list(range(1, rank - 1)) if data_format == "channels_last" else list(range(2, rank))
