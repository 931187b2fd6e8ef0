"""Convolutions backwards under the names that few programs use."""
from . import _tandem
from ._conv import conv1d_transpose, conv2d_transpose, depthwise_conv2d
from ._conv3d import conv3d_transpose
from ._gradient import GradientTape
from ._ops import zeros


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None):
    """conv1d_transpose, conv2d_transpose or conv3d_transpose, as output_shape says."""
    sizes = _tandem.as_ints(output_shape)
    by_rank = {3: (conv1d_transpose, "NWC"), 4: (conv2d_transpose, "NHWC"), 5: (conv3d_transpose, "NDHWC")}
    if len(sizes) not in by_rank:
        raise ValueError(f"`output_shape` must be of length 3, 4 or 5 for 1, 2 or 3 axes of space, got {sizes}")
    function, last = by_rank[len(sizes)]
    return function(input, filters, sizes, strides, padding, data_format or last, dilations)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """The gradient of atrous_conv2d with respect to its input, as a layer."""
    return conv2d_transpose(value, filters, output_shape, 1, padding, dilations=[rate, rate])


def _moved(strides, padding, data_format, dilations):
    return dict(strides=strides, padding=padding, data_format=data_format, dilations=None if dilations is None else list(dilations)[-2:] if len(dilations) == 2 else list(dilations)[1:3])


def depthwise_conv2d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    """The gradient of depthwise_conv2d with respect to its input."""
    filters = _tandem.to_tensor(filter)
    x = zeros(_tandem.as_ints(input_sizes), filters.dtype)
    return _by(x, x, filters, out_backprop, _moved(strides, padding, data_format, dilations))


def depthwise_conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), name=None):
    """The gradient of depthwise_conv2d with respect to its filters."""
    x = _tandem.to_tensor(input)
    filters = zeros(_tandem.as_ints(filter_sizes), x.dtype)
    return _by(filters, x, filters, out_backprop, _moved(strides, padding, data_format, dilations))


def _by(source, x, filters, out_backprop, options):
    """The gradient of depthwise_conv2d by one of its two operands."""
    with GradientTape() as tape:
        tape.watch(source)
        y = depthwise_conv2d(x, filters, **options)
    return tape.gradient(y, source, output_gradients=_tandem.to_tensor(out_backprop))
