"""Models inside models: what they are called with, give and are made of."""
import numpy as np
import pytest
from tandemflow import keras
from tandemflow.keras import layers


def image(*shape):
    return np.random.default_rng(0).uniform(0, 255, shape).astype("float32")


def test_the_output_of_a_nested_sequence_is_that_of_its_use():
    inner = keras.Sequential([layers.Rescaling(1 / 255), layers.Dense(4)])
    x = keras.Input((3,))
    model = keras.Model(x, layers.Dense(2)(inner(x)))
    parts = keras.Model(model.input, [layer.output for layer in model.layers[1:]])
    values = image(5, 3)
    first, second = parts(values)
    np.testing.assert_allclose(first, inner(values), rtol=1e-6)
    np.testing.assert_allclose(second, model(values), rtol=1e-6)


def test_a_sequence_alone_has_an_input_and_an_output():
    alone = keras.Sequential([keras.Input((3,)), layers.Dense(4, name="hidden"), layers.Dense(1)])
    hidden = keras.Model(alone.input, alone.get_layer("hidden").output)
    assert hidden(image(2, 3)).shape == (2, 4) and keras.Model(alone.input, alone.output)(image(2, 3)).shape == (2, 1)


@pytest.mark.parametrize("network", ["mobilenet_v2", "resnet", "imagenet_utils"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_pictures_are_prepared_inside_a_model(network, dtype):
    prepare = getattr(keras.applications, network).preprocess_input
    x = keras.Input((4, 4, 3), dtype=dtype)
    pictures = image(2, 4, 4, 3).astype(dtype)
    np.testing.assert_allclose(keras.Model(x, prepare(x))(pictures), prepare(pictures.astype("float32")), rtol=1e-5, atol=1e-4)


def test_functional_models_are_numbered_as_in_keras():
    keras.utils.clear_session()

    def next_name():
        x = keras.Input((3,))
        return keras.Model(x, layers.Dense(1)(x)).name

    assert next_name() == "functional"
    keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    assert next_name() == "functional_2"
    grown = keras.Sequential()
    grown.add(keras.Input((3,)))
    assert next_name() == "functional_3"
    grown.add(layers.Dense(2))
    assert next_name() == "functional_5"
    late = keras.Sequential([layers.Dense(2)])
    assert next_name() == "functional_6"
    late(image(1, 3))
    assert next_name() == "functional_8"


def test_functions_in_a_summary_have_the_names_of_keras():
    x = keras.Input((3,))
    lines = []
    keras.Model(x, keras.ops.logical_and(x / 2 - 1, x)).summary(print_fn=lambda line, **kwargs: lines.append(line))
    text = "\n".join(lines)
    assert "(TrueDivide)" in text and "(Subtract)" in text and "(LogicalAnd)" in text
