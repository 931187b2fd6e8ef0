"""Layers that compute in 16 bits and keep their variables in 32."""
import numpy as np
import pytest

import tandemflow as tf

keras = tf.keras


@pytest.fixture(params=["mixed_bfloat16", "mixed_float16"])
def policy(request):
    keras.mixed_precision.set_global_policy(request.param)
    yield keras.mixed_precision.global_policy()
    keras.mixed_precision.set_global_policy(None)


def test_layers_compute_in_half_and_learn(policy):
    keras.utils.set_random_seed(0)
    x = np.random.RandomState(0).randn(256, 8).astype("float32")
    y = (x[:, 0] > 0).astype("int32")
    model = keras.Sequential([
        keras.Input((8,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(2, activation="softmax", dtype="float32"),
    ])  # fmt: skip
    hidden, normal, last = model.layers
    assert hidden.compute_dtype == policy.compute_dtype and hidden.kernel.dtype == tf.float32
    assert hidden(x).dtype.name == policy.compute_dtype and last.compute_dtype == "float32"
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
    is_scaled = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert is_scaled == (policy.name == "mixed_float16")
    history = model.fit(x, y, epochs=10, verbose=0).history
    assert history["accuracy"][-1] > 0.95
    assert all(v.dtype == tf.float32 for v in model.weights) and model.predict(x, verbose=0).dtype == np.float32


def test_moving_averages_are_kept_in_full_precision(policy):
    layer = keras.layers.BatchNormalization()
    layer(np.full((4, 2), 3.0, "float32"), training=True)
    np.testing.assert_allclose(layer.moving_mean.numpy(), [0.03, 0.03], rtol=1e-5)


def test_the_default_float_dtype_reaches_layers_after_a_policy_was_put_back():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    keras.config.set_dtype_policy(before)
    keras.config.set_floatx("float64")
    try:
        assert keras.layers.Dense(1).compute_dtype == "float64"
    finally:
        keras.config.set_floatx("float32")
    assert keras.layers.Dense(1).compute_dtype == "float32"
