"""tf.saved_model.load of what TensorFlow wrote (tools/saved_models.py): its functions run with our ops, its variables are there."""
import shutil
from pathlib import Path

import numpy as np
import pytest

import tandemflow as tf

FOLDER = Path(__file__).resolve().parent.parent / "data" / "saved_models"
ANSWERS = np.load(FOLDER / "answers.npz")


@pytest.fixture(scope="module")
def module():
    return tf.saved_model.load(FOLDER / "module")


def test_a_module_of_tensorflow_answers_as_it_did(module):
    assert tf.saved_model.contains_saved_model(FOLDER / "module")
    np.testing.assert_allclose(module(ANSWERS["module_in"]), ANSWERS["module_out"], rtol=1e-6)
    for rows in (1, 9):
        assert module(tf.ones([rows, 3])).shape == (rows, 2)


def test_its_variables_have_their_values_names_and_places(module):
    assert module.w.shape == (3, 2) and module.w.trainable and module.w.name == "w:0"
    np.testing.assert_array_equal(module.b, [0.5, -0.5])
    assert int(module.parts[1]["o"]) == 3 and not module.parts[1]["o"].trainable
    assert len(module.variables) == 4 and len(module.trainable_variables) == 3


def test_its_signature_takes_names_and_gives_a_dict(module):
    signature = module.signatures["serving_default"]
    np.testing.assert_allclose(signature(x=tf.constant(ANSWERS["module_in"]))["output_0"], ANSWERS["module_out"], rtol=1e-6)
    assert signature.structured_outputs == {"output_0": tf.TensorSpec([None, 2], tf.float32, "output_0")}
    assert signature.structured_input_signature == ((), {"x": tf.TensorSpec([None, 3], tf.float32, "x")})
    with pytest.raises(TypeError, match="takes the tensors x"):
        signature(y=tf.ones([1, 3]))
    with pytest.raises(ValueError, match="must be TensorSpec"):
        signature(x=tf.ones([1, 4]))


def test_a_function_finds_the_trace_that_fits_and_gives_its_structure(module):
    found = module.two(tf.constant(5))
    assert int(found["s"]) == 8 and int(found["d"][0]) == 2 and isinstance(found["d"][1], tuple)
    np.testing.assert_array_equal(module.two(tf.constant([1.0, 2.0]), y=2.0, flag=False)["s"], [1, 2])
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        module.two(tf.constant(5), 4)


def test_loops_branches_and_assignments_run():
    module = tf.saved_model.load(FOLDER / "module")
    assert int(module.loop(7)) == 12 and int(module.loop(tf.constant(0))) == 0
    assert [float(module.count()) for _ in range(2)] == [3, 4] and float(module.parts[0]) == 4


def test_it_can_be_trained_on(module):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(module(ANSWERS["module_in"]))
    gradient = tape.gradient(loss, module.w)
    expected = ANSWERS["module_in"].sum(0)[:, None] * 2.0 * np.ones([1, 2])
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)  # all of its results are positive


@pytest.mark.parametrize("name", ["cnn", "rnn"])
def test_a_model_that_keras_exported_answers_as_it_did(name):
    loaded = tf.saved_model.load(FOLDER / name)
    np.testing.assert_allclose(loaded.serve(ANSWERS[f"{name}_in"]), ANSWERS[f"{name}_out"], atol=1e-6)
    named = loaded.signatures["serving_default"](tf.constant(ANSWERS[f"{name}_in"]))
    np.testing.assert_allclose(named["output_0"], ANSWERS[f"{name}_out"], atol=1e-6)
    assert all(variable.dtype == tf.float32 for variable in loaded.trainable_variables)


def test_tables_of_constants_and_of_files_are_filled():
    found = tf.saved_model.load(FOLDER / "words")(tf.constant(["A", "b", "c"]))
    assert found["numbers"].numpy().tolist() == [1, 2, -1] and found["names"].numpy().tolist() == [b"one", b"two", b"?"]


def test_a_layer_is_made_of_an_exported_model():
    layer = tf.keras.layers.TFSMLayer(str(FOLDER / "cnn"), call_endpoint="serve")
    np.testing.assert_allclose(layer(tf.constant(ANSWERS["cnn_in"])), ANSWERS["cnn_out"], atol=1e-6)


def test_what_was_loaded_can_be_saved_as_a_file_of_ours(tmp_path, module):
    tf.saved_model.save(tf.function(lambda x: module(x), input_signature=[tf.TensorSpec([None, 3])]), tmp_path / "again")
    np.testing.assert_allclose(tf.saved_model.load(tmp_path / "again")(ANSWERS["module_in"]), module(ANSWERS["module_in"]), rtol=1e-6)


def test_damaged_files_and_unknown_tags_are_errors(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(FOLDER / "module", copy)
    with pytest.raises(ValueError, match="no graph with the tags"):
        tf.saved_model.load(copy, tags=["train"])
    whole = (copy / "saved_model.pb").read_bytes()
    for size in [0, 1, 7, *range(100, len(whole), 997)]:
        (copy / "saved_model.pb").write_bytes(whole[:size])
        with pytest.raises((ValueError, NotImplementedError)):
            tf.saved_model.load(copy)
    (copy / "saved_model.pb").write_bytes(whole)
    (copy / "variables" / "variables.index").unlink()
    with pytest.raises(tf.errors.DataLossError, match="has no value"):
        tf.saved_model.load(copy)


def test_an_op_that_is_not_read_is_named(monkeypatch):
    from tandemflow._graph_def import support

    support.known_ops()
    monkeypatch.delitem(support._by_name, "Relu")
    with pytest.raises(tf.errors.UnimplementedError, match="op Relu is not among those"):
        tf.saved_model.load(FOLDER / "module")(ANSWERS["module_in"])
