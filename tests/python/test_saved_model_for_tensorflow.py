"""What tf.saved_model.save writes for TensorFlow: read back here without the file of our own beside it."""
import logging
import os

import numpy as np
import pytest
import tandemflow as tf


def loaded_as_tensorflow_would(directory):
    os.remove(os.path.join(directory, "saved_model.tandem"))
    return tf.saved_model.load(directory)


class Parts(tf.Module):
    def __init__(self):
        super().__init__()
        self.weights = tf.Variable(tf.ones([4, 2]), name="weights")
        self.calls = tf.Variable(0, trainable=False)
        self.listed = [tf.Variable(1.0), {"k": tf.Variable(2.0)}]

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="zz"), tf.TensorSpec([None], tf.int32, name="aa")])
    def both(self, x, ids):
        self.calls.assign_add(1)
        h = tf.nn.softmax(x @ self.weights, axis=0) + tf.one_hot(ids, 2)
        return {"wide": tf.concat([h, tf.reverse(h, [1])], 1)[:, ::-1], "best": tf.argmax(h, 1), "fewer": tf.reshape(tf.tile(h, [1, 2]), [-1, 2, 2])[:-1, 0]}

    @tf.function
    def scaled(self, x, factor=2.0):
        return x * self.listed[0] * factor, [self.listed[1]["k"] + x]


def test_functions_variables_and_structures_come_back(tmp_path):
    parts = Parts()
    x, ids = tf.reshape(tf.range(12.0), [3, 4]), tf.constant([0, 1, 0])
    expected = parts.both(x, ids)
    parts.scaled(tf.constant(3.0)), parts.scaled(tf.constant([1.0, 2.0]), factor=5.0)
    tf.saved_model.save(parts, tmp_path / "m")
    loaded = loaded_as_tensorflow_would(tmp_path / "m")
    for found in (loaded.both(x, ids), loaded.signatures["serving_default"](zz=x, aa=ids)):
        assert sorted(found) == sorted(expected)
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)
    assert loaded.calls.numpy() == 3 and not loaded.calls.trainable and loaded.weights.name == "weights:0"
    assert loaded.scaled(tf.constant(3.0))[0].numpy() == 6 and loaded.scaled(tf.constant([1.0, 2.0]), factor=5.0)[1][0].numpy().tolist() == [3.0, 4.0]
    assert loaded.both(tf.ones([7, 4]), tf.zeros([7], tf.int32))["wide"].shape == (7, 4)  # any size where it was left open
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded.scaled(tf.constant(3.0))[0])
    assert tape.gradient(loss, loaded.listed[0]).numpy() == 6


def test_keras_models_come_back(tmp_path):
    layers = tf.keras.layers
    inputs = tf.keras.Input((6, 8))
    attended = layers.LayerNormalization()(layers.MultiHeadAttention(2, 4)(inputs, inputs) + inputs)
    flat = layers.GlobalAveragePooling1D()(attended)
    pictures = layers.Conv2DTranspose(1, 3, 2, padding="same")(layers.AveragePooling2D(2)(layers.Conv2D(3, 3, activation="relu")(layers.Reshape((6, 8, 1))(inputs))))
    outputs = layers.Dense(2, activation="gelu")(layers.Concatenate()([flat, layers.Flatten()(layers.BatchNormalization()(pictures))]))
    model = tf.keras.Model(inputs, outputs)
    x = np.random.default_rng(0).random((3, 6, 8), np.float32)
    tf.saved_model.save(model, tmp_path / "m")
    found = loaded_as_tensorflow_would(tmp_path / "m").signatures["serving_default"](tf.constant(x))
    np.testing.assert_allclose(list(found.values())[0], model(x), rtol=1e-5, atol=1e-6)


def test_gradients_of_softmaxes_come_back(tmp_path):
    module = tf.Module()

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.nn.softmax(x) ** 2) + tf.reduce_sum(tf.nn.log_softmax(x, 0) ** 2)
        return tape.gradient(y, x)

    module.slopes, x = slopes, tf.constant([[1.0, -2.0, 0.5], [0.0, 3.0, 2.0]])
    tf.saved_model.save(module, tmp_path)
    np.testing.assert_allclose(loaded_as_tensorflow_would(tmp_path).slopes(x), slopes(x), rtol=1e-5)


def test_what_tensorflow_has_no_op_for_is_kept_for_us_and_said(tmp_path, caplog):
    class Sum(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
        def up_to(self, n):
            total = 0
            for i in tf.range(n):
                total += i
            return total

    tf.saved_model.save(Parts(), tmp_path)
    assert (tmp_path / "saved_model.pb").exists()
    logger = tf.get_logger()
    logger.addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.WARNING):
            tf.saved_model.save(Sum(), tmp_path)
    finally:
        logger.removeHandler(caplog.handler)
    assert "while_loop" in caplog.text and not (tmp_path / "saved_model.pb").exists()
    assert tf.saved_model.load(tmp_path).up_to(tf.constant(5)).numpy() == 10


@pytest.mark.parametrize("body", [lambda x: x[: tf.shape(x)[0] // 2], lambda x: tf.ones_like(x)[:, :1] * 3.0])
def test_open_sizes_are_right_or_refused(tmp_path, body):
    module = tf.Module()
    module.f = tf.function(body, input_signature=[tf.TensorSpec([None, 4], tf.float32)])
    try:
        tf.saved_model.save(module, tmp_path)
    except ValueError:
        return  # our own file has it not either
    if (tmp_path / "saved_model.pb").exists():
        x = tf.ones([10, 4])
        np.testing.assert_array_equal(loaded_as_tensorflow_would(tmp_path).f(x), body(x))
