"""keras.activations: functions of one tensor, by name or called."""
import functools
import inspect

from .. import _names, _ops, _tandem
from ._engine.keras_tensor import KerasTensor
from ._engine.logits import remember
from ._engine.registry import Family

_records = _ops.records


def _tensor(x):
    """x as a floating tensor."""
    x = _tandem.to_tensor(x)
    return x if x.dtype.is_floating else _ops.cast(x, "float32")


def relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    """max(x, 0); below the threshold negative_slope * (x - threshold), above max_value that."""
    x = _tensor(x)
    if negative_slope == 0 and threshold == 0:
        return _relu(x, max_value)
    if max_value is None and threshold == 0:
        return _records["leaky_relu"](x, float(negative_slope))
    above = _records["where"](x > threshold, x, 0.0 * x) if threshold else _records["relu"](x)
    if max_value is not None:
        above = _ops.clip_by_value(above, 0.0, float(max_value))
    return above - float(negative_slope) * _records["relu"](threshold - x) if negative_slope else above


def _relu(x, max_value):
    if max_value is None:
        return _records["relu"](x)
    return _records["relu6"](x) if max_value == 6 else _ops.clip_by_value(x, 0.0, float(max_value))


def leaky_relu(x, negative_slope=0.2):
    """x where x > 0, else negative_slope * x."""
    return _records["leaky_relu"](_tensor(x), float(negative_slope))


def relu6(x):
    """min(max(x, 0), 6)"""
    return _records["relu6"](_tandem.to_tensor(x))


def softmax(x, axis=-1):
    """exp(x) / sum(exp(x)) over one axis or several."""
    x = _tensor(x)
    if isinstance(axis, (tuple, list)):
        if len(axis) != 1:
            return _softmax_over_axes(x, axis)
        axis = axis[0]
    out = _records["softmax"](x, axis)
    return remember(out, x, "softmax") if axis in (-1, x.ndim - 1) else out


def _softmax_over_axes(x, axes):
    shifted = _ops.exp(x - _ops.reduce_max(x, list(axes), True))
    return shifted / _ops.reduce_sum(shifted, list(axes), True)


def elu(x, alpha=1.0):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    x = _tensor(x)
    return _records["elu"](x) if alpha == 1 else _ops.where(x > 0, x, float(alpha) * _ops.expm1(x))


def selu(x):
    """The scaled elu of self-normalizing networks."""
    return _records["selu"](_tensor(x))


def softplus(x):
    """log(exp(x) + 1)"""
    return _records["softplus"](_tensor(x))


def softsign(x):
    """x / (|x| + 1)"""
    return _records["softsign"](_tensor(x))


def soft_shrink(x, threshold=0.5):
    """x moved towards zero by the threshold; zero where it is nearer than that."""
    x = _tensor(x)
    return _ops.where(x > threshold, x - threshold, _ops.where(x < -threshold, x + threshold, _ops.zeros_like(x)))


def sparse_plus(x):
    """0 below -1, (x + 1)^2 / 4 up to 1, then x."""
    x = _tensor(x)
    return _ops.where(x < 1, _ops.square(_ops.maximum(x + 1.0, 0.0)) * 0.25, x)


def sparse_sigmoid(x):
    """0 below -1, (x + 1) / 2 up to 1, then 1."""
    return _ops.clip_by_value(0.5 * (_tensor(x) + 1.0), 0.0, 1.0)


def silu(x):
    """x * sigmoid(x)"""
    return _records["silu"](_tensor(x))


def squareplus(x, b=4):
    """(x + sqrt(x^2 + b)) / 2"""
    x = _tensor(x)
    return (x + _ops.sqrt(_ops.square(x) + float(b))) / 2.0


def gelu(x, approximate=False):
    """x times the probability that a normal number is below x."""
    return _ops.gelu(_tensor(x), approximate)


def celu(x, alpha=1.0):
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)"""
    x = _tensor(x)
    return _ops.maximum(x, 0.0) + float(alpha) * _ops.expm1(_ops.minimum(x, 0.0) / float(alpha))


def glu(x, axis=-1):
    """The first half along the axis times the sigmoid of the second."""
    x = _tensor(x)
    if x.shape[axis] % 2:
        raise ValueError(f"glu: axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    first, second = _ops.split(x, 2, axis)
    return first * _ops.sigmoid(second)


def tanh(x):
    """The hyperbolic tangent."""
    return _records["tanh"](_tensor(x))


def tanh_shrink(x):
    """x - tanh(x)"""
    x = _tensor(x)
    return x - _ops.tanh(x)


def hard_tanh(x):
    """x kept between -1 and 1."""
    return _ops.clip_by_value(_tensor(x), -1.0, 1.0)


def hard_shrink(x, threshold=0.5):
    """x where |x| > threshold, else 0."""
    x = _tensor(x)
    return _ops.where(_ops.abs(x) > threshold, x, 0.0 * x)


def threshold(x, threshold, default_value):
    """x where x > threshold, else default_value."""
    x = _tensor(x)
    return _ops.where(x > threshold, x, _ops.zeros_like(x) + float(default_value))


def sigmoid(x):
    """1 / (1 + exp(-x))"""
    x = _tensor(x)
    return remember(_records["sigmoid"](x), x, "sigmoid")


def exponential(x):
    """exp(x)"""
    return _records["exp"](_tensor(x))


def hard_sigmoid(x):
    """x / 6 + 1 / 2, kept between 0 and 1."""
    return _records["hard_sigmoid"](_tensor(x))


def log_sigmoid(x):
    """log(sigmoid(x))"""
    return _records["log_sigmoid"](_tensor(x))


def hard_silu(x):
    """x * hard_sigmoid(x)"""
    return _records["hard_silu"](_tensor(x))


def linear(x):
    """x"""
    return x


def mish(x):
    """x * tanh(softplus(x))"""
    return _records["mish"](_tensor(x))


def log_softmax(x, axis=-1):
    """log(softmax(x))"""
    return _records["log_softmax"](_tensor(x), axis)


def sparsemax(x, axis=-1):
    """The nearest distribution to x: like softmax, with zeros.

    A. Martins, R. Astudillo: "From Softmax to Sparsemax".
    """
    x = _tensor(x)
    axis %= x.ndim
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    moved = x if axis == x.ndim - 1 else _ops.transpose(x, order)
    falling = _records["sort"](moved, "descending")
    places = _ops.range(1, moved.shape[-1] + 1, dtype=x.dtype)
    sums = _ops.cumsum(falling, -1)
    inside = _ops.cast(1.0 + places * falling > sums, x.dtype)
    count = _ops.reduce_sum(inside, -1, True)
    tau = (_ops.reduce_sum(falling * inside, -1, True) - 1.0) / count
    out = _ops.maximum(moved - tau, 0.0)
    return out if axis == x.ndim - 1 else _ops.transpose(out, [order.index(i) for i in range(x.ndim)])


# --- In functional models, and by name ---

_LAYERS = {"relu": "ReLU", "leaky_relu": "LeakyReLU", "elu": "ELU", "softmax": "Softmax"}  # for calls with options


def _draw(function, x, args, kwargs):
    """The layer that does the same to a tensor of a model that is being drawn up."""
    from . import layers

    options = dict(list(inspect.signature(function).bind(x, *args, **kwargs).arguments.items())[1:])
    if not options:
        return layers.Activation(function.__name__)(x)
    if function.__name__ not in _LAYERS:
        raise ValueError(
            f"activations.{function.__name__} takes no options where a functional model is drawn up, got {options}; put "
            "the call into a keras.layers.Lambda or a custom layer"
        )
    return getattr(layers, _LAYERS[function.__name__])(**options)(x)


def _drawable(function):
    @functools.wraps(function)
    def wrapped(x, *args, **kwargs):
        if isinstance(x, KerasTensor):
            return _draw(function, x, args, kwargs)
        return function(x, *args, **kwargs)

    return wrapped


_FUNCTIONS = [
    _drawable(function)
    for function in (
        relu, leaky_relu, relu6, softmax, celu, elu, selu, softplus, softsign, squareplus, soft_shrink, sparse_plus, silu,
        gelu, glu, tanh, tanh_shrink, threshold, sigmoid, sparse_sigmoid, exponential, hard_sigmoid, hard_silu, hard_tanh,
        hard_shrink, linear, mish, log_softmax, log_sigmoid, sparsemax,
    )
]  # fmt: skip
globals().update({function.__name__: function for function in _FUNCTIONS})
swish, hard_swish = silu, hard_silu
family = Family(
    "activation function", "keras.activations", _FUNCTIONS, {"swish": swish, "hard_swish": hard_swish}
)


def get(identifier):
    """The function for a name, a configuration or a function; None is linear."""
    return linear if identifier is None else family.get(identifier)


def serialize(activation):
    """The object's configuration, from which deserialize makes it anew."""
    return family.serialize(activation)


def deserialize(config, custom_objects=None):
    """An object made from its configuration, or found by its name."""
    return family.deserialize(config, custom_objects)


__getattr__, __dir__ = _names.lazy(__name__)
