"""Models that real Keras and ours train alike: each is a function of the keras module. See tools/keras_training_reference.py."""
import numpy as np


def _rows(seed, *shape):
    return np.random.RandomState(seed).rand(*shape).astype("float32")


def classifier(keras):
    model = keras.Sequential([
        keras.layers.Input((20,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(5, activation="softmax"),
    ])  # fmt: skip
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    x = _rows(1, 70, 20)
    y = (x @ _rows(2, 20, 5)).argmax(-1)
    return model, dict(x=x, y=y, batch_size=16, epochs=3)


def convolutions(keras):
    model = keras.Sequential([
        keras.layers.Input((12, 12, 2)),
        keras.layers.Conv2D(4, 3, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-3)),
        keras.layers.BatchNormalization(),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(6, 3, strides=2, padding="same", activation="gelu"),
        keras.layers.Flatten(),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(3),
    ])  # fmt: skip
    model.compile(
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipnorm=1.0),
        loss=keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
        metrics=["accuracy", keras.metrics.TopKCategoricalAccuracy(2)],
    )
    x = _rows(3, 48, 12, 12, 2)
    y = np.eye(3, dtype="float32")[np.random.RandomState(4).randint(0, 3, 48)]
    return model, dict(x=x, y=y, batch_size=20, epochs=2, validation_split=0.25)


def two_towers(keras):
    a = keras.Input((6,), name="left")
    b = keras.Input((4,), name="right")
    shared = keras.layers.Dense(8, activation="tanh", name="shared")
    left = shared(keras.layers.Dense(5, name="left_in")(a))
    right = shared(keras.layers.Dense(5, name="right_in")(b))
    joined = keras.layers.Concatenate()([left, keras.layers.Multiply()([left, right])])
    score = keras.layers.Dense(1, activation="sigmoid", name="score")(joined)
    rating = keras.layers.Dense(2, name="rating")(joined)
    model = keras.Model([a, b], {"score": score, "rating": rating})
    model.compile(
        optimizer=keras.optimizers.RMSprop(keras.optimizers.schedules.ExponentialDecay(0.01, 4, 0.5)),
        loss={"score": "binary_crossentropy", "rating": "mse"},
        loss_weights={"score": 1.0, "rating": 0.3},
        metrics={"score": ["accuracy", "auc"], "rating": ["mae"]},
    )
    x = [_rows(5, 40, 6), _rows(6, 40, 4)]
    y = {"score": (_rows(7, 40, 1) > 0.5).astype("float32"), "rating": _rows(8, 40, 2)}
    return model, dict(x=x, y=y, batch_size=10, epochs=2)


def sequences(keras):
    model = keras.Sequential([
        keras.layers.Input((7,), dtype="int32"),
        keras.layers.Embedding(11, 6, mask_zero=True),
        keras.layers.Bidirectional(keras.layers.LSTM(5, return_sequences=True)),
        keras.layers.GRU(4),
        keras.layers.Dense(1),
    ])  # fmt: skip
    # No Adam here: TensorFlow's Keras squares the gradient of an embedding row once for each time it is used.
    model.compile(optimizer=keras.optimizers.SGD(0.1, weight_decay=0.02), loss="mae", weighted_metrics=["mse"])
    x = np.random.RandomState(9).randint(1, 11, (24, 7)).astype("int32")
    for i, row in enumerate(x):
        row[3 + i % 5 :] = 0
    return model, dict(x=x, y=_rows(10, 24, 1), sample_weight=_rows(11, 24), batch_size=8, epochs=2)


MODELS = [classifier, convolutions, two_towers, sequences]


def initial_weights(model):
    """The same for everybody: by the shapes, not by a random generator of either side."""
    out = []
    for i, weight in enumerate(model.get_weights()):
        value = np.random.RandomState(100 + i).standard_normal(weight.shape).astype(weight.dtype) * 0.3
        out.append(np.abs(value) + 0.5 if np.all(weight == 1) and weight.ndim == 1 else value)
    return out


def train(keras, make):
    """History and weights after a short training."""
    model, data = make(keras)
    model.set_weights(initial_weights(model))
    history = model.fit(**data, shuffle=False, verbose=0).history
    arrays = {f"history/{name}": np.array(values) for name, values in history.items()}
    arrays.update({f"weights/{i}": value for i, value in enumerate(model.get_weights())})
    outputs = model.predict(data["x"], verbose=0, batch_size=16)
    for name, value in (outputs.items() if isinstance(outputs, dict) else [("output", outputs)]):
        arrays[f"predict/{name}"] = value
    return arrays
