"""tf.quantization: numbers as a quantised model would see them. Gradients pass inside the range and stop outside."""
from . import _names, _tandem
from ._dtypes import float32
from ._gradient import custom_gradient
from ._ops import clip_by_value, floor, greater_equal, less_equal, logical_and, reduce_sum, round, where, zeros_like


def _given(value):
    """Tensors and variables as they are: a gradient is theirs."""
    return value if isinstance(value, (_tandem.Tensor, _tandem.Variable)) else _tandem.to_tensor(value, float32)


def _nudged(low, high, num_bits, narrow_range):
    """The range moved a little, so that 0 is one of the steps; and the step."""
    least, most = (1.0 if narrow_range else 0.0), float(2**num_bits - 1)
    scale = (high - low) / (most - least)
    zero = clip_by_value(round(least - low / scale), least, most)
    return (least - zero) * scale, (most - zero) * scale, scale


def _quantised(x, low, high, num_bits, narrow_range):
    low, high, scale = _nudged(low, high, num_bits, narrow_range)
    inside = logical_and(greater_equal(x, low), less_equal(x, high))
    return floor((clip_by_value(x, low, high) - low) / scale + 0.5) * scale + low, inside, x < low, x > high


def fake_quant_with_min_max_args(inputs, min=-6, max=6, num_bits=8, narrow_range=False, name=None):
    """The inputs in 2 ** num_bits steps from min to max."""

    @custom_gradient
    def quantise(x):
        y, inside, _, _ = _quantised(x, _tandem.to_tensor(float(min)), _tandem.to_tensor(float(max)), num_bits, narrow_range)
        return y, lambda upstream: where(inside, upstream, zeros_like(upstream))

    return quantise(_given(inputs))


def fake_quant_with_min_max_vars(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """The same with a range of tensors, which get gradients too."""

    @custom_gradient
    def quantise(x, low, high):
        y, inside, below, above = _quantised(x, low, high, num_bits, narrow_range)

        def gradient(upstream):
            nothing = zeros_like(upstream)
            return where(inside, upstream, nothing), reduce_sum(where(below, upstream, nothing)), reduce_sum(where(above, upstream, nothing))

        return y, gradient

    return quantise(*map(_given, (inputs, min, max)))


def fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits=8, narrow_range=False, name=None):
    """The same with a range for each channel, the last axis."""

    @custom_gradient
    def quantise(x, low, high):
        y, inside, below, above = _quantised(x, low, high, num_bits, narrow_range)
        axes = list(range(x.ndim - 1))

        def gradient(upstream):
            nothing = zeros_like(upstream)
            return where(inside, upstream, nothing), reduce_sum(where(below, upstream, nothing), axes), reduce_sum(where(above, upstream, nothing), axes)

        return y, gradient

    return quantise(*map(_given, (inputs, min, max)))


__getattr__, __dir__ = _names.lazy(__name__)
