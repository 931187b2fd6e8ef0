"""keras.ops: what neural networks are made of."""
import inspect

from ... import _adaptive_pool, _conv, _conv3d, _network, _ops
from .. import activations
from .._engine import data_format as formats
from .._engine.floats import epsilon as _epsilon
from ..layers._images import as_given, channels_last
from ..layers.transposed import output_length
from ._convert import axes_of, drawable, floats, made, one_axis, tensor

_ACTIVATIONS = ("celu", "elu", "glu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu",
                "log_sigmoid", "log_softmax", "relu", "relu6", "selu", "sigmoid", "silu", "soft_shrink", "softmax",
                "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "sparsemax", "squareplus", "tanh_shrink",
                "threshold")  # fmt: skip
for _name in _ACTIVATIONS:
    _function = getattr(activations, _name)
    globals()[_name] = made(_name, lambda *args, _f=_function, **kwargs: _f(*args, **kwargs), _function.__doc__)
    globals()[_name].__signature__ = inspect.signature(_function)  # files tell constants from tensors by it


@drawable
def gelu(x, approximate=True):
    """x times the probability that a normal number is below x; here the approximation is the default."""
    return activations.gelu(x, approximate)


swish, hard_swish = globals()["silu"], globals()["hard_silu"]


def _tuple(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _conv_by_rank(rank):
    return {1: _conv.conv1d, 2: _conv.conv2d, 3: _conv3d.conv3d}[rank]


@drawable
def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """A convolution over one to three axes."""
    data_format = formats.standardize(data_format)
    x = channels_last(tensor(inputs), data_format)
    rank = x.ndim - 2
    out = _conv_by_rank(rank)(x, tensor(kernel), _tuple(strides, rank), padding.upper(), dilations=_tuple(dilation_rate, rank))
    return as_given(out, data_format)


@drawable
def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Each channel with filters of its own."""
    data_format = formats.standardize(data_format)
    x, kernel = channels_last(tensor(inputs), data_format), tensor(kernel)
    rank = x.ndim - 2
    strides, dilations = _tuple(strides, rank), _tuple(dilation_rate, rank)
    if rank == 1:
        out = _conv.depthwise_conv2d(_ops.expand_dims(x, 1), _ops.expand_dims(kernel, 0), (1, *strides), padding.upper(), dilations=(1, *dilations))
        return as_given(_ops.squeeze(out, [1]), data_format)
    return as_given(_conv.depthwise_conv2d(x, kernel, strides, padding.upper(), dilations=dilations), data_format)


@drawable
def separable_conv(inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """A depthwise convolution, then one that mixes the channels."""
    between = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(between, pointwise_kernel, 1, "valid", data_format)


@drawable
def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    """The way back of a convolution."""
    data_format = formats.standardize(data_format)
    x, kernel = channels_last(tensor(inputs), data_format), tensor(kernel)
    rank = x.ndim - 2
    strides, dilations = _tuple(strides, rank), _tuple(dilation_rate, rank)
    extra = (None,) * rank if output_padding is None else _tuple(output_padding, rank)
    sizes = zip(x.shape.as_list()[1:-1], kernel.shape.as_list()[:rank], strides, extra, dilations)
    shape = [x.shape[0], *(output_length(n, k, s, padding, e, d) for n, k, s, e, d in sizes), kernel.shape[-2]]
    function = {1: _conv.conv1d_transpose, 2: _conv.conv2d_transpose}[rank]
    return as_given(function(x, kernel, shape, strides, padding.upper(), dilations=dilations), data_format)


def _pooled(pools, inputs, pool_size, strides, padding, data_format):
    data_format = formats.standardize(data_format)
    x = channels_last(tensor(inputs), data_format)
    rank = x.ndim - 2
    window = _tuple(pool_size, rank)
    out = pools[rank](x, window, window if strides is None else _tuple(strides, rank), padding.upper())
    return as_given(out, data_format)


@drawable
def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    """The largest value of each window."""
    return _pooled({1: _conv.max_pool1d, 2: _conv.max_pool2d, 3: _conv3d.max_pool3d}, inputs, pool_size, strides, padding, data_format)


@drawable
def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    """The mean of each window."""
    return _pooled({1: _conv.avg_pool1d, 2: _conv.avg_pool2d, 3: _conv3d.avg_pool3d}, inputs, pool_size, strides, padding, data_format)


def _adaptively(pool, inputs, output_size, data_format):
    data_format = formats.standardize(data_format)
    x = channels_last(floats(inputs), data_format)
    return as_given(pool(x, _tuple(output_size, x.ndim - 2)), data_format)


@drawable
def adaptive_average_pool(inputs, output_size, data_format=None):
    """The means of as many windows along each axis as output_size says."""
    return _adaptively(_adaptive_pool.adaptive_average_pool, inputs, output_size, data_format)


@drawable
def adaptive_max_pool(inputs, output_size, data_format=None):
    """The largest values of as many windows along each axis as output_size says."""
    return _adaptively(_adaptive_pool.adaptive_max_pool, inputs, output_size, data_format)


@drawable
def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    """A 1 at the place each number says."""
    from .._engine.floats import floatx

    return _ops.one_hot(tensor(x, "int32") if not tensor(x).dtype.is_integer else tensor(x), num_classes, axis=axis, dtype=dtype or floatx())


@drawable
def multi_hot(inputs, num_classes=None, axis=-1, dtype=None, sparse=False, **kwargs):
    """A 1 at every place that occurs in a sample."""
    num_classes = kwargs.pop("num_tokens", num_classes)
    x = tensor(inputs)
    return _ops.reduce_max(one_hot(x, num_classes, axis, dtype), 1 if x.ndim > 1 else 0)


@drawable
def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    """(x - mean) / sqrt(variance + epsilon) * scale + offset along an axis."""
    x = tensor(x)
    shape = [-1 if i == one_axis(axis, x.ndim) else 1 for i in range(x.ndim)]
    mean, variance, offset, scale = (None if v is None else _ops.reshape(tensor(v), shape) for v in (mean, variance, offset, scale))
    out = (x - mean) * _ops.rsqrt(variance + epsilon)
    out = out if scale is None else out * scale
    return out if offset is None else out + offset


@drawable
def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None, **kwargs):
    """By the mean and variance over the axes."""
    x = floats(x)
    epsilon = _epsilon() if epsilon is None else epsilon
    axes = axes_of(axis, x.ndim)
    mean = _ops.reduce_mean(x, axes, True)
    out = (x - mean) * _ops.rsqrt(_ops.reduce_mean(_ops.square(x - mean), axes, True) + epsilon)
    shape = [size if i in axes else 1 for i, size in enumerate(x.shape.as_list())]
    out = out if gamma is None else out * _ops.reshape(tensor(gamma, x.dtype), shape)
    return out if beta is None else out + _ops.reshape(tensor(beta, x.dtype), shape)


@drawable
def rms_normalization(x, scale=None, axis=-1, epsilon=None):
    """x divided by the root of its mean square."""
    x = floats(x)
    axes = axes_of(axis, x.ndim)
    out = x * _ops.rsqrt(_ops.reduce_mean(_ops.square(x), axes, True) + (_epsilon() if epsilon is None else epsilon))
    shape = [size if i in axes else 1 for i, size in enumerate(x.shape.as_list())]
    return out if scale is None else out * _ops.reshape(tensor(scale, x.dtype), shape)


@drawable
def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, flash_attention=None, attn_logits_soft_cap=None):
    """softmax(query key^T * scale + bias) value for each head."""
    if attn_logits_soft_cap is not None:
        raise NotImplementedError("dot_product_attention: attn_logits_soft_cap is not supported; leave it at None")
    return _network.dot_product_attention(tensor(query), tensor(key), tensor(value), bias, mask, scale, is_causal)


@drawable
def binary_crossentropy(target, output, from_logits=False):
    """The cross entropy of probabilities of 1, elementwise."""
    target, output = floats(target), floats(output)
    if from_logits:
        return _network.sigmoid_cross_entropy_with_logits(target, output)
    output = _ops.clip_by_value(output, _epsilon(), 1 - _epsilon())
    return -(target * _ops.log(output) + (1.0 - target) * _ops.log(1.0 - output))


@drawable
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """The cross entropy of distributions along an axis."""
    target, output = floats(target), floats(output)
    if from_logits:
        return -_ops.reduce_sum(target * _ops.log_softmax(output, axis), axis)
    output = output / _ops.reduce_sum(output, axis, True)
    return -_ops.reduce_sum(target * _ops.log(_ops.clip_by_value(output, _epsilon(), 1 - _epsilon())), axis)


@drawable
def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    """The cross entropy of distributions and the numbers of the true classes."""
    target, output = tensor(target), floats(output)
    if target.ndim == output.ndim and target.shape[-1] == 1:
        target = _ops.squeeze(target, [target.ndim - 1])
    classes = _ops.one_hot(_ops.cast(target, "int32"), output.shape[axis], axis=axis, dtype=output.dtype)
    return categorical_crossentropy(classes, output, from_logits, axis)


@drawable
def psnr(x1, x2, max_val):
    """The ratio of the largest signal to the noise, in decibel."""
    error = _ops.reduce_mean(_ops.square(floats(x1) - floats(x2)))
    return 10.0 * (_ops.log(tensor(float(max_val)) ** 2.0 / error) / _ops.log(tensor(10.0)))


@drawable
def space_to_depth(x, block_size, data_format="channels_last"):
    """Blocks of pixels as channels."""
    x = channels_last(tensor(x), data_format)
    batch, height, width, channels = x.shape.as_list()
    n = block_size
    x = _ops.transpose(_ops.reshape(x, [batch, height // n, n, width // n, n, channels]), [0, 1, 3, 2, 4, 5])
    return as_given(_ops.reshape(x, [batch, height // n, width // n, n * n * channels]), data_format)


@drawable
def depth_to_space(x, block_size, data_format="channels_last"):
    """Channels as blocks of pixels."""
    x = channels_last(tensor(x), data_format)
    batch, height, width, channels = x.shape.as_list()
    n = block_size
    x = _ops.transpose(_ops.reshape(x, [batch, height, width, n, n, channels // (n * n)]), [0, 1, 3, 2, 4, 5])
    return as_given(_ops.reshape(x, [batch, height * n, width * n, channels // (n * n)]), data_format)
