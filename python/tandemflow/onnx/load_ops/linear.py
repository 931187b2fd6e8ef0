"""Products of matrices."""
import tandemflow as tf

from ..support import as_tensor, op


@op("MatMul")
def matmul(node, a, b):
    a, b = as_tensor(a), as_tensor(b)
    left, right = len(a.shape) == 1, len(b.shape) == 1
    product = tf.matmul(tf.expand_dims(a, 0) if left else a, tf.expand_dims(b, -1) if right else b)
    if right:
        product = tf.squeeze(product, [-1])
    return tf.squeeze(product, [-1 if right else -2]) if left else product


@op("Gemm")
def gemm(node, a, b, c=None):
    a, b = as_tensor(a), as_tensor(b)
    product = tf.matmul(a, b, transpose_a=bool(node.get("transA", 0)), transpose_b=bool(node.get("transB", 0)))
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    if alpha != 1:
        product = product * alpha
    if c is None:
        return product
    c = as_tensor(c)
    return product + (c if beta == 1 else c * beta)


@op("MatMulInteger")
def matmul_integer(node, a, b, a_zero=None, b_zero=None):
    a, b = (tf.cast(as_tensor(x), tf.int32) for x in (a, b))
    if a_zero is not None:
        zero = tf.cast(as_tensor(a_zero), tf.int32)
        a = a - (tf.expand_dims(zero, -1) if len(zero.shape) == 1 and zero.shape[0] > 1 else zero)
    if b_zero is not None:
        b = b - tf.cast(as_tensor(b_zero), tf.int32)
    return tf.matmul(a, b)


@op("Det")
def det(node, x):
    return tf.linalg.det(as_tensor(x))
