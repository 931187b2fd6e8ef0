"""Weights in int8 and LoRA; the losses are Keras'."""
import numpy as np
import pytest

from tandemflow import keras

IDS = np.random.RandomState(1).randint(0, 20, (4, 6))


def drawn(shape, seed):
    return np.random.RandomState(seed).rand(*shape) - 0.5


def small_model():
    ids = keras.Input((6,), dtype="int32")
    x = keras.layers.Embedding(20, 8, name="rows")(ids)
    x = keras.layers.EinsumDense("abc,cd->abd", (6, 5), bias_axes="d", name="einsum")(x)
    x = keras.layers.Dense(7, "relu", name="hidden")(keras.layers.Flatten()(x))
    model = keras.Model(ids, keras.layers.Dense(3, name="out")(x))
    random = np.random.RandomState(0)
    for weight in model.weights:
        weight.assign(random.rand(*weight.shape).astype("float32") - 0.5)
    return model


pytestmark = pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`")


def quantized():
    model = small_model()
    model.quantize("int8")
    return model


def test_a_dense_layer_in_int8_multiplies_rounded_numbers():
    x, kernel = drawn((4, 6), 0).astype("float32"), drawn((6, 3), 1).astype("float32")
    layer = keras.layers.Dense(3, use_bias=False)
    layer.build((None, 6))
    layer.set_weights([kernel])
    layer.quantize("int8")
    rounded = [np.round(v * s) / s for v, s in ((x, 127 / np.abs(x).max(1, keepdims=True)), (kernel, 127 / np.abs(kernel).max(0)))]
    np.testing.assert_allclose(layer(x), rounded[0] @ rounded[1], atol=1e-5)
    assert layer.quantization_mode == "int8" and layer.dtype_policy.name == "int8_from_float32"
    assert [(w.name, w.dtype.name) for w in layer.weights] == [("kernel", "int8"), ("kernel_scale", "float32")]


def test_a_model_in_int8_answers_nearly_the_same_and_survives_a_file(tmp_path):
    model = quantized()
    answers = model.predict(IDS, verbose=0)
    np.testing.assert_allclose(answers, small_model().predict(IDS, verbose=0), atol=0.05)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(IDS, verbose=0), answers)
    assert tuple(again.get_layer("einsum").kernel_scale.shape) == (1, 1, 5)  # as the output lies


def test_lora_over_int8_learns_as_in_keras(tmp_path):
    model = quantized()
    for name, rank, alpha in (("hidden", 2, None), ("einsum", 2, 4), ("rows", 3, None)):
        model.get_layer(name).enable_lora(rank, lora_alpha=alpha)
    for layer, weight in (("hidden", "kernel"), ("einsum", "kernel"), ("rows", "embeddings")):
        for letter in "ab":
            matrix = getattr(model.get_layer(layer), f"lora_{weight}_{letter}")
            matrix.assign(drawn(matrix.shape, 5))
    assert len(model.trainable_weights) == 9
    model.compile(keras.optimizers.SGD(0.1), "mse")
    history = model.fit(IDS, np.ones((4, 3)), epochs=3, verbose=0, shuffle=False).history
    np.testing.assert_allclose(history["loss"], [1.7699, 1.4382, 1.1883], atol=1e-4)
    model.save(tmp_path / "model.keras")  # the sum is rounded once more
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(IDS, verbose=0), model.predict(IDS, verbose=0), atol=0.05)


def test_lora_changes_nothing_at_first_and_freezes_the_weight(tmp_path):
    model = small_model()
    before = model(IDS)
    hidden = model.get_layer("hidden")
    hidden.enable_lora(2)
    np.testing.assert_allclose(model(IDS), before, atol=1e-6)
    assert [w.path for w in hidden.trainable_weights] == ["hidden/bias", "hidden/lora_kernel_a", "hidden/lora_kernel_b"]
    hidden.lora_kernel_b.assign(drawn((2, 7), 3))
    np.testing.assert_allclose(hidden.kernel - hidden._kernel, hidden.lora_kernel_a @ hidden.lora_kernel_b, atol=1e-6)
    model.save_weights(tmp_path / "model.weights.h5")
    plain = small_model()
    plain.load_weights(tmp_path / "model.weights.h5")  # the sum is inside the weight
    np.testing.assert_allclose(plain(IDS), model(IDS), atol=1e-5)


def test_only_layers_that_a_filter_names_are_quantized():
    model = small_model()
    model.quantize("int8", filters="hidden|rows")
    assert [layer.name for layer in model.layers if layer.quantization_mode] == ["rows", "hidden"]


def test_weights_alone_are_rounded_where_activations_have_no_quantizer():
    layer = keras.layers.Dense(3, use_bias=False)
    x, kernel = drawn((4, 6), 0).astype("float32"), drawn((6, 3), 1).astype("float32")
    layer.build((None, 6))
    layer.set_weights([kernel])
    layer.quantize(config=keras.quantizers.Int8QuantizationConfig(activation_quantizer=None))
    scale = 127 / np.abs(kernel).max(0)
    np.testing.assert_allclose(layer(x), x @ (np.round(kernel * scale) / scale), atol=1e-5)


@pytest.mark.parametrize(
    "change, kind, words",
    [
        (lambda d: d.quantize("int7"), ValueError, "Invalid quantization mode"),
        (lambda d: d.quantize("int4"), NotImplementedError, "'int8' is"),
        (lambda d: (d.quantize("int8"), d.quantize("int8")), ValueError, "already quantized"),
        (lambda d: (d.enable_lora(1), d.enable_lora(1)), ValueError, "already enabled"),
        (lambda d: keras.layers.Dense(2).enable_lora(1), ValueError, "isn't yet built"),
        (lambda d: keras.layers.Dense(2).quantize("int8"), ValueError, "isn't yet built"),
    ],
)
def test_what_cannot_be_adapted_is_refused(change, kind, words):
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    with pytest.raises(kind, match=words):
        change(layer)


def test_variables_can_be_frozen_one_by_one():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    layer.kernel.trainable = False
    assert [w.name for w in layer.trainable_weights] == ["bias"] and layer.kernel.trainable is False
