"""Functions of tf.math and tf.nn that few programs use, composed of others."""
import math

from . import _tandem
from ._conv import conv2d
from ._conv3d import avg_pool, max_pool
from ._ops import (
    abs,
    add_n,
    cast,
    concat,
    constant,
    cumsum,
    divide_no_nan,
    equal,
    exp,
    is_inf,
    lgamma,
    log,
    log1p,
    maximum,
    ones_like,
    pad,
    reduce_all,
    reduce_max,
    reduce_mean,
    reduce_sum,
    relu,
    reshape,
    square,
    stack,
    stop_gradient,
    where,
    zeros_like,
)
from .errors import InvalidArgumentError


def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
    """The sum of tensors of one shape."""
    return add_n(inputs)


def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
    """log(exp(x[0]) + … + exp(x[i])) along an axis; whatever else is in it, small numbers count where they stand alone.

    Sums of 1, 2, 4, … neighbours: each step adds what the step before has found as far away as it reaches.
    """
    x = _tandem.to_tensor(x)
    if not -x.ndim <= axis < x.ndim:
        raise InvalidArgumentError(f"E0103 cumulative_logsumexp: axis {axis} is outside a tensor of {x.ndim} axes")
    axis, count = axis % x.ndim, x.shape[axis]
    nothing = constant(-math.inf, x.dtype)

    def moved(values, by):
        """Those `by` places before, and nothing before the first."""
        margins = [[0, 0]] * x.ndim
        margins[axis] = [0, by] if reverse else [by, 0]
        kept = [slice(None)] * x.ndim
        kept[axis] = slice(by, None) if reverse else slice(0, count - by)
        return pad(values[tuple(kept)], margins, constant_values=nothing)

    found, reach = (moved(x, 1) if exclusive and count else x), 1
    while reach < count:
        found, reach = _log_add_exp(found, moved(found, reach)), 2 * reach
    return found


def _log_add_exp(a, b):
    """log(exp(a) + exp(b)), also of infinities. The gradient is that of the plain formula: it divides ties evenly."""
    larger = maximum(a, b)
    infinite = is_inf(larger)  # such numbers have no distance
    a, b = (where(infinite, zeros_like(value), value) for value in (a, b))
    most = stop_gradient(maximum(a, b))
    plain = log(exp(a - most) + exp(b - most))
    exact = most + log1p(exp(-abs(a - b)))
    return where(infinite, larger, plain + stop_gradient(exact - plain))


def polyval(coeffs, x, name=None):
    """The polynomial with these coefficients, the highest power first."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = _tandem.to_tensor(x)
    if not coeffs:
        return zeros_like(x)
    out, *others = [_tandem.to_tensor_beside(coefficient, x.dtype) for coefficient in coeffs]
    for coefficient in others:
        out = out * x + coefficient
    return out


def reciprocal_no_nan(x, name=None):
    """1 / x, and 0 where x is 0."""
    x = _tandem.to_tensor(x)
    return divide_no_nan(ones_like(x), x)


def xlog1py(x, y, name=None):
    """x log(1 + y), and 0 where x is 0."""
    x = _tandem.to_tensor(x)
    y = _tandem.to_tensor(y, x.dtype)
    # Where x is 0 so are both gradients, even if the logarithm is infinite.
    return x * log1p(where(equal(x, 0), zeros_like(y), y))


def lbeta(x, name=None):
    """The logarithm of the beta function of the numbers of the last axis."""
    x = _tandem.to_tensor(x)
    return reduce_sum(lgamma(x), -1) - lgamma(reduce_sum(x, -1))


def _steps(x):
    x = reshape(_tandem.to_tensor(x), [-1])
    return x[1:], x[:-1]


def is_non_decreasing(x, name=None):
    """Whether no number is smaller than the one before it."""
    later, earlier = _steps(x)
    return reduce_all(later >= earlier)


def is_strictly_increasing(x, name=None):
    """Whether every number is larger than the one before it."""
    later, earlier = _steps(x)
    return reduce_all(later > earlier)


def weighted_cross_entropy_with_logits(labels, logits, pos_weight, name=None):
    """Cross entropy of a sigmoid, in which positive labels count pos_weight times."""
    logits = _tandem.to_tensor(logits)
    labels = _tandem.to_tensor(labels, None if hasattr(labels, "dtype") else logits.dtype)
    weight = 1 + (_tandem.to_tensor(pos_weight, logits.dtype) - 1) * labels
    return (1 - labels) * logits + weight * (log1p(exp(-abs(logits))) + relu(-logits))


def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """What Poisson's distribution with the mean exp(log_input) costs for these targets."""
    log_input = _tandem.to_tensor(log_input)
    targets = _tandem.to_tensor(targets, None if hasattr(targets, "dtype") else log_input.dtype)
    loss = exp(log_input) - log_input * targets
    if not compute_full_loss:
        return loss
    small = (targets >= 0) & (targets <= 1)
    safe = where(small, ones_like(targets), targets)
    return loss + where(small, zeros_like(targets), safe * log(safe) - safe + 0.5 * log(2 * math.pi * safe))


def crelu(features, axis=-1, name=None):
    """The positive parts of x and of -x, side by side."""
    features = _tandem.to_tensor(features)
    return concat([relu(features), relu(-features)], axis)


def weighted_moments(x, axes, frequency_weights, keepdims=False, name=None):
    """Mean and variance, in which each value counts as often as its weight says."""
    x = _tandem.to_tensor(x)
    weights = cast(_tandem.to_tensor(frequency_weights), x.dtype) + zeros_like(x)
    total = reduce_sum(weights, axes, keepdims=True)
    mean = divide_no_nan(reduce_sum(weights * x, axes, keepdims=True), total)
    variance = divide_no_nan(reduce_sum(weights * square(x - mean), axes, keepdims=True), total)
    if keepdims:
        return mean, variance
    shape = reduce_sum(x, axes).shape.as_list()
    return reshape(mean, shape), reshape(variance, shape)


def local_response_normalization(input, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, name=None):
    """Each value by the size of those of the channels beside it."""
    x = _tandem.to_tensor(input)
    sums = cumsum(pad(square(x), [[0, 0]] * 3 + [[depth_radius + 1, depth_radius]]), -1)
    window = sums[..., 2 * depth_radius + 1 :] - sums[..., : x.shape[-1]]
    return x / (bias + alpha * window) ** beta


def atrous_conv2d(value, filters, rate, padding, name=None):
    """A convolution that leaves rate - 1 pixels out between those it reads."""
    return conv2d(value, filters, 1, padding, dilations=rate)


def pool(input, window_shape, pooling_type, strides=None, padding="VALID", data_format=None, dilations=None, name=None):
    """The largest values ("MAX") or means ("AVG") of windows over one to three axes."""
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f'pooling_type must be "MAX" or "AVG", got {pooling_type!r}')
    if dilations is not None and any(rate != 1 for rate in _tandem.as_ints(dilations)):
        return _pool_with_gaps(input, window_shape, pooling_type, strides, padding, data_format, dilations)
    return (max_pool if pooling_type == "MAX" else avg_pool)(input, window_shape, strides or 1, padding, data_format)


def _pool_with_gaps(input, window_shape, pooling_type, strides, padding, data_format, dilations):
    """A window of several axes is a window along one after the other: of what lies under its places."""
    if padding.upper() != "VALID" or any(step != 1 for step in _tandem.as_ints(strides or 1)):
        raise ValueError(f"pool: with dilations={dilations} padding must be 'VALID' and strides 1, got {padding!r} and {strides}")
    x, window = _tandem.to_tensor(input), _tandem.as_ints(window_shape)
    rates = _tandem.as_ints(dilations)
    rates = rates * len(window) if len(rates) == 1 else rates
    first = 2 if (data_format or "").startswith("NC") else 1
    for axis, (size, rate) in enumerate(zip(window, rates), first):
        length = x.shape[axis] - (size - 1) * rate
        if length <= 0:
            raise ValueError(f"pool: a window of {size} places {rate} apart does not fit into axis {axis} of {x.shape}")
        places = stack([x[(slice(None),) * axis + (slice(k * rate, k * rate + length),)] for k in range(size)])
        x = reduce_max(places, 0) if pooling_type == "MAX" else reduce_mean(places, 0)
    return x



def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """(mean, variance) of what sufficient_statistics() gave."""
    divisor = 1.0 / _tandem.to_tensor(counts)
    shifted = mean_ss * divisor
    mean = shifted if shift is None else shifted + shift
    return mean, variance_ss * divisor - square(shifted)


def sufficient_statistics(x, axes, shift=None, keepdims=False, name=None):
    """(number, sum, sum of squares, shift) of what is reduced: what mean and variance follow from."""
    x = _tandem.to_tensor(x)
    axes = [int(axis) % x.ndim for axis in axes]
    count = _tandem.to_tensor(float(math.prod(x.shape[axis] for axis in set(axes))), x.dtype)
    shift = None if shift is None else _tandem.to_tensor_beside(shift, x.dtype)
    apart = x if shift is None else x - shift
    return count, reduce_sum(apart, axes, keepdims), reduce_sum(square(apart), axes, keepdims), shift


def _top_along(operand, k, axis):
    from ._arrays import top_k
    from ._ops import transpose

    x = _tandem.to_tensor(operand)
    axis %= x.ndim
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    found = top_k(transpose(x, order), k)
    return [transpose(part, [order.index(i) for i in range(x.ndim)]) for part in found]


def approx_max_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True, name=None):
    """The k largest and where they are; exact."""
    return tuple(_top_along(operand, k, reduction_dimension))


def approx_min_k(operand, k, reduction_dimension=-1, recall_target=0.95, reduction_input_size_override=-1, aggregate_to_topk=True, name=None):
    """The k smallest and where they are; exact."""
    values, places = _top_along(-_tandem.to_tensor(operand), k, reduction_dimension)
    return -values, places


def nextafter(x1, x2, name=None):
    """The number after x1 in the direction of x2."""
    import numpy as np

    from ._on_host import computed

    a = _tandem.to_tensor(x1)
    b = _tandem.to_tensor_beside(x2, a.dtype)
    sizes = (zeros_like(a) + zeros_like(b)).shape.as_list()
    return computed(np.nextafter, [a, b], (sizes, a.dtype))


def batch_norm_with_global_normalization(input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name=None):
    """batch_normalization, scaled by gamma or not."""
    from .nn import batch_normalization

    return batch_normalization(input, mean, variance, beta, gamma if scale_after_normalization else None, variance_epsilon)
