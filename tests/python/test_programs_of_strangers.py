"""What programs written for TensorFlow do outside of Keras; every answer was TensorFlow's first."""
import os
import subprocess
import sys
import zlib

import numpy as np
import pytest

import tandemflow as tf
from tandemflow import _check

ROWS = tf.ragged.constant([[3, 1, 4, 1], [], [5, 9, 2]])


# --- tf.gradients in traced functions ---


def test_gradients_of_a_traced_function_need_no_tape():
    @tf.function
    def slope(x):
        return tf.gradients(x**3, x)

    assert [g.numpy() for g in slope(tf.constant(2.0))] == [12.0]
    concrete = slope.get_concrete_function(tf.TensorSpec([None], tf.float32))
    np.testing.assert_allclose(concrete(tf.constant([1.0, 2.0]))[0], [3.0, 12.0])


def test_gradients_reach_variables_intermediate_results_and_second_derivatives():
    w = tf.Variable([1.0, 2.0])

    def by_w(loss):
        return tf.gradients(loss, [w])[0]

    @tf.function
    def slopes(x):
        h = x * w
        loss = tf.reduce_sum(h * h)
        first = by_w(loss)
        return first, tf.gradients(loss, h)[0], tf.gradients(first, w)[0], tf.hessians(loss, x)[0]

    first, by_h, second, hessian = slopes(tf.constant([3.0, 4.0]))
    np.testing.assert_allclose(first, [18.0, 64.0])
    np.testing.assert_allclose(by_h, [6.0, 16.0])
    np.testing.assert_allclose(second, [18.0, 32.0])
    np.testing.assert_allclose(hessian, [[2.0, 0.0], [0.0, 8.0]])


def test_asking_for_gradients_assigns_variables_once_and_knows_what_is_unconnected():
    w = tf.Variable(1.0)

    @tf.function
    def step(x):
        w.assign_add(1.0)
        return tf.gradients(w * x, [x, w]), tf.gradients(tf.constant(1.0), x), tf.gradients(x * 2.0, x, grad_ys=tf.constant(5.0))

    (by_x, _), nothing, weighted = step(tf.constant(3.0))
    assert (by_x.numpy(), nothing, weighted[0].numpy(), w.numpy()) == (2.0, [None], 10.0, 2.0)


def test_each_traced_function_has_gradients_of_its_own():
    @tf.function
    def inner(x):
        return tf.gradients(x**3, x)[0]

    @tf.function
    def outer(x):
        return inner(x) + tf.gradients(x * x, x)[0]

    assert outer(tf.constant(3.0)).numpy() == 33.0


def test_gradients_are_refused_where_ops_run_at_once():
    with pytest.raises(RuntimeError, match="Use tf.GradientTape instead"):
        tf.gradients(tf.constant(1.0), tf.constant(1.0))


# --- Ragged and sparse tensors ---


def test_ragged_rows_are_masked_stacked_and_squeezed():
    assert tf.boolean_mask(ROWS, ROWS > 2).to_list() == [[3, 4], [], [5, 9]]
    assert tf.stack([ROWS, ROWS], axis=1).to_list() == [[[3, 1, 4, 1]] * 2, [[], []], [[5, 9, 2]] * 2]
    assert tf.stack([ROWS, ROWS], axis=2).to_list()[2] == [[5, 5], [9, 9], [2, 2]]
    assert tf.squeeze(tf.expand_dims(ROWS, 1), 1).to_list() == ROWS.to_list()
    assert tf.add_n([ROWS, ROWS]).to_list() == [[6, 2, 8, 2], [], [10, 18, 4]]
    assert tf.one_hot(ROWS, 10).shape.as_list() == [3, None, 10]
    assert tf.strings.as_string(ROWS).to_list()[2] == [b"5", b"9", b"2"]
    assert (tf.ones([2, 2]) * tf.ragged.constant([[1.0, 2.0], [3.0, 4.0]])).to_list() == [[1, 2], [3, 4]]
    assert (tf.ragged.constant([[1, 2], [3, 4]]) + tf.constant([10, 20])).to_list() == [[11, 22], [13, 24]]
    with pytest.raises(ValueError, match="does not broadcast"):
        ROWS + tf.constant([1, 2])


def test_ragged_rows_have_softmax_and_variance():
    rows = tf.cast(ROWS, tf.float32)
    for row, numbers in zip(tf.nn.softmax(rows), rows):
        np.testing.assert_allclose(row, tf.nn.softmax(numbers[None])[0] if len(numbers) else [], rtol=1e-6)
    found = tf.math.reduce_variance(rows, axis=1).numpy()
    np.testing.assert_allclose(found[[0, 2]], [1.6875, 8.222222], rtol=1e-5)
    np.testing.assert_allclose(tf.math.reduce_std(rows, axis=1).numpy()[2], 8.222222**0.5, rtol=1e-5)
    assert tf.nn.dropout(rows, 0.0).to_list() == rows.to_list()


def test_map_fn_gives_rows_of_different_lengths_when_its_signature_says_so():
    signature = tf.RaggedTensorSpec([None], tf.int32)
    assert tf.map_fn(tf.range, tf.constant([1, 3]), fn_output_signature=signature).to_list() == [[0], [0, 1, 2]]

    @tf.function
    def ranges(sizes):
        return tf.map_fn(tf.range, sizes, fn_output_signature=signature)

    assert ranges(tf.constant([2, 0])).to_list() == [[0, 1], []]


def test_rows_of_a_ragged_tensor_are_batched_again():
    batches = tf.data.Dataset.from_tensor_slices(ROWS).ragged_batch(2)
    assert [batch.to_list() for batch in batches] == [[[3, 1, 4, 1], []], [[5, 9, 2]]]


def test_tables_look_up_ragged_and_sparse_keys():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["the", "fox"], [0, 1]), -1)
    assert table.lookup(tf.ragged.constant([["the", "fox"], ["dog"]])).to_list() == [[0, 1], [-1]]
    found = table.lookup(tf.sparse.SparseTensor([[0, 1], [1, 0]], ["fox", "dog"], [2, 2]))
    assert found.values.numpy().tolist() == [1, -1] and found.indices.numpy().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("indices, text", [([[1, 0], [0, 0]], "out of order"), ([[0, 0], [0, 0]], "is repeated"), ([[0, 0], [0, 7]], "out of bounds")])
def test_sparse_places_that_are_in_no_order_are_refused(indices, text):
    sparse = tf.sparse.SparseTensor(indices, [1, 2], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf.sparse.to_dense(sparse)


def test_sparse_products_add_what_stands_at_one_place():
    sparse = tf.sparse.SparseTensor([[1, 0], [0, 0], [0, 0]], [1.0, 2.0, 3.0], [2, 2])
    np.testing.assert_allclose(tf.sparse.sparse_dense_matmul(sparse, tf.ones([2, 1])), [[5.0], [1.0]])


# --- Choices ---


def test_an_exclusive_case_refuses_two_that_hold():
    pairs = [(tf.constant(True), lambda: 1), (tf.constant(True), lambda: 2)]
    assert tf.case(pairs) == 1 and tf.case(pairs[:1], default=lambda: 3, exclusive=True) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive=True"):
        tf.case(pairs, exclusive=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="exclusive=True"):
        tf.function(lambda x: tf.case([(x > 0, lambda: x), (x > 1, lambda: -x)], exclusive=True))(tf.constant(2))


def test_a_ragged_tensor_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="may not be used as a boolean"):
        bool(ROWS)


def test_a_loop_of_one_variable_gives_that_one_in_the_first_version():
    loop = lambda module: module.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])  # noqa: E731
    assert loop(tf.compat.v1).numpy() == 3 and loop(tf)[0].numpy() == 3


# --- Files ---


def test_a_function_whose_number_of_axes_is_open_is_saved_for_each(tmp_path):
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(3.0)

        @tf.function
        def __call__(self, x):
            return x * self.v

    module = Scale()
    call = module.__call__.get_concrete_function(tf.TensorSpec(None, tf.float32))
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=call)
    signature = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    for value in (2.0, [1.0, 2.0], [[1.0], [2.0]]):
        np.testing.assert_allclose(signature(tf.constant(value))["output_0"], np.array(value) * 3)
    assert signature.structured_input_signature[1]["x"].shape.rank is None


def test_packed_bytes_are_unpacked():
    assert tf.io.decode_compressed([zlib.compress(b"abc")], "ZLIB").numpy().tolist() == [b"abc"]
    assert tf.io.decode_compressed(b"abc").numpy() == b"abc"
    with pytest.raises(tf.errors.InvalidArgumentError, match="not GZIP"):
        tf.io.decode_compressed(b"abc", "GZIP")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Only ZLIB"):
        tf.io.decode_compressed(b"abc", "LZ4")


def test_what_is_known_of_a_file_has_tensorflows_names(tmp_path):
    (tmp_path / "a").write_text("abc")
    found = tf.io.gfile.stat(str(tmp_path / "a"))
    assert (found.length, found.is_directory, found.mtime_nsec) == (3, False, os.stat(tmp_path / "a").st_mtime_ns)


# --- Texts ---


def test_assertions_name_the_places_that_differ():
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf.debugging.assert_less([1, 2], [2, 2])
    assert "Indices of first 1 different values:\n[[1]]\nCorresponding x values:\n[2]" in str(raised.value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Summarized data: b'data'\n1, 2, 3, ...$"):
        tf.debugging.Assert(tf.constant(False), ["data", tf.constant([1, 2, 3, 4])])


def test_a_text_is_no_number_and_says_what_reads_it():
    with pytest.raises(tf.errors.UnimplementedError, match="tf.strings.to_number"):
        tf.cast(tf.constant("1"), tf.int32)
    assert tf.cast(tf.constant("1"), tf.string).numpy() == b"1"


@pytest.mark.parametrize(
    "name, use",
    [("Session", "a tf.function"), ("placeholder", "arguments of a tf.function"), ("matrix_inverse", "tf.linalg.inv"), ("train.AdamOptimizer", "tf.keras.optimizers.Adam"),
     ("compat.v1.layers", "tf.keras.layers"), ("train.Saver", "tf.train.Checkpoint"), ("image.resize_images", "tf.image.resize")],
)  # fmt: skip
def test_a_name_of_the_first_version_says_what_to_write_today(name, use):
    holder = tf
    *modules, last = name.split(".")
    for module in modules:
        holder = getattr(holder, module)
    with pytest.raises(AttributeError, match=f"; use {use}"):
        getattr(holder, last)
    missing, _ = _check.check_source(f"import tensorflow as tf\ntf.{name}")
    assert missing[0].instead.startswith(use)


def test_every_replacement_that_is_a_name_is_there():
    from tandemflow._former_names import USE
    from tandemflow.compat.v1 import MOVED

    texts = [text for names in USE.values() for text in names.values()] + [f"tf.{place}" for place in MOVED.values()]
    for text in texts:
        if not text.startswith("tf."):
            continue
        value = tf
        for word in text.split("(")[0].split(",")[0].split(" ")[0].split(":")[0].split(".")[1:]:
            value = getattr(value, word)


def test_a_file_that_is_not_there_is_said_in_one_line(tmp_path):
    for command in ("run", "check"):
        done = subprocess.run([sys.executable, "-m", "tandemflow", command, str(tmp_path / "none.py")], capture_output=True, text=True)
        assert done.returncode and len(done.stderr.splitlines()) == 1 and "none.py" in done.stderr
    (tmp_path / "broken.py").write_text("x = (")
    done = subprocess.run([sys.executable, "-m", "tandemflow", "check", str(tmp_path / "broken.py")], capture_output=True, text=True)
    assert done.returncode == 1 and "never closed" in done.stderr
