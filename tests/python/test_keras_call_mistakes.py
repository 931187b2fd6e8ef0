"""Calls of layers that cannot be right end in Keras' words, not somewhere inside."""
import numpy as np
import pytest
from tandemflow import keras
from tandemflow.keras import layers


@pytest.mark.parametrize("args, said", [(("a",), "a (of type <class 'str'>)"), ((np.ones((2, 3)), 3), "3 (of type <class 'int'>)"), ((np.ones((2, 3)), True), "True (of type <class 'bool'>)")])
def test_numbers_and_strings_are_given_to_layers_by_name(args, said):
    with pytest.raises(ValueError, match="Only input tensors may be passed as positional arguments. The following argument value should be passed as a keyword argument: ") as error:
        layers.Dropout(0.5)(*args)
    assert said in str(error.value)


def test_layers_of_words_and_models_take_strings():
    assert int(layers.StringLookup(vocabulary=["a"])("a")) == 1
    model = keras.Sequential([layers.StringLookup(vocabulary=["a", "b"])])
    np.testing.assert_array_equal(model(np.array(["b", "?"])), [2, 0])


@pytest.mark.parametrize("x", [np.ones((2, 3, 4), "float32"), keras.Input((3, 4))], ids=["values", "drawn"])
def test_a_missing_argument_of_a_call_is_named(x):
    with pytest.raises(TypeError, match="missing a required argument: 'value'"):
        layers.MultiHeadAttention(2, 2)(x)


@pytest.mark.parametrize(
    "layer, shape, said",
    [
        (layers.Conv2D(5, 3), (2, 2, 1), "`inputs shape=(None, 2, 2, 1)`, `kernel shape=(3, 3, 1, 5)`, `dilation_rate=[1 1]`, `strides=[1 1]`, `padding=valid`."),
        (layers.DepthwiseConv1D(3, dilation_rate=2), (4, 6), "`inputs shape=(None, 4, 6)`, `kernel shape=(3, 6, 6)`, `dilation_rate=[2]`, `strides=[1]`, `padding=valid`."),
        (layers.SeparableConv2D(4, 3, data_format="channels_first"), (3, None, 2), "`inputs shape=(None, 3, None, 2)`, `kernel shape=(3, 3, 3, 4)`"),
        (layers.MaxPooling2D(3), (4, 2, 1), "`inputs.shape=[None 4 2 1]`, `pool_size=[3 3]`, `strides=(3, 3)`, `padding=valid`."),
    ],
)  # fmt: skip
def test_a_window_larger_than_what_it_moves_over_is_refused_when_a_model_is_drawn(layer, shape, said):
    with pytest.raises(ValueError, match="Computed output size would be zero or negative. Received") as error:
        layer(keras.Input(shape))
    assert said in str(error.value)


def test_windows_that_fit_or_are_padded_are_drawn():
    assert layers.Conv2D(5, 3)(keras.Input((3, None, 1))).shape == (None, 1, None, 5)
    assert layers.Conv2D(5, 3, padding="same")(keras.Input((2, 2, 1))).shape == (None, 2, 2, 5)
    assert layers.Conv2DTranspose(5, 3)(keras.Input((1, 1, 1))).shape == (None, 3, 3, 5)
    assert layers.AveragePooling1D(3, padding="same")(keras.Input((2, 1))).shape == (None, 1, 1)


@pytest.mark.parametrize("metrics", [["mae", "mse"], [["mae"], ["mse"]], {"any": ["mae", "mse"]}, ("mae", ["mse"])])
def test_all_metrics_are_for_the_one_output_whatever_holds_them(metrics):
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=metrics)
    assert list(model.fit(np.ones((4, 2)), np.ones((4, 1)), verbose=0).history) == ["loss", "mae", "mse"]


@pytest.mark.parametrize("name", ["metrics", "weighted_metrics"])
def test_one_metric_alone_is_no_list_of_metrics(name):
    with pytest.raises(ValueError, match=f"Expected `{name}` argument to be a list, tuple, or dict. Received instead: {name}=mae of type <class 'str'>"):
        keras.Sequential([keras.Input((2,)), layers.Dense(1)]).compile("sgd", "mse", **{name: "mae"})


@pytest.mark.parametrize(
    "made, shape, said",
    [(lambda: layers.LSTM(2, name="a"), (3,), "expected ndim=3, found ndim=2. Full shape received: (None, 3)"), (lambda: layers.Dense(2, name="a"), (), "expected min_ndim=2, found ndim=1. Full shape received: (None,)")],
)  # fmt: skip
def test_the_rank_is_checked_before_a_layer_is_built(made, shape, said):
    with pytest.raises(ValueError, match="of layer 'a' is incompatible with the layer") as error:
        made()(keras.Input(shape))
    assert said in str(error.value)


def test_names_of_policies_are_refused_in_keras_words():
    with pytest.raises(ValueError, match="Cannot convert 'mixed_float8' to a mixed precision DTypePolicy. Valid policies include .*Did you mean 'mixed_float16'"):
        keras.DTypePolicy("mixed_float8")
    with pytest.raises(TypeError, match="'name' must be a string, such as 'mixed_float16'. Received: name=3"):
        keras.DTypePolicy(3)
