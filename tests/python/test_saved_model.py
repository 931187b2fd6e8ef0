"""tf.saved_model and Model.export: what is loaded computes what was saved, without the Python it was traced from."""
import os
import subprocess
import sys

import numpy as np
import pytest

import tandemflow as tf

FLOATS = tf.TensorSpec([None, 3], tf.float32)


class Scaler(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(tf.reshape(tf.range(6.0), [3, 2]), name="w")
        self.parts = [tf.Variable(2.0), {"offset": tf.Variable(0.5, trainable=False)}]

    @tf.function(input_signature=[FLOATS])
    def __call__(self, x):
        return tf.matmul(x, self.w) * self.parts[0] + self.parts[1]["offset"]

    @tf.function
    def power(self, x, exponent=2, reverse=False):
        y = x**exponent
        return {"y": y, "both": (x, -y if reverse else y)}

    @tf.function(input_signature=[])
    def count(self):
        self.parts[0].assign_add(1.0)
        return self.parts[0].read_value()


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "saved")


def data(rows):
    return np.linspace(-1, 1, rows * 3, dtype="float32").reshape(rows, 3)


def test_a_module_comes_back_with_functions_and_variables(directory):
    module = Scaler()
    tf.saved_model.save(module, directory)
    assert sorted(os.listdir(directory)) == ["assets", "saved_model.pb", "saved_model.tandem", "variables"] and tf.saved_model.contains_saved_model(directory)
    loaded = tf.saved_model.load(directory)
    for rows in (1, 4, 31):
        np.testing.assert_array_equal(loaded(data(rows)), module(data(rows)))
    assert loaded.w.name == module.w.name
    np.testing.assert_array_equal(loaded.w, module.w)
    assert len(loaded.variables) == 3 and len(loaded.trainable_variables) == 2
    assert float(loaded.parts[1]["offset"]) == 0.5


def test_variables_of_a_loaded_module_are_its_own(directory):
    module = Scaler()
    tf.saved_model.save(module, directory)
    loaded = tf.saved_model.load(directory)
    assert [float(loaded.count()) for _ in range(2)] == [3, 4]
    assert float(loaded.parts[0]) == 4 and float(module.parts[0]) == 2
    np.testing.assert_allclose(loaded(data(2)), (data(2) @ module.w.numpy()) * 4 + 0.5, rtol=1e-6)


def test_traces_made_before_saving_are_kept_with_their_python_arguments_and_nested_results(directory):
    module = Scaler()
    x = tf.constant(data(2))
    module.power(x)
    module.power(x, exponent=3, reverse=True)
    tf.saved_model.save(module, directory)
    loaded = tf.saved_model.load(directory)
    np.testing.assert_allclose(loaded.power(x)["y"], data(2) ** 2, rtol=1e-6)
    result = loaded.power(x, reverse=True, exponent=3)
    assert isinstance(result["both"], tuple)
    np.testing.assert_allclose(result["both"][1], -(data(2) ** 3), rtol=1e-6)
    with pytest.raises(ValueError, match="Could not find matching concrete function .*exponent=4"):
        loaded.power(x, exponent=4)
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        loaded.power(tf.constant(data(5)))


def test_a_gradient_goes_through_a_loaded_function(directory):
    module = Scaler()
    tf.saved_model.save(module, directory)
    loaded = tf.saved_model.load(directory)
    grads = []
    for one in (module, loaded):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(one(data(4)) ** 2)
        grads.append(tape.gradient(loss, [one.w, one.parts[0]]))
    np.testing.assert_allclose(grads[1][0], grads[0][0], rtol=1e-6)
    np.testing.assert_allclose(grads[1][1], grads[0][1], rtol=1e-6)


def test_control_flow_that_was_written_in_python_is_in_the_file(directory):
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def ones(n):
        found = 0
        while n > 0:
            if n % 2 == 1:
                found += 1
            n = n // 2
        return found

    tf.saved_model.save(ones, directory)
    loaded = tf.saved_model.load(directory)
    assert int(loaded(27)) == int(loaded.ones(27)) == 4


def test_signatures_take_names_and_give_dicts(directory):
    module = Scaler()
    tf.saved_model.save(module, directory, signatures=module.__call__)
    signature = tf.saved_model.load(directory).signatures["serving_default"]
    np.testing.assert_array_equal(signature(x=tf.constant(data(2)))["output_0"], module(data(2)))
    with pytest.raises(ValueError, match="has not been traced"):
        tf.saved_model.save(module, directory, signatures={"power": module.power})


def test_the_only_function_with_an_input_signature_is_the_default_signature(directory):
    class One(tf.Module):
        @tf.function(input_signature=[FLOATS])
        def double(self, x):
            return x * 2.0

        @tf.function
        def other(self, x):
            return x

    tf.saved_model.save(One(), directory)
    signatures = tf.saved_model.load(directory).signatures
    assert list(signatures) == ["serving_default"]
    np.testing.assert_array_equal(signatures["serving_default"](tf.constant(data(2)))["output_0"], data(2) * 2)


def test_the_objects_of_a_checkpoint_are_saved(directory):
    tf.saved_model.save(tf.train.Checkpoint(v=tf.Variable(1.5), parts=[tf.Variable(2)]), directory)
    loaded = tf.saved_model.load(directory)
    assert float(loaded.v) == 1.5 and int(loaded.parts[0]) == 2


def test_what_runs_only_in_python_is_refused_by_name(directory):
    @tf.function(input_signature=[FLOATS])
    def speaks(x):
        tf.print(x)
        return x

    with pytest.raises(ValueError, match="py_function"):
        tf.saved_model.save(speaks, directory)
    with pytest.raises(ValueError, match="takes a tf.Module"):
        tf.saved_model.save(3, directory)


def test_files_that_are_wrong_are_refused(directory, tmp_path):
    with pytest.raises(OSError, match="does not exist"):
        tf.saved_model.load(directory)
    tf.saved_model.save(Scaler(), directory)
    path = os.path.join(directory, "saved_model.tandem")
    content = open(path, "rb").read()
    with open(path, "wb") as file:
        file.write(content[: len(content) // 2])
    with pytest.raises(tf.errors.DataLossError, match="damaged or truncated"):
        tf.saved_model.load(directory)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "saved_model.pb").write_bytes(b"")
    with pytest.raises(tf.errors.DataLossError, match="has no graphs"):
        tf.saved_model.load(tmp_path / "theirs")


def small_models():
    keras = tf.keras
    x = keras.Input([8])
    two = keras.Input([4])
    yield "dense", keras.Sequential([x, keras.layers.Dense(5, "relu"), keras.layers.Dropout(0.5), keras.layers.Dense(2, "softmax")]), [8]
    image = [keras.Input([12, 12, 3]), keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.BatchNormalization()]
    yield "conv", keras.Sequential([*image, keras.layers.MaxPooling2D(), keras.layers.Flatten(), keras.layers.Dense(3)]), [12, 12, 3]
    yield "lstm", keras.Sequential([keras.Input([7, 3]), keras.layers.LSTM(6), keras.layers.Dense(1)]), [7, 3]
    yield "two", keras.Model([x, two], [keras.layers.Dense(3)(keras.layers.Concatenate()([x, two])), two]), [[8], [4]]
    attention = keras.layers.MultiHeadAttention(2, 4)
    s = keras.Input([6, 8])
    yield "attention", keras.Model(s, keras.layers.LayerNormalization()(attention(s, s))), [6, 8]


@pytest.mark.parametrize("name, model, shape", list(small_models()), ids=lambda value: value if isinstance(value, str) else "")
def test_a_keras_model_is_exported_for_any_batch(name, model, shape, directory):
    model.export(directory)
    loaded = tf.saved_model.load(directory)
    for rows in (1, 6):
        shapes = shape if isinstance(shape[0], list) else [shape]
        inputs = [np.random.default_rng(rows).standard_normal([rows, *s]).astype("float32") for s in shapes]
        inputs = inputs if len(inputs) > 1 else inputs[0]
        for got, wanted in zip(tf.nest.flatten(loaded.serve(inputs)), tf.nest.flatten(model(inputs))):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
    assert len(loaded.trainable_variables) == len(model.trainable_variables)
    assert "serving_default" in loaded.signatures


def test_a_subclassed_model_that_was_called_is_exported(directory):
    class Mine(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(2)

        def call(self, x):
            return tf.nn.relu(self.dense(x))

    model = Mine()
    with pytest.raises(ValueError, match="does not know the shape"):
        model.export(directory)
    model(data(2))
    tf.saved_model.save(model, directory)
    np.testing.assert_allclose(tf.saved_model.load(directory)(data(5)), model(data(5)), rtol=1e-6)
    with pytest.raises(ValueError, match="Unrecognized format"):
        model.export(directory, format="litert")


def test_another_process_needs_nothing_but_the_file(directory):
    module = Scaler()
    tf.saved_model.save(module, directory)
    code = f"import tandemflow as tf; print(tf.saved_model.load({directory!r})(tf.ones([2, 3])).numpy().tolist())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str(module(tf.ones([2, 3])).numpy().tolist()), done.stderr


def test_a_file_of_cpp_gives_functions_by_name(tmp_path):
    from tandemflow import _tandem

    w = tf.Variable([2.0, 3.0, 4.0])
    concrete = tf.function(lambda x: x * w).get_concrete_function(tf.TensorSpec([5, 3]))
    path = str(tmp_path / "scale.tandem")
    _tandem.save_functions(path, [("scale", [(tf.float32, [5, 3])], [concrete._concrete], "")], [], "")
    loaded = tf.saved_model.load(path)
    np.testing.assert_array_equal(loaded.scale(data(5))[0], data(5) * np.float32([2, 3, 4]))
    assert len(loaded.trainable_variables) == 1


def test_signatures_are_called_by_the_names_of_their_specs_and_say_what_they_give(tmp_path):
    class Doubling(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="rows")])
        def __call__(self, x):
            return {"doubled": x * 2}

        @tf.function
        def plain(self, x):
            return x + 1

    module = Doubling()
    plain = module.plain.get_concrete_function(tf.TensorSpec([None], tf.float32))
    tf.saved_model.save(module, tmp_path, signatures={"serving_default": module.__call__, "plain": plain})

    signatures = tf.saved_model.load(tmp_path).signatures
    serving = signatures["serving_default"]
    assert serving(rows=tf.ones([1, 2]))["doubled"].numpy().tolist() == [[2, 2]]
    assert serving.structured_outputs == {"doubled": tf.TensorSpec([None, 2], tf.float32, name="doubled")}
    assert serving.structured_input_signature == ((), {"rows": tf.TensorSpec([None, 2], tf.float32, name="rows")})
    assert signatures["plain"](x=tf.ones([4]))["output_0"].shape == (4,)


def test_a_function_of_open_rank_is_saved_for_up_to_three_axes(tmp_path):
    class Any(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec(None)])
        def __call__(self, x):
            return x * 2.0

        @tf.function(input_signature=[tf.TensorSpec(None)])
        def product(self, x):
            return tf.matmul(x, x, transpose_b=True)  # of no scalars

    tf.saved_model.save(Any(), tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for rank in range(4):
        np.testing.assert_array_equal(loaded(tf.ones([3] * rank)), np.full([3] * rank, 2.0))
    np.testing.assert_array_equal(loaded.product(tf.ones([2, 2])), np.full([2, 2], 2.0))
    with pytest.raises(ValueError, match="matching concrete function"):
        loaded(tf.ones([1] * 4))
