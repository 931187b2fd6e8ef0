"""K.mean, K.square, …: functions that programs for Keras 2 took from keras.backend."""
import tandemflow as tf


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
    from ._engine.floats import floatx

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


functions = {
    "abs": tf.abs, "all": _over(tf.reduce_all), "any": _over(tf.reduce_any), "argmax": _argmax, "argmin": _argmin,
    "batch_flatten": _batch_flatten, "binary_crossentropy": _loss("binary_crossentropy"), "cast": tf.cast,
    "categorical_crossentropy": _loss("categorical_crossentropy"), "clip": _clip,
    "concatenate": lambda tensors, axis=-1: tf.concat(tensors, axis), "constant": tf.constant, "cos": tf.cos,
    "cumprod": lambda x, axis=0: tf.math.cumprod(x, axis), "cumsum": lambda x, axis=0: tf.cumsum(x, axis),
    "dot": tf.matmul, "dtype": lambda x: x.dtype.name, "equal": tf.equal, "eval": _get_value, "exp": tf.exp,
    "expand_dims": lambda x, axis=-1: tf.expand_dims(x, axis), "eye": tf.eye, "flatten": lambda x: tf.reshape(x, [-1]),
    "gather": lambda reference, indices: tf.gather(reference, indices), "get_value": _get_value, "greater": tf.greater,
    "greater_equal": tf.greater_equal, "int_shape": _int_shape,
    "l2_normalize": lambda x, axis=None: tf.math.l2_normalize(x, axis), "less": tf.less, "less_equal": tf.less_equal,
    "log": tf.math.log, "max": _over(tf.reduce_max), "maximum": tf.maximum, "mean": _over(tf.reduce_mean),
    "min": _over(tf.reduce_min), "minimum": tf.minimum, "ndim": lambda x: len(x.shape), "not_equal": tf.not_equal,
    "one_hot": tf.one_hot, "ones_like": tf.ones_like, "permute_dimensions": _permute_dimensions, "pow": tf.pow,
    "prod": _over(tf.reduce_prod), "relu": tf.nn.relu, "repeat_elements": lambda x, rep, axis: tf.repeat(x, rep, axis),
    "reshape": tf.reshape, "round": tf.round, "set_value": _set_value, "shape": tf.shape, "sigmoid": tf.sigmoid,
    "sign": tf.sign, "sin": tf.sin, "softmax": lambda x, axis=-1: tf.nn.softmax(x, axis), "softplus": tf.nn.softplus,
    "sparse_categorical_crossentropy": _loss("sparse_categorical_crossentropy"), "sqrt": tf.sqrt, "square": tf.square,
    "squeeze": lambda x, axis: tf.squeeze(x, axis), "stack": lambda x, axis=0: tf.stack(x, axis),
    "std": _over(tf.math.reduce_std), "stop_gradient": tf.stop_gradient, "sum": _over(tf.reduce_sum), "switch": _switch,
    "tanh": tf.tanh, "tile": tf.tile, "transpose": tf.transpose, "var": _over(tf.math.reduce_variance),
    "variable": _variable, "zeros_like": tf.zeros_like,
}  # fmt: skip
