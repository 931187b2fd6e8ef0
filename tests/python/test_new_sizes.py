"""Kernels hold no sizes: once a model has run with one batch, no other batch lets the OpenCL driver compile anything. Each model runs in
a process of its own, with empty caches, and begins with one row or with several (ADR 0211)."""

import pytest
from test_config import POCL, run

MODELS = {
    "dense": """
model = keras.Sequential([keras.Input((20,)), layers.Dense(64, activation="relu"), layers.Dropout(0.1), layers.Dense(10, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
data = lambda rows: (normal(rows, 20), rng.integers(0, 10, rows))
""",
    "wide": """
model = keras.Sequential([keras.Input((784,)), layers.Dense(256, activation="gelu"), layers.Dense(1)])
model.compile("sgd", "mse")
data = lambda rows: (normal(rows, 784), normal(rows, 1))
""",
    "convolution": """
model = keras.Sequential([keras.Input((12, 12, 3)), layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(24, 3, padding="same"),
                          layers.BatchNormalization(), layers.ReLU(), layers.AveragePooling2D(2), layers.Flatten(), layers.Dense(10)])
model.compile("sgd", "mse")
data = lambda rows: (normal(rows, 12, 12, 3), normal(rows, 10))
""",
    "recurrent": """
model = keras.Sequential([keras.Input((7,)), layers.Embedding(50, 16), layers.LSTM(24, return_sequences=True), layers.GRU(8), layers.Dense(1, activation="sigmoid")])
model.compile("sgd", "binary_crossentropy")
data = lambda rows: (rng.integers(0, 50, (rows, 7)), rng.integers(0, 2, (rows, 1)).astype("f4"))
""",
    "attention": """
x = keras.Input((10, 16))
y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
y = layers.Dense(4)(layers.GlobalAveragePooling1D()(layers.Dense(32, activation="gelu")(y)))
model = keras.Model(x, y)
model.compile("sgd", "mse")
data = lambda rows: (normal(rows, 10, 16), normal(rows, 4))
""",
    "a number for each row": """
class Normalized(layers.Layer):
    def call(self, x):
        centred = x - tf.reduce_mean(x, axis=1, keepdims=True)
        scaled = centred * tf.math.rsqrt(tf.reduce_mean(centred * centred, 1, keepdims=True) + 1e-5)
        return tf.concat([x / tf.sqrt(tf.reduce_sum(x * x, axis=-1, keepdims=True) + 1e-6), scaled, tf.nn.l2_normalize(x, 1)], 1)
x = keras.Input((12,))
y = layers.UnitNormalization()(layers.Dense(16)(Normalized()(x)))
z = layers.Dense(16, activation="tanh")(x)
z = layers.BatchNormalization()(layers.Dense(8, kernel_regularizer="l2", activation="silu")(layers.Concatenate()([y, z, y * z])))
model = keras.Model(x, layers.Dense(1, activation="sigmoid")(layers.PReLU()(z)))
model.compile(keras.optimizers.RMSprop(clipnorm=1.0), "binary_crossentropy", metrics=["accuracy", "AUC"])
data = lambda rows: (normal(rows, 12), rng.integers(0, 2, (rows, 1)).astype("f4"))
""",
    "groups": """
model = keras.Sequential([keras.Input((8, 8, 2)), layers.Conv2DTranspose(4, 3, strides=2, padding="same"), layers.DepthwiseConv2D(3),
                          layers.GroupNormalization(2), layers.GlobalAveragePooling2D(), layers.Dense(2)])
model.compile("nadam", "cosine_similarity")
data = lambda rows: (normal(rows, 8, 8, 2), normal(rows, 2))
""",
    "ops": """
class Ops:
    def train_on_batch(self, x, y):
        x = tf.constant(x)
        for f in (tf.nn.softmax, tf.transpose, lambda x: tf.reduce_sum(x, 0), lambda x: tf.reduce_sum(x, 1), tf.reduce_mean, lambda x: tf.argmax(x, 1), lambda x: x + x[0],
                  lambda x: x * x[:, :1], lambda x: tf.matmul(x, x, transpose_a=True), lambda x: tf.matmul(x, x, transpose_b=True), lambda x: tf.sort(x, 1),
                  lambda x: tf.sort(tf.repeat(x, 500, 1), 1),
                  lambda x: tf.cumsum(x, 0), lambda x: tf.concat([x, x], 0), lambda x: tf.reduce_sum(tf.cast(x, tf.float16), 0)):
            f(x).numpy()
    predict_on_batch = test_on_batch = lambda self, *arrays: None
model = Ops()
data = lambda rows: (normal(rows, 40), None)
""",
}

PROGRAM = """
import pathlib
import numpy as np
keras, layers, rng = tf.keras, tf.keras.layers, np.random.default_rng(0)
normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
compiled = lambda: set(pathlib.Path(os.environ["POCL_CACHE_DIR"]).rglob("*.so"))
with tf.device("/GPU:0"):
    {model}
    def step(rows):
        x, y = data(rows)
        model.train_on_batch(x, y)
        model.test_on_batch(x, y)
        model.predict_on_batch(x)
        tf.test.experimental.sync_devices()
    step({first})
    first = compiled()
    print(len(first) > 3)
    for rows in (33, 1, 32, 2, 3, 7, 31, 64, 100, 127, 128, 256, 257, 1000):
        step(rows)
        print(rows, [f"{{path.parent.parent.name}}/{{path.parent.name}}" for path in compiled() - first])
        first = compiled()
"""


@pytest.mark.parametrize("first", [1, 32])
@pytest.mark.parametrize("name", MODELS)
def test_a_new_batch_size_compiles_nothing(name, first, tmp_path):
    program = "import os\n" + PROGRAM.format(first=first, model=MODELS[name].strip().replace("\n", "\n    "))
    lines = run(program, **POCL, POCL_CACHE_DIR=str(tmp_path), TANDEM_PROGRAM_CACHE="0")
    assert lines[0] == "True"  # the driver's files are where they are looked for
    assert [line for line in lines[1:] if not line.endswith("[]")] == []
    assert len(lines) == 15
