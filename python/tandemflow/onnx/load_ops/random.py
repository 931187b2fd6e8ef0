"""Numbers drawn by chance: other ones than other programs draw, but for the same seed the same each time."""
import tandemflow as tf

from ..narrow import BFLOAT16
from ..support import as_tensor, op
from ..tensors import dtype_of


def _dtype(node, default):
    number = node.get("dtype", 0)
    return default if not number else tf.bfloat16 if number == BFLOAT16 else tf.as_dtype(dtype_of(number))


def _seed(node):
    return int(node["seed"]) if "seed" in node else None


def _uniform(node, shape, dtype):
    return tf.random.uniform(shape, node.get("low", 0.0), node.get("high", 1.0), dtype, _seed(node))


def _normal(node, shape, dtype):
    return tf.random.normal(shape, node.get("mean", 0.0), node.get("scale", 1.0), dtype, _seed(node))


@op("RandomUniform")
def random_uniform(node):
    return _uniform(node, node["shape"], _dtype(node, tf.float32))


@op("RandomNormal")
def random_normal(node):
    return _normal(node, node["shape"], _dtype(node, tf.float32))


@op("RandomUniformLike")
def random_uniform_like(node, x):
    x = as_tensor(x)
    return _uniform(node, tf.shape(x), _dtype(node, x.dtype))


@op("RandomNormalLike")
def random_normal_like(node, x):
    x = as_tensor(x)
    return _normal(node, tf.shape(x), _dtype(node, x.dtype))


@op("Bernoulli")
def bernoulli(node, chances):
    chances = as_tensor(chances)
    return tf.cast(tf.random.uniform(tf.shape(chances), dtype=chances.dtype, seed=_seed(node)) < chances, _dtype(node, chances.dtype))


@op("Multinomial")
def multinomial(node, logits):
    return tf.random.categorical(as_tensor(logits), node.get("sample_size", 1), _dtype(node, tf.int32), _seed(node))
