"""What a type checker makes of the package: tests/python/test_types.py compares it with the comments."""
import numpy as np

import tandemflow as tf
from tandemflow.keras import layers

x = tf.constant([[1.0, 2.0]])
w = tf.Variable(np.ones((2, 2)))
reveal_type(x)  # note: "tandemflow._tandem.Tensor"
reveal_type(x + 1)  # note: "tandemflow._tandem.Tensor"
reveal_type(np.ones(2).tolist() - x)  # note: "tandemflow._tandem.Tensor"
reveal_type(x @ w)  # note: "tandemflow._tandem.Tensor"
reveal_type(x[0, ..., tf.newaxis])  # note: "tandemflow._tandem.Tensor"
reveal_type(x > 0)  # note: "tandemflow._tandem.Tensor"
reveal_type(x.shape)  # note: "tandemflow._shape.TensorShape"
reveal_type(x.dtype)  # note: "tandemflow._dtypes.DType"
reveal_type(tf.float32)  # note: "tandemflow._dtypes.DType"
reveal_type(tf.matmul(x, w, transpose_b=True))  # note: "tandemflow._tandem.Tensor"
reveal_type(tf.reduce_mean(x, axis=[0, 1], keepdims=True))  # note: "tandemflow._tandem.Tensor"
reveal_type(tf.nn.relu(x))  # note: "tandemflow._tandem.Tensor"
reveal_type(tf.reshape(x, [-1]))  # note: "tandemflow._tandem.Tensor"
reveal_type(tf.linalg.norm(x))  # note: "tandemflow._tandem.Tensor"
reveal_type(w.assign_add(w).value())  # note: "Any"
reveal_type(layers.Dense(3))  # note: "tandemflow.keras.layers.dense.Dense"
reveal_type(tf.keras.Sequential([]))  # note: "tandemflow.keras._engine.sequential.Sequential"
for row in x:
    reveal_type(row)  # note: "tandemflow._tandem.Tensor"

tf.constnat([1])  # error: has no attribute "constnat"
tf.exp(x, base=3)  # error: Unexpected keyword argument "base"
tf.matmul(x)  # error: Missing positional argument "b"
tf.cast(x, 3)  # error: has incompatible type "int"
tf.matmul(x, w, transpose_a="yes")  # error: has incompatible type "str"
layers.Dnse(3)  # error: has no attribute "Dnse"
tf.keras.optimisers  # error: has no attribute "optimisers"
x.nmpy()  # error: has no attribute "nmpy"
