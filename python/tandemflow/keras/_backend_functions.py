"""K.mean, K.square, …: functions that programs for Keras 2 took from keras.backend."""
import tandemflow as tf

from ._engine.floats import epsilon, floatx


def _over(reduce):
    return lambda x, axis=None, keepdims=False: reduce(x, axis=axis, keepdims=keepdims)


def _int_shape(x):
    return tuple(x.shape)


def _get_value(x):
    return x.numpy().copy() if hasattr(x, "numpy") else x


def _set_value(x, value):
    x.assign(value)


def _permute_dimensions(x, pattern):
    return tf.transpose(x, pattern)


def _batch_flatten(x):
    return tf.reshape(x, [x.shape[0], -1])


def _argmax(x, axis=-1):
    return tf.argmax(x, axis)


def _argmin(x, axis=-1):
    return tf.argmin(x, axis)


def _clip(x, min_value, max_value):
    return tf.clip_by_value(x, min_value, max_value)


def _variable(value, dtype=None, name=None, constraint=None):
    return tf.Variable(value, dtype=dtype or floatx(), name=name)


def _switch(condition, then_expression, else_expression):
    return tf.where(condition, _called(then_expression), _called(else_expression))


def _called(value):
    return value() if callable(value) else value


def _loss(name):
    def function(target, output, from_logits=False, **options):
        from . import losses

        return getattr(losses, name)(target, output, from_logits=from_logits, **options)

    return function


def _binary_crossentropy(target, output, from_logits=False):
    """Of each element, unlike the loss."""
    target, output = tf.convert_to_tensor(target), tf.convert_to_tensor(output)
    if from_logits:
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
    least = epsilon()
    output = tf.clip_by_value(output, least, 1.0 - least)
    return -(target * tf.math.log(output) + (1.0 - target) * tf.math.log(1.0 - output))


def _dot(x, y):
    """Along the last axis of x and the one before the last of y."""
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    return tf.matmul(x, y) if x.ndim == y.ndim == 2 else tf.tensordot(x, y, [[x.ndim - 1], [max(y.ndim - 2, 0)]])


def _batch_dot(x, y, axes=None):
    """For each sample the product along one axis of each; [batch, 1] where nothing else is left."""
    x, y = tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    if axes is None:
        axes = [x.ndim - 1, y.ndim - (1 if y.ndim == 2 else 2)]
    a, b = ([axes, axes] if isinstance(axes, int) else list(axes))
    of_x, of_y = list("abcdefgh"[: x.ndim]), list("a" + "pqrstuv"[: y.ndim - 1])
    of_x[a % x.ndim] = of_y[b % y.ndim] = "z"
    left = [letter for letter in of_x + of_y[1:] if letter != "z"]
    out = tf.einsum(f"{''.join(of_x)},{''.join(of_y)}->{''.join(left)}", x, y)
    return tf.expand_dims(out, 1) if out.ndim == 1 else out


def _filled(make):
    return lambda shape, dtype=None, name=None: tf.Variable(make(shape, dtype or floatx()), name=name)


def _drawn(draw, first, second):
    """tf.random's function with the names and defaults of K's."""

    def function(shape, *given, dtype=None, seed=None, **named):
        values = dict(zip((first[0], second[0]), given))
        values = {first[1]: values.get(first[0], named.get(first[0], first[2])), second[1]: values.get(second[0], named.get(second[0], second[2]))}
        return draw(shape, dtype=dtype or floatx(), seed=seed, **values)

    return function


def _random_bernoulli(shape, p=0.0, dtype=None, seed=None):
    return tf.cast(tf.random.uniform(shape, seed=seed) <= p, dtype or floatx())


def _variable_of(draw):
    return lambda shape, first, second, dtype=None, name=None, seed=None: _variable(draw(shape, first, second, dtype=dtype, seed=seed), dtype, name)


def _padded(x, *pairs):
    return tf.pad(x, [[0, 0], *(list(pair) for pair in pairs), [0, 0]])


def _resize_images(x, height_factor, width_factor, data_format="channels_last", interpolation="nearest"):
    if data_format != "channels_last":
        raise NotImplementedError("resize_images: channels come last here")
    return tf.image.resize(x, [x.shape[1] * height_factor, x.shape[2] * width_factor], method=interpolation)


def _ctc_batch_cost(y_true, y_pred, input_length, label_length):
    from .ops import ctc_loss

    lengths = [tf.cast(tf.reshape(part, [-1]), "int32") for part in (label_length, input_length)]
    y_pred = tf.math.log(tf.convert_to_tensor(y_pred) + epsilon())
    return tf.expand_dims(ctc_loss(tf.cast(y_true, "int32"), y_pred, *lengths, mask_index=y_pred.shape[-1] - 1), 1)


def _ctc_decode(y_pred, input_length, greedy=True, beam_width=100, top_paths=1):
    """([labels, -1 where there is none], negated log probabilities) of probabilities (batch, steps, classes); the last class is the blank."""
    if not greedy:
        raise NotImplementedError("ctc_decode: greedy=True is supported; for beams see keras.ops.ctc_decode(strategy='beam_search')")
    y_pred = tf.math.log(tf.transpose(tf.convert_to_tensor(y_pred), [1, 0, 2]) + epsilon())
    decoded, scores = tf.nn.ctc_greedy_decoder(y_pred, tf.cast(tf.reshape(input_length, [-1]), "int32"))
    shape = [y_pred.shape[1], y_pred.shape[0]]
    return [tf.sparse.to_dense(tf.SparseTensor(part.indices, part.values, shape), default_value=-1) for part in decoded], scores


def _moving_average_update(x, value, momentum):
    return x.assign(x * momentum + tf.cast(value, x.dtype) * (1.0 - momentum))


_random_normal = _drawn(tf.random.normal, ("mean", "mean", 0.0), ("stddev", "stddev", 1.0))
_random_uniform = _drawn(tf.random.uniform, ("minval", "minval", 0.0), ("maxval", "maxval", 1.0))

functions = {
    "abs": tf.abs, "all": _over(tf.reduce_all), "any": _over(tf.reduce_any), "argmax": _argmax, "argmin": _argmin,
    "batch_flatten": _batch_flatten, "batch_dot": _batch_dot,
    "batch_get_value": lambda tensors: [_get_value(x) for x in tensors], "batch_set_value": lambda pairs: [x.assign(value) for x, value in pairs] and None,
    "bias_add": lambda x, bias, data_format=None: x + bias, "binary_crossentropy": _binary_crossentropy, "cast": tf.cast,
    "categorical_crossentropy": _loss("categorical_crossentropy"), "clip": _clip,
    "concatenate": lambda tensors, axis=-1: tf.concat(tensors, axis), "constant": tf.constant, "cos": tf.cos,
    "cumprod": lambda x, axis=0: tf.math.cumprod(x, axis), "cumsum": lambda x, axis=0: tf.cumsum(x, axis),
    "count_params": lambda x: int(tf.size(x)), "ctc_batch_cost": _ctc_batch_cost, "ctc_decode": _ctc_decode, "dot": _dot,
    "dropout": lambda x, level, noise_shape=None, seed=None: tf.nn.dropout(x, level, noise_shape, seed), "elu": lambda x, alpha=1.0: tf.where(x > 0, x, alpha * (tf.exp(x) - 1.0)), "dtype": lambda x: x.dtype.name, "equal": tf.equal, "eval": _get_value, "exp": tf.exp,
    "expand_dims": lambda x, axis=-1: tf.expand_dims(x, axis), "eye": tf.eye, "flatten": lambda x: tf.reshape(x, [-1]),
    "foldl": tf.foldl, "foldr": tf.foldr, "gather": lambda reference, indices: tf.gather(reference, indices), "get_value": _get_value, "greater": tf.greater,
    "greater_equal": tf.greater_equal, "hard_sigmoid": lambda x: tf.clip_by_value(x * 0.2 + 0.5, 0.0, 1.0),
    "in_top_k": lambda predictions, targets, k: tf.math.in_top_k(targets, predictions, k), "int_shape": _int_shape,
    "l2_normalize": lambda x, axis=None: tf.math.l2_normalize(x, axis), "less": tf.less, "less_equal": tf.less_equal,
    "log": tf.math.log, "map_fn": lambda fn, elems, name=None, dtype=None: tf.map_fn(fn, elems, dtype=dtype), "max": _over(tf.reduce_max), "maximum": tf.maximum, "mean": _over(tf.reduce_mean),
    "min": _over(tf.reduce_min), "minimum": tf.minimum, "moving_average_update": _moving_average_update, "name_scope": tf.name_scope, "ndim": lambda x: len(x.shape), "not_equal": tf.not_equal,
    "one_hot": tf.one_hot, "ones": _filled(tf.ones), "ones_like": tf.ones_like, "permute_dimensions": _permute_dimensions, "pow": tf.pow,
    "prod": _over(tf.reduce_prod), "random_bernoulli": _random_bernoulli, "random_normal": _random_normal, "random_uniform": _random_uniform,
    "random_normal_variable": _variable_of(_random_normal), "random_uniform_variable": _variable_of(_random_uniform), "relu": tf.nn.relu,
    "repeat": lambda x, n: tf.repeat(tf.expand_dims(x, 1), n, 1), "repeat_elements": lambda x, rep, axis: tf.repeat(x, rep, axis),
    "reshape": tf.reshape, "resize_images": _resize_images, "reverse": lambda x, axes: tf.reverse(x, [axes] if isinstance(axes, int) else axes), "round": tf.round, "set_value": _set_value, "shape": tf.shape, "sigmoid": tf.sigmoid,
    "sign": tf.sign, "sin": tf.sin, "softmax": lambda x, axis=-1: tf.nn.softmax(x, axis), "softplus": tf.nn.softplus,
    "softsign": tf.nn.softsign, "spatial_2d_padding": lambda x, padding=((1, 1), (1, 1)), data_format=None: _padded(x, *padding),
    "sparse_categorical_crossentropy": _loss("sparse_categorical_crossentropy"), "sqrt": tf.sqrt, "square": tf.square,
    "squeeze": lambda x, axis: tf.squeeze(x, axis), "stack": lambda x, axis=0: tf.stack(x, axis),
    "std": _over(tf.math.reduce_std), "stop_gradient": tf.stop_gradient, "sum": _over(tf.reduce_sum), "switch": _switch,
    "tanh": tf.tanh, "tile": tf.tile, "temporal_padding": lambda x, padding=(1, 1): _padded(x, padding), "transpose": tf.transpose,
    "truncated_normal": _drawn(tf.random.truncated_normal, ("mean", "mean", 0.0), ("stddev", "stddev", 1.0)),
    "update": lambda x, new_x: x.assign(new_x), "update_add": lambda x, increment: x.assign_add(increment), "update_sub": lambda x, decrement: x.assign_sub(decrement), "var": _over(tf.math.reduce_variance),
    "variable": _variable, "zeros": _filled(tf.zeros), "zeros_like": tf.zeros_like,
}  # fmt: skip
