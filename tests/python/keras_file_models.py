"""Models that real Keras and TandemFlow make alike, for files; tools/keras_files.py writes Keras' ones."""
import numpy as np


def convolutional(keras):
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Rescaling(0.5),
            layers.Conv2D(3, 3, padding="same", activation="relu", kernel_regularizer=keras.regularizers.L2(0.01)),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.DepthwiseConv2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(3, activation="softmax", kernel_constraint=keras.constraints.MaxNorm(2.0)),
        ],
        name="convolutional",
    )


def branched(keras):
    """Shared layers, models inside of models, several inputs and outputs."""
    layers = keras.layers
    shared = layers.Dense(4, activation="tanh", name="shared")
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.LayerNormalization()], name="inner")
    entry = keras.Input((4,), name="entry")
    drawn = keras.Model(entry, [layers.Dense(2, name="deep")(entry), entry], name="drawn")
    left, right = keras.Input((5,), name="left"), keras.Input((5,), name="right")
    a, b = shared(left), shared(right)
    both = layers.Add(name="both")([a, b])
    deep, same = drawn(both)
    again, _ = drawn(a)
    joined = layers.Concatenate(name="joined")([deep, inner(same), again])
    return keras.Model([left, right], [layers.Dense(2, name="first")(joined), layers.Dense(1, name="second")(b)], name="branched")


def recurrent(keras):
    layers = keras.layers
    words = keras.Input((5,), dtype="int32", name="words")
    x = layers.Embedding(7, 4, mask_zero=True)(words)
    x = layers.Bidirectional(layers.GRU(2, return_sequences=True))(x)
    x = layers.LSTM(3, return_sequences=True)(x)
    x = layers.TimeDistributed(layers.Dense(2))(x)
    return keras.Model(words, layers.SimpleRNN(2)(x), name="recurrent")


def attentive(keras):
    layers = keras.layers
    entry = keras.Input((4, 6), name="entry")
    x = layers.MultiHeadAttention(2, 3, name="attention")(entry, entry)
    x = layers.LayerNormalization()(layers.Add()([entry, x]))
    x = layers.GroupNormalization(2)(x)
    x = layers.PReLU(shared_axes=[1])(layers.EinsumDense("abc,cd->abd", output_shape=(4, 5), bias_axes="d")(x))
    return keras.Model(entry, layers.GlobalAveragePooling1D()(x), name="attentive")


def functions(keras):
    """Functions of keras.ops and Python's operators as parts of a model."""
    layers, ops = keras.layers, keras.ops
    entry, scale = keras.Input((4, 6), name="entry"), keras.Input((1,), name="scale")
    x = entry * 2.0 + 1.0 - entry[:, :, ::-1] / 4.0
    x = ops.concatenate([x, -entry, ops.abs(entry)], axis=-1)
    x = ops.reshape(x, (-1, 8, 9)) @ ops.transpose(ops.ones((6, 9)))
    x = ops.where(x > 0.5, ops.maximum(x, 0.75), ops.exp(ops.minimum(x, 0.0)))
    x = layers.Dense(3)(x) + ops.mean(x, axis=-1, keepdims=True)
    x = ops.softmax(ops.relu(x), axis=1) ** 2.0
    pooled = ops.sum(ops.max(x, axis=1), axis=-1, keepdims=True)
    joined = ops.stack([pooled, ops.expand_dims(scale[:, 0], 1) * 0.5], axis=1)
    return keras.Model({"a": entry, "b": scale}, {"y": layers.Flatten()(joined), "z": ops.squeeze(pooled, -1)}, name="functions")


def compiled(name, keras):
    """The model of a name, compiled and with data: (model, x, y)."""
    keras.utils.set_random_seed(3)
    random = np.random.RandomState(5)
    model = globals()[name](keras)
    optimizers = keras.optimizers
    if name == "convolutional":
        schedule = optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
        model.compile(optimizers.SGD(schedule, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy", metrics=["accuracy"])
        return model, random.rand(8, 6, 6, 2).astype("float32"), random.randint(0, 3, 8)
    if name == "branched":
        model.compile(optimizers.Adam(0.01, amsgrad=True), {"first": keras.losses.MeanSquaredError(), "second": "mae"},
                      loss_weights={"first": 1.0, "second": 0.5},
                      metrics={"first": ["mse"], "second": [keras.metrics.MeanAbsoluteError(name="off")]})  # fmt: skip
        x = [random.rand(8, 5).astype("float32"), random.rand(8, 5).astype("float32")]
        return model, x, {"first": random.rand(8, 2), "second": random.rand(8, 1)}
    if name == "recurrent":
        model.compile(optimizers.RMSprop(0.01, rho=0.8), keras.losses.Huber(delta=0.5))
        words = random.randint(1, 7, (8, 5))
        words[:, 3:] *= random.randint(0, 2, (8, 1))
        return model, words.astype("int32"), random.rand(8, 2)
    if name == "functions":
        model.compile(optimizers.Lion(0.01), {"y": "mse", "z": "mae"})
        x = {"a": random.rand(8, 4, 6).astype("float32"), "b": random.rand(8, 1).astype("float32")}
        return model, x, {"y": random.rand(8, 2), "z": random.rand(8)}
    model.compile(optimizers.AdamW(0.01, weight_decay=0.02, global_clipnorm=1.0), "mse")
    return model, random.rand(8, 4, 6).astype("float32"), random.rand(8, 5)


NAMES = ("convolutional", "branched", "recurrent", "attentive", "functions")
