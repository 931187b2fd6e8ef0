"""How Keras orders, names and configures what programs read back; the answers are Keras'."""
import copy
import json
import pickle

import numpy as np
import pytest

import tandemflow as tf
from tandemflow import keras
from tandemflow.keras import layers, ops

X = np.random.RandomState(0).rand(16, 4).astype("float32")


def two_outputs():
    inputs = keras.Input((4,))
    hidden = layers.Dense(3)(inputs)
    return keras.Model(inputs, [layers.Dense(1, name="main")(hidden), layers.Dense(1, name="aux")(hidden)])


def test_evaluate_lists_metrics_in_the_order_of_compile():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(5, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(5, name="all")])
    y = np.zeros(16, "int32")
    listed, named = model.evaluate(X, y, verbose=0), model.evaluate(X, y, verbose=0, return_dict=True)
    assert listed == [named["loss"], named["accuracy"], named["all"]] and listed[2] == 1
    assert model.metrics_names == ["loss", "compile_metrics"]


def test_the_metrics_of_several_outputs_are_listed_after_the_losses_by_name():
    model = two_outputs()
    model.compile("sgd", ["mse", "mae"], metrics=["RootMeanSquaredError", "mae"])
    y = (X[:, :1], X[:, 1:2])
    named = model.evaluate(X, y, verbose=0, return_dict=True)
    order = ["loss", "main_loss", "aux_loss", "aux_mae", "main_RootMeanSquaredError"]
    assert model.evaluate(X, y, verbose=0) == [named[name] for name in order]


def test_a_metric_that_is_there_weighted_too_says_so():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"], weighted_metrics=["mae"])
    history = model.fit(X, X[:, :1], sample_weight=np.linspace(0, 1, 16), verbose=0).history
    assert sorted(history) == ["loss", "mae", "weighted_mae"]


def test_targets_may_be_given_for_the_outputs_that_have_a_loss():
    model = two_outputs()
    model.compile("sgd", ["mse", None])
    assert list(model.fit(X, X[:, :1], verbose=0).history) == ["loss"]


def test_evaluate_shows_the_loss_that_a_model_computes_itself():
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return ops.mean(ops.square(y - y_pred)) + 3.0

    model = Model()
    model.compile("sgd")
    assert model.evaluate(X, X[:, :1], verbose=0) > 3


def test_a_model_inside_keeps_its_metrics_to_itself():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    inner.compile("sgd", "mse", metrics=["mae"])
    outer = keras.Sequential([keras.Input((4,)), inner, layers.Dense(1)])
    outer.compile("sgd", "mse")
    assert list(outer.fit(X, X[:, :1], verbose=0).history) == ["loss"]


def test_layers_know_their_metrics():
    class Counting(layers.Layer):
        def __init__(self):
            super().__init__()
            self.seen = keras.metrics.Sum(name="seen")

        def call(self, x):
            return x

    layer = Counting()
    assert layer.metrics == [layer.seen] and len(layer.metrics_variables) == 1


@pytest.mark.parametrize("layer", [layers.Dense(2, activity_regularizer="l2"), layers.LSTM(3), layers.MultiHeadAttention(2, 3), layers.Conv2D(2, 3)])
def test_the_configuration_of_a_layer_is_json(layer):
    again = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == json.loads(json.dumps(layer.get_config())) or again.get_config() == layer.get_config()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_models_are_copied_with_weights_and_optimizer(copied):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, "relu"), layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(X, X[:, :1], verbose=0)
    again = copied(model)
    np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
    assert int(again.optimizer.iterations) == 1


def test_output_shapes_are_asked_for_with_a_shape_for_each_argument():
    layer = layers.MultiHeadAttention(2, 3)
    assert tuple(layer.compute_output_shape(query_shape=(2, 5, 8), value_shape=(2, 7, 4))) == (2, 5, 8)
    assert tuple(layers.MultiHeadAttention(2, 3).compute_output_shape((2, 5, 8), (2, 7, 4))) == (2, 5, 8)


def test_a_scope_of_no_custom_objects_is_one():
    with keras.saving.custom_object_scope(None):
        assert keras.saving.get_registered_object("nothing") is None


@pytest.mark.parametrize("endless", [True, False])
def test_an_epoch_of_some_steps_goes_on_where_the_last_one_stopped(endless):
    rows = tf.data.Dataset.from_tensor_slices((np.arange(4.0)[:, None], np.zeros((4, 1)))).batch(1)
    model = keras.Sequential([keras.Input((1,)), layers.Dense(1, use_bias=False)])
    model.set_weights([np.ones((1, 1))])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    losses = model.fit(rows.repeat() if endless else rows, steps_per_epoch=2, epochs=3, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, [0.5, 6.5, 0.5])  # batches 0 and 1, 2 and 3, and again


def test_data_that_run_out_within_an_epoch_begin_again_with_the_next():
    rows = tf.data.Dataset.from_tensor_slices((np.arange(3.0)[:, None], np.zeros((3, 1)))).batch(1)
    model = keras.Sequential([keras.Input((1,)), layers.Dense(1, use_bias=False)])
    model.set_weights([np.ones((1, 1))])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    with pytest.warns(UserWarning, match="ran out of data"):
        losses = model.fit(rows, steps_per_epoch=2, epochs=3, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, [0.5, 4, 0.5])


def test_weights_that_are_not_there_are_a_file_not_found(tmp_path):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(1)])
    with pytest.raises(FileNotFoundError, match="File not found"):
        model.load_weights(tmp_path / "none.weights.h5")


def test_the_state_of_a_model_is_a_tree_of_names_and_goes_back():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="last")], name="net")
    model.compile("adam", "mse", metrics=["mae"])
    x = np.ones((4, 2), "float32")
    model.fit(x, x[:, :1], verbose=0)
    tree = model.get_state_tree(value_format="numpy_array")
    assert sorted(tree) == ["metrics_variables", "non_trainable_variables", "optimizer_variables", "trainable_variables"]
    assert sorted(tree["trainable_variables"]["net"]["last"]) == ["bias", "kernel"]
    assert sorted(tree["metrics_variables"]["loss"]) == ["count", "total"] and tree["optimizer_variables"][model.optimizer.name]["iteration"] == 1
    before = model.get_weights()
    model.fit(x, x[:, :1], verbose=0)
    model.set_state_tree(tree)
    for a, b in zip(before, model.get_weights()):
        np.testing.assert_array_equal(a, b)
    assert int(model.optimizer.iterations) == 1
    with pytest.raises(ValueError, match="Unknown variable name: nonsense"):
        model.set_state_tree({"nonsense": {}})
