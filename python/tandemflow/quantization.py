"""tf.quantization: numbers as a quantised model would see them. Gradients pass inside the range and stop outside."""
from . import _names, _tandem
from ._dtypes import float32
from ._gradient import custom_gradient
from ._ops import (
    cast, clip_by_value, floor, greater_equal, less_equal, logical_and, minimum, reduce_max, reduce_min, reduce_sum, reshape, round, stop_gradient, where, zeros_like,
)  # fmt: skip


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


def quantize_and_dequantize_v2(input, input_min, input_max, signed_input=True, num_bits=8, range_given=False, round_mode="HALF_TO_EVEN",
                               narrow_range=False, axis=None, name=None):  # fmt: skip
    """The input in steps of which 0 is one, as many as num_bits have; from input_min to input_max, or from its own least to its largest."""
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise ValueError(f"quantize_and_dequantize_v2: round_mode must be 'HALF_TO_EVEN' or 'HALF_UP', got {round_mode!r}")
    x = _tandem.to_tensor(input)
    least = float(-(2 ** (num_bits - 1)) + (1 if narrow_range else 0)) if signed_input else 0.0
    most = float(2 ** (num_bits - 1) - 1 if signed_input else 2**num_bits - 1)
    others = None if axis is None else [i for i in range(x.ndim) if i != axis % x.ndim]

    @custom_gradient
    def quantise(x):
        low, high = (_range_of(bound, x, others) for bound in (input_min, input_max)) if range_given else (reduce_min(x, others, True), reduce_max(x, others, True))
        steps = [where(high > 0, most / high, zeros_like(high) + x.dtype.max), where(least * low > 0, least / low, zeros_like(low) + x.dtype.max)]
        scale = minimum(*steps)
        bound = lambda steps_away: steps_away / scale  # noqa: E731
        moved = clip_by_value(x, bound(least), bound(most)) * scale
        inside = logical_and(greater_equal(x, low), less_equal(x, high))
        rounded = round(moved) if round_mode == "HALF_TO_EVEN" else floor(moved + 0.5)
        return rounded / scale, lambda upstream: where(inside, upstream, zeros_like(upstream))

    return quantise(x)


def _range_of(bound, x, others):
    """A bound that broadcasts with x: one number, or one for each slice of an axis."""
    bound = cast(_tandem.to_tensor(bound), x.dtype)
    return bound if others is None or not bound.ndim else reshape(bound, [1 if i in others else -1 for i in range(x.ndim)])


def quantize_and_dequantize(input, input_min, input_max, signed_input=True, num_bits=8, range_given=False, round_mode="HALF_TO_EVEN", name=None,
                            narrow_range=False, axis=None):  # fmt: skip
    """quantize_and_dequantize_v2, whose gradient passes everywhere."""
    x = _tandem.to_tensor(input)
    return x + stop_gradient(quantize_and_dequantize_v2(x, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range, axis) - x)


__getattr__, __dir__ = _names.lazy(__name__)
