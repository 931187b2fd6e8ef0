"""Where programs written for Keras 3 got another answer than from Keras on TensorFlow."""
import json

import numpy as np
import pytest

import tandemflow as tf
from tandemflow import keras
from tandemflow.keras import layers, ops
from tandemflow.keras._engine import operation_config


def two_outputs():
    inputs = keras.Input((3,))
    return keras.Model(inputs, [layers.Dense(1, name="a")(inputs), layers.Dense(1, name="b")(inputs)])


def test_the_gradient_of_a_softmax_loss_takes_labels_to_add_up_to_one():
    logits, labels = tf.Variable([[0.5, -0.2, 0.1]]), tf.constant([[1.0, 1.0, 0.0]])
    with tf.GradientTape() as tape:
        loss = keras.losses.CategoricalCrossentropy(from_logits=True)(labels, logits)
    np.testing.assert_allclose(tape.gradient(loss, logits), tf.nn.softmax(logits) - labels, rtol=1e-6)


def test_logs_of_an_own_step_are_ordered_by_what_it_returned():
    class Own(keras.Model):
        def train_step(self, data):
            x, y = data
            y_pred = self(x, training=True)
            for metric in self.metrics:
                metric.update_state(0.0) if metric.name == "loss" else metric.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics}

    inputs = keras.Input((3,))
    model = Own(inputs, layers.Dense(1)(inputs))
    model.compile("sgd", "mse", metrics=["mae"])
    history = model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
    assert list(history.history) == ["mae", "loss"]  # compile_metrics stands before loss
    assert repr(model.metrics[1]) == "<CompileMetrics name=compile_metrics>"


def test_compile_keeps_the_loss_and_the_metrics_that_it_is_not_told_anew():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mae", metrics=["mse"])
    model.compile("adam")
    assert list(model.evaluate(np.ones((4, 3)), np.ones((4, 1)), verbose=0, return_dict=True)) == ["loss", "mse"]


def test_batches_count_alike_in_the_loss_of_one_output():
    model = two_outputs()
    for weight in model.weights:
        weight.assign(tf.zeros_like(weight))
    model.compile(keras.optimizers.SGD(0.0), ["mse", "mse"])
    y = np.array([[0.0], [0.0], [0.0], [2.0]])  # batches of three and of one
    result = model.evaluate(np.ones((4, 3)), [y, y], batch_size=3, verbose=0, return_dict=True)
    assert result["a_loss"] == pytest.approx(2.0) and result["loss"] == pytest.approx(2.0)
    model.compile(keras.optimizers.SGD(0.0), ["mse", "mse"], run_eagerly=True)
    result = model.evaluate(np.ones((4, 3)), [y, y], batch_size=3, verbose=0, return_dict=True)
    assert result["a_loss"] == pytest.approx(1.0)


def test_a_list_of_strings_and_numbers_goes_through_predict_and_fit():
    words, numbers = keras.Input((1,), dtype="string"), keras.Input((1,))
    encoded = layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")(words)
    model = keras.Model([words, numbers], layers.Dense(1)(layers.concatenate([encoded, numbers])))
    x = [tf.constant([["a"], ["b"]]), tf.constant([[1.0], [2.0]])]
    np.testing.assert_allclose(model.predict(x, verbose=0), model(x), rtol=1e-6)
    model.compile("sgd", "mse")
    assert np.isfinite(model.fit(x, np.ones((2, 1)), verbose=0).history["loss"][0])


def test_the_value_of_a_variable_is_read_with_and_without_a_call():
    variable = keras.Variable([1.0, 2.0])
    np.testing.assert_array_equal(variable.value, [1.0, 2.0])
    np.testing.assert_array_equal(variable.value() * 2 + variable.value, [3.0, 6.0])
    np.testing.assert_array_equal(tf.constant([1.0, 1.0]) - variable.value, [0.0, -1.0])
    assert float(keras.Variable(3.0).value) == 3.0 and variable.value.shape == (2,) and variable.value[1] == 2.0

    class Count(keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="count")
            self.seen = self.add_variable(shape=(), initializer="zeros", name="seen")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.seen.assign_add(ops.sum(ops.ones_like(y_pred)))

        def result(self):
            return self.seen.value

    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[Count()])
    assert model.fit(np.ones((6, 3)), np.ones((6, 1)), batch_size=4, verbose=0).history["count"] == [6.0]


def test_masks_that_an_own_layer_makes_go_with_its_output_and_others_warn():
    class Marks(layers.Layer):
        def call(self, x):
            return tf.cast(x, "float32")[..., None]

        def compute_mask(self, x, mask=None):
            return tf.not_equal(x, 0)

    class Forgets(layers.Layer):
        def call(self, x):
            return x * 2

    marked = Marks()(np.array([[1, 0]]))
    np.testing.assert_array_equal(marked._keras_mask, [[True, False]])
    with pytest.warns(UserWarning, match="does not support masking"):
        Forgets()(marked)


def test_masks_are_nodes_of_a_model_as_in_keras():
    words = keras.Input((4,), dtype="int32")
    rows = layers.Embedding(9, 3, mask_zero=True)(words)
    both = layers.Add()([layers.GRU(3, return_sequences=True)(rows), rows])
    model = keras.Model(words, layers.GlobalAveragePooling1D()(both))
    assert [o.name.rstrip("_0123456789") for o in model.operations] == ["input_layer", "embedding", "not_equal", "gru", "add", "logical_or", "global_average_pooling1d"]
    x = np.array([[1, 2, 0, 0]])
    rows, masked = model.layers[1](x), model(x)
    short = model.layers[2](rows[:, :2]) + rows[:, :2]
    np.testing.assert_allclose(masked, ops.mean(short, axis=1), rtol=1e-5)
    again = keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_allclose(again(x), masked, rtol=1e-6)


def test_vocabularies_are_told_in_numpys_types_and_rows_may_be_ragged():
    layer = layers.TextVectorization(vocabulary=["a", "b"], ragged=True)
    assert layer(["a b c", "b"]).to_list() == [[2, 3, 1], [3]]
    assert repr(layer.get_vocabulary()) == "['', '[UNK]', np.str_('a'), np.str_('b')]"
    assert repr(layers.IntegerLookup(vocabulary=[3]).get_vocabulary()) == "[-1, np.int64(3)]"


def test_summaries_show_the_shapes_of_models_inside_that_were_never_called(capsys):
    class Pair(keras.Model):
        def __init__(self):
            super().__init__()
            inputs = keras.Input((4,))
            self.both = keras.Model(inputs, [layers.Dense(3)(inputs), layers.Dense(2)(inputs)], name="both")

    Pair().summary()
    assert "((None, 3), (None, 2))" in capsys.readouterr().out


def test_functions_of_keras_ops_in_a_model_have_keras_names(tmp_path):
    keras.backend.clear_session()  # names count from the first again
    inputs = keras.Input((2, 3))
    outputs = ops.einsum("bij,bkj->bik", ops.abs(inputs), ops.swish(inputs))
    model = keras.Model(inputs, outputs)
    assert [(type(o).__name__, o.name) for o in model.operations[1:]] == [("Absolute", "absolute"), ("Silu", "silu"), ("Einsum", "einsum")]
    model.save(tmp_path / "model.keras")
    x = np.arange(12.0).reshape(2, 2, 3)
    np.testing.assert_allclose(keras.models.load_model(tmp_path / "model.keras")(x), model(x), rtol=1e-6)
    with pytest.raises(ValueError, match=r"\[None, 2, 3\]"):
        ops.matmul(inputs, ops.ones((4, 2)))


def test_an_op_of_an_h5_file_is_told_from_the_layer_of_its_name():
    assert operation_config.is_operation({"class_name": "NotEqual", "config": {"name": "not_equal"}})
    assert operation_config.is_operation({"class_name": "Add", "config": {"name": "add"}})
    assert not operation_config.is_operation({"class_name": "Add", "config": {"name": "add", "trainable": True}})
    assert not operation_config.is_operation({"class_name": "Add", "module": "keras.layers", "config": {"name": "add"}})


def test_loops_and_branches_of_keras_ops_may_depend_on_tensors_in_a_traced_layer():
    class Grows(layers.Layer):
        def call(self, x):
            count, x = ops.while_loop(lambda i, s: ops.sum(s) < 100.0, lambda i, s: (i + 1, s * 2.0), (0, x))
            x = ops.cond(ops.sum(x) > 150.0, lambda: x, lambda: x + ops.cast(count, "float32"))
            x = ops.fori_loop(0, 3, lambda i, a: a + ops.cast(i, "float32"), x)
            return ops.switch(ops.cast(ops.max(x) > 0, "int32"), [lambda a: a, lambda a: -a], x)

    x = np.array([[1.0, 2.0]], "float32")
    traced = keras.Sequential([keras.Input((2,)), Grows()]).predict(x, verbose=0)
    np.testing.assert_allclose(traced, -(x * 64 + 3))
    np.testing.assert_allclose(Grows()(x), traced)
    assert ops.full((2,), 3).dtype == "float32" and isinstance(ops.nonzero([0, 1]), list)


def test_what_was_compiled_is_told_as_files_hold_it():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile("adam", keras.losses.Huber(), metrics=[keras.metrics.MeanAbsoluteError()])
    written = json.loads(json.dumps({"model": model.get_config(), "compile": model.get_compile_config()}))
    assert written["compile"]["loss"]["class_name"] == "Huber" and written["model"]["dtype"]["class_name"] == "DTypePolicy"


def test_export_tells_what_it_wrote(tmp_path, capsys):
    a, b = keras.Input((4,)), keras.Input((2,), name="second")
    keras.Model([a, b], {"sum": ops.sum(a, -1), "same": layers.Identity()(b)}).export(tmp_path / "model")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Saved artifact at '{tmp_path / 'model'}'. The following endpoints are available:"
    assert lines[2] == "* Endpoint 'serve'" and lines[3].startswith("  args_0 (POSITIONAL_ONLY): List[TensorSpec(shape=(None, 4), dtype=tf.float32, name=")
    assert "  Dict[['sum', TensorSpec(shape=(None,), dtype=tf.float32, name=None)], ['same', TensorSpec(shape=(None, 2), dtype=tf.float32, name=None)]]" in lines


def test_a_py_dataset_knows_its_batches_and_scaled_losses_may_be_numbers():
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return np.ones((2, 3)), np.ones((2, 1))

    assert Batches().num_batches == 3
    assert float(keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD()).scale_loss(1.0)) == 2.0**15


def test_configurations_are_written_in_keras_order():
    assert list(layers.MaxPooling2D().get_config())[3:] == ["pool_size", "padding", "strides", "data_format"]
    assert list(layers.RandomFlip().get_config())[:4] == ["name", "trainable", "dtype", "data_format"]
    assert list(layers.LSTM(2).get_config())[3:6] == ["return_sequences", "return_state", "go_backwards"]
    names = list(layers.Conv2D(2, 3).get_config())
    assert names.index("activity_regularizer") == names.index("bias_regularizer") + 1


def test_the_gate_of_grouped_attention_stands_before_the_values():
    layer = layers.GroupedQueryAttention(head_dim=3, num_query_heads=4, num_key_value_heads=2, use_gate=True)
    layer.build((2, 4, 6), (2, 5, 6))
    assert [w.path.split("/")[-2] for w in layer.weights if w.name == "kernel"] == ["query", "key", "gate", "value", "attention_output"]


def test_predict_gives_the_value_of_the_only_batch_where_an_output_has_no_rows():
    inputs = keras.Input((3,))
    model = keras.Model(inputs, [inputs * 2, ops.sum(inputs)])
    rows, total = model.predict(np.ones((4, 3)), verbose=0)
    assert rows.shape == (4, 3) and total.shape == () and total == 12
    with pytest.raises(ValueError, match="zero-dimensional arrays cannot be concatenated"):
        model.predict(np.ones((4, 3)), batch_size=2, verbose=0)


def written(x, output):
    """The function that makes the output as a file has it: what it was made with, and what its use was given."""
    layer = keras.Model(x, output).get_config()["layers"][-1]
    return layer["config"], layer["inbound_nodes"][0]


def test_files_have_the_arguments_of_functions_where_keras_reads_them():
    x = keras.Input((4, 6))
    for output, name, given in [
        (ops.pad(x, ((0, 0), (1, 0), (0, 1)), constant_values=2.0), "constant_values", 2.0),
        (ops.average(x, axis=2, weights=np.ones(6, "float32")), "weights", None),
        (ops.rms_normalization(x, scale=np.ones(6, "float32")), "scale", None),
        (ops.layer_normalization(x), "beta", None),
    ]:
        config, use = written(x, output)
        assert name not in config and name in use["kwargs"]
        assert given is None or use["kwargs"][name] == given
    config, use = written(x, ops.digitize(x, np.array([-0.5, 0.5], "float32")))
    assert list(config) == ["name"] and len(use["args"]) == 2
    config, use = written(x, ops.squareplus(x, 3.0))
    assert config["b"] == 3.0 and len(use["args"]) == 1
    config, _ = written(x, ops.trapezoid(x, dx=0.5))
    assert config["dx"] == 0.5


def test_the_outputs_of_one_sample_reach_callbacks_as_arrays():
    shapes = []

    class Note(keras.callbacks.Callback):
        def on_predict_batch_end(self, batch, logs=None):
            shapes.append(tuple(logs["outputs"].shape))

    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.predict(np.ones((3, 3)), batch_size=2, verbose=0, callbacks=[Note()])
    assert shapes == [(2, 1), (1, 1)]


def test_a_py_dataset_hears_of_the_end_of_every_pass_before_validation():
    heard = []

    class Data(keras.utils.PyDataset):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __len__(self):
            return 2

        def __getitem__(self, index):
            return np.ones((2, 3), "float32"), np.ones((2, 1), "float32")

        def on_epoch_end(self):
            heard.append(self.name)

    model = keras.Sequential([keras.Input((3,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(Data("fit"), validation_data=Data("validation"), epochs=2, verbose=0)
    assert heard == ["fit", "validation"] * 2
    model.evaluate(Data("evaluate"), verbose=0)
    model.predict(Data("predict"), verbose=0)
    assert heard[4:] == ["evaluate", "predict"]


def test_a_kernel_larger_than_the_images_is_refused_at_the_first_call():
    with pytest.raises(ValueError, match="Computed output size would be zero or negative"):
        layers.Conv2D(4, 9)(np.ones((1, 5, 5, 3), "float32"))
    assert layers.Conv2D(4, 9, padding="same")(np.ones((1, 5, 5, 3), "float32")).shape == (1, 5, 5, 4)
