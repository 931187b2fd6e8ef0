"""What programs written for Keras do with models and layers, beside the tests of each part."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import keras


def test_a_frozen_variable_keeps_its_place_among_the_weights():
    layer = keras.layers.Dense(2)
    layer.build((None, 3))
    layer.kernel.trainable = False
    assert [w.name for w in layer.weights] == ["kernel", "bias"]
    assert [w.name for w in layer.trainable_weights] == ["bias"]
    assert [w.shape for w in layer.get_weights()] == [(3, 2), (2,)]


def test_variables_of_a_layer_that_is_not_trained_say_so_themselves():
    layer = keras.layers.BatchNormalization(trainable=False)
    layer.build((None, 3))
    assert [v.trainable for v in layer.weights] == [False] * 4
    layer.trainable = True
    assert [v.trainable for v in layer.weights] == [True, True, False, False]
    model = keras.Sequential([keras.Input((3,)), layer])
    model.trainable = False
    assert [v.trainable for v in layer.weights] == [False] * 4


def test_compute_loss_may_be_written_without_an_argument_for_training():
    class Model(keras.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
            return 2 * super().compute_loss(x, y, y_pred, sample_weight)

    inputs = keras.Input((2,))
    outputs = keras.layers.Dense(1, kernel_initializer="ones")(inputs)
    model, plain = Model(inputs, outputs), keras.Model(inputs, outputs)
    x, y = np.ones((4, 2), "float32"), np.zeros((4, 1), "float32")
    for each in (model, plain):
        each.compile("sgd", "mse")
    assert model.evaluate(x, y, verbose=0) == 2 * plain.evaluate(x, y, verbose=0)
    assert model.fit(x, y, verbose=0).history["loss"] == [8.0]


def test_a_subclassed_model_is_built_by_the_call_it_gets_and_not_by_a_float_of_its_shape():
    class Rows(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, name="dense")

        def call(self, indices):
            return self.dense(tf.gather(tf.eye(4), indices))

    model = Rows()
    assert model([1, 3]).shape == (2, 2)
    assert [w.path for w in model.weights] == ["rows/dense/kernel", "rows/dense/bias"]


@keras.saving.register_keras_serializable(package="test_keras_habits")
class Two(keras.Model):
    """A model whose call takes two tensors."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = keras.layers.Dense(2), keras.layers.Dense(2)

    def call(self, a, b=None):
        return self.first(a) if b is None else self.first(a) + self.second(b)


def test_files_of_subclassed_models_hold_what_they_were_called_with(tmp_path):
    x, y = np.ones((2, 3), "float32"), np.ones((2, 4), "float32")
    for arguments in ((x,), (x, y)):
        model = Two()
        expected = model(*arguments)
        model.save(tmp_path / "model.keras")
        again = keras.models.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(again(*arguments), expected)


def test_variables_of_layers_show_themselves_as_keras_does():
    layer = keras.layers.Dense(1, kernel_initializer="ones", name="last")
    layer.build((None, 2))
    assert repr(layer.kernel) == "<Variable path=last/kernel, shape=(2, 1), dtype=float32, value=[[1.]\n [1.]]>"
    assert isinstance(layer.kernel.dtype, str) and str(layer.kernel.dtype) == "float32"
    assert layer.kernel.dtype == tf.float32 == layer.kernel.dtype and layer.kernel.dtype.is_floating
    assert np.zeros(2, dtype=layer.kernel.dtype).dtype == np.float32
    assert tf.Variable(1.0).dtype is tf.float32


def test_attention_counts_its_own_dropout_where_layers_are_named():
    keras.backend.clear_session()
    x = keras.Input((3, 4))
    y = keras.layers.MultiHeadAttention(2, 2, dropout=0.1)(x, x)
    assert keras.layers.Dropout(0.1).name == "dropout_1"
    model = keras.Model(x, y)
    model.predict(np.ones((1, 3, 4)), verbose=0)
    assert keras.layers.Dropout(0.1).name == "dropout_2"  # calls make no further ones


def test_losses_of_a_dict_of_outputs_are_listed_in_the_order_of_the_losses():
    x = keras.Input((2,))
    model = keras.Model(x, {"b": keras.layers.Dense(1)(x), "a": keras.layers.Dense(1)(x)})
    model.compile("sgd", {"b": "mse", "a": "mae"}, loss_weights={"b": 1.0, "a": 10.0})
    data = np.ones((2, 2), "float32"), {"a": np.zeros((2, 1)), "b": np.ones((2, 1))}
    values = model.evaluate(*data, verbose=0)
    named = model.evaluate(*data, verbose=0, return_dict=True)
    assert model.metrics_names == ["loss", "b_loss", "a_loss"]
    np.testing.assert_allclose(values, [named["loss"], named["b_loss"], named["a_loss"]])


def test_weights_without_a_name_are_counted():
    keras.backend.clear_session()
    layer = keras.layers.Layer(name="own")
    assert [layer.add_weight((1,)).path for _ in range(2)] == ["own/variable", "own/variable_1"]


def test_a_lookup_without_a_vocabulary_says_that_it_was_not_adapted():
    with pytest.raises(tf.errors.FailedPreconditionError, match="adapt"):
        keras.layers.StringLookup()(["a"])


def test_joining_tensors_of_different_batches_is_refused_by_the_layer():
    with pytest.raises(ValueError, match="matching shapes except for the concatenation axis"):
        keras.layers.Concatenate()([np.ones((2, 3)), np.ones((3, 3))])


def test_fit_refuses_what_is_no_data():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="Unrecognized data type"):
        model.fit("a", verbose=0)
