"""Small programs whose printed answers and exceptions were compared with TensorFlow's."""
import io
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tandemflow as tf


def printed(*values, **options):
    stream = io.StringIO()
    tf.print(*values, output_stream=stream, **options)
    return stream.getvalue().rstrip("\n")


def test_tf_print_shows_as_many_digits_as_say_which_number_it_is():
    assert printed(tf.constant(1.23456789), tf.constant(1.23456789, tf.float64), tf.constant(0.1)) == "1.23456788 1.23456789 0.1"
    assert printed(tf.constant([1e-10, 1e10, 100000.0, 1234567.0])) == "[1e-10 1e+10 100000 1234567]"
    assert printed(tf.constant(float("nan")), tf.constant([0.1], tf.float16)) == "nan [0.0999755859]"


def test_tf_print_shows_other_objects_as_python_does():
    x = tf.ones([2])
    assert printed("in", x.shape, x.dtype, None) == "in TensorShape([2]) tf.float32 None"


def test_an_eager_while_loop_gives_what_its_body_gives():
    assert tf.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j), [0, 5]) == (3, 5)
    assert tf.while_loop(lambda i, j: i < 3, lambda i, j: [i + 1, j], (0, 5)) == [3, 5]
    assert tf.while_loop(lambda i, j: i < 0, lambda i, j: (i, j), [0, 5]) == [0, 5]


def test_a_loop_may_grow_what_its_shape_invariants_leave_open():
    @tf.function
    def count(n):
        start = [0, tf.zeros([0], tf.int32)]
        invariants = [tf.TensorShape([]), tf.TensorShape([None])]
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, [i]], 0)), start, shape_invariants=invariants)[1]

    np.testing.assert_array_equal(count(tf.constant(4)), [0, 1, 2, 3])

    @tf.function
    def grows(n):
        return tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, tf.concat([x, x], 0)), [0, tf.ones([1])])

    with pytest.raises(ValueError, match="shape"):
        grows(tf.constant(2))


def test_the_first_call_that_makes_a_variable_gives_a_tensor():
    made = []

    @tf.function
    def once(x):
        if not made:
            made.append(tf.Variable(x))
        made[0].assign_add(1.0)
        return made[0]

    first, second = once(tf.constant(1.0)), once(tf.constant(1.0))
    assert isinstance(first, tf.Tensor) and (float(first), float(second)) == (2, 3)


def test_a_concrete_function_takes_numbers_for_its_tensors():
    concrete = tf.function(lambda x, y: x + y).get_concrete_function(tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32))
    assert float(concrete(2.5, tf.constant(1.0))) == 3.5


def test_a_classmethod_may_be_a_traced_function():
    class Counter:
        step = 2

        @classmethod
        @tf.function
        def add(cls, x):
            return x + cls.step

    assert int(Counter.add(tf.constant(1))) == 3 and int(Counter().add(tf.constant(2))) == 4


@pytest.mark.parametrize("raised, classes", [
    (ValueError("v"), (tf.errors.InvalidArgumentError, ValueError)), (TypeError("t"), (tf.errors.InvalidArgumentError, TypeError)),
    (KeyError("k"), (tf.errors.UnknownError, KeyError)), (NotImplementedError("n"), (tf.errors.UnimplementedError, NotImplementedError)),
    (FileNotFoundError("f"), (tf.errors.UnknownError,)),
])  # fmt: skip
def test_what_py_function_raises_is_tensorflows_class_and_pythons(raised, classes):
    def fails(x):
        raise raised

    for call in (lambda: tf.py_function(fails, [1], tf.int32), tf.function(lambda: tf.py_function(fails, [1], tf.TensorSpec([], tf.int32)))):
        for kind in classes:
            with pytest.raises(kind, match=type(raised).__name__):
                call()


def test_a_traced_tensor_has_no_array_and_no_attribute_numpy():
    @tf.function
    def reads(x):
        return x.numpy()

    @tf.function
    def sums(x):
        return np.sum(x)

    for kind in (AttributeError, tf.errors.OperatorNotAllowedInGraphError):
        with pytest.raises(kind, match="was used as a NumPy array"):
            reads(tf.constant(1))
    with pytest.raises(NotImplementedError, match="tf.function|symbolic"):
        sums(tf.constant([1, 2]))


def test_a_tape_that_never_recorded_and_a_batch_without_rows_are_errors():
    x = tf.Variable([1.0, 2.0])
    with pytest.raises(RuntimeError, match="recorded nothing"):
        tf.GradientTape().gradient(x, x)
    with tf.GradientTape() as tape:
        y = x**2
    with pytest.raises(ValueError, match="rank at least 2"):
        tape.batch_jacobian(y, x)


def test_a_module_lists_its_own_variables_before_those_of_its_modules():
    class Inner(tf.Module):
        def __init__(self):
            super().__init__()
            self.v = tf.Variable(1.0, name="inner")

    class Outer(tf.Module):
        def __init__(self):
            super().__init__()
            self.a = Inner()
            self.b = [tf.Variable(2.0, name="own"), Inner()]

    outer = Outer()
    assert [v.name for v in outer.variables] == ["own:0", "inner:0", "inner:0"]
    assert outer.submodules == (outer.a, outer.b[1])


@pytest.mark.parametrize("mistake", [
    lambda: tf.tile([1, 2], [2, 2]), lambda: tf.constant([1, 2])[::0], lambda: tf.bitcast(tf.ones([3], tf.uint8), tf.float32),
    lambda: tf.io.decode_raw("abc", tf.int16), lambda: tf.RaggedTensor.from_row_splits([1, 2], [0, 5]),
    lambda: tf.ragged.constant([[1, 2]]) + tf.ragged.constant([[1]]), lambda: tf.random.stateless_uniform([1], 5),
    lambda: tf.io.parse_single_example(b"abc", {"a": tf.io.FixedLenFeature([], tf.int64)}),
])  # fmt: skip
def test_mistakes_in_arguments_are_invalid_arguments(mistake):
    with pytest.raises(tf.errors.InvalidArgumentError):
        mistake()


def test_seeds_made_of_seeds_have_their_dtype():
    assert tf.random.split([1, 2], 3).dtype == tf.int32 and tf.random.fold_in(tf.constant([1, 2], tf.int64), 3).dtype == tf.int64


def test_the_parts_of_composite_tensors_are_flattened_when_asked_for():
    ragged = tf.ragged.constant([[1], [2, 3]])
    flat = tf.nest.flatten([ragged, 5], expand_composites=True)
    assert [np.asarray(part).tolist() for part in flat] == [[1, 2, 3], [0, 1, 3], 5]
    assert tf.nest.flatten([ragged]) == [ragged] or tf.nest.flatten([ragged])[0] is ragged
    sparse = tf.SparseTensor([[0, 1]], [5.0], [2, 2])
    assert [np.asarray(part).tolist() for part in tf.nest.flatten(sparse, expand_composites=True)] == [[[0, 1]], [5], [2, 2]]


def test_an_array_may_be_split_into_parts_of_different_lengths():
    array = tf.TensorArray(tf.float32, 3).split([1.0, 2.0, 3.0, 4.0], [1, 2, 1])
    np.testing.assert_array_equal(array.read(1), [2, 3])
    np.testing.assert_array_equal(array.concat(), [1, 2, 3, 4])


def test_square_roots_of_matrices_and_spectra_of_pictures():
    a = np.float32([[4, 1], [1, 3]])
    root = tf.linalg.sqrtm(a)
    np.testing.assert_allclose(tf.matmul(root, root), a, rtol=1e-5)
    picture = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    np.testing.assert_allclose(tf.signal.rfft2d(picture), np.fft.rfft2(picture), atol=1e-5)
    np.testing.assert_allclose(tf.signal.irfft2d(np.fft.rfft2(picture).astype("complex64")), picture, atol=1e-5)


def test_tensors_become_messages_and_arrays_again():
    message = tf.make_tensor_proto([[1.5, 2.0]])
    np.testing.assert_array_equal(tf.make_ndarray(message), [[1.5, 2.0]])
    np.testing.assert_array_equal(tf.io.parse_tensor(message.SerializeToString(), tf.float32), [[1.5, 2.0]])


def test_nothing_stacked_is_empty():
    assert tf.stack([]).shape == (0,)


def test_sorted_sorts_a_traced_tensor():
    @tf.function
    def both(x):
        return sorted(x), sorted(x, key=lambda v: -v), sorted(x, reverse=True), sorted([3, 1])

    up, by_key, down, plain = both(tf.constant([2.0, 3.0, 1.0]))
    assert up.numpy().tolist() == [1, 2, 3] and by_key.numpy().tolist() == down.numpy().tolist() == [3, 2, 1] and [int(v) for v in plain] == [1, 3]


def test_zeros_and_ones_like_complex_numbers_have_the_dtype_asked_for():
    z = tf.constant(np.array([1 + 2j, 3j], np.complex64))
    assert tf.zeros_like(z).dtype == tf.complex64 and tf.zeros_like(z, tf.float32).dtype == tf.float32
    np.testing.assert_array_equal(tf.ones_like(z), np.ones(2, np.complex64))
    assert tf.Variable(tf.zeros_like(z, tf.float32)).shape == (2,)


def test_one_hot_has_the_dtype_of_its_values():
    assert tf.one_hot([0], 2).dtype == tf.float32 and tf.one_hot([0], 2, dtype=tf.int64).dtype == tf.int64
    whole = tf.one_hot([0, 1], 2, on_value=5, off_value=-1)
    assert whole.dtype == tf.int32 and whole.numpy().tolist() == [[5, -1], [-1, 5]]


def test_columns_of_text_may_have_texts_as_defaults():
    numbers, words = tf.io.decode_csv(["1,a", ","], [7, "none"])
    assert numbers.numpy().tolist() == [1, 7] and words.numpy().tolist() == [b"a", b"none"]


def test_old_names_still_work():
    v1 = tf.compat.v1
    assert tf.compat.v2 is tf and v1.global_variables_initializer() is None and int(v1.div(7, 2)) == 3 and not v1.gfile.Exists("no such file")
    with pytest.raises(RuntimeError, match="not compatible with eager execution"):
        v1.placeholder(tf.float32)


# --- Other threads ---


def turns_of_another_thread(work, times=100):
    """How often another thread gets the interpreter's lock while this one works and would not give it up by itself."""
    turns, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            turns[0] += 1
            time.sleep(0)

    work()
    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    thread.start()
    try:
        sys.setswitchinterval(100)
        before = turns[0]
        for _ in range(times):
            work()
        return turns[0] - before
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        thread.join()


def test_other_threads_go_on_during_work_that_takes_long_however_small_its_operands():
    column, row, square = tf.ones([1500, 1]), tf.ones([1, 1500]), tf.random.normal([80, 80])
    assert turns_of_another_thread(lambda: column + row) > 3
    assert turns_of_another_thread(lambda: tf.linalg.svd(square)) > 3
    traced = tf.function(lambda x: tf.linalg.svd(x)[0])
    assert turns_of_another_thread(lambda: traced(square)) > 3


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_traced_loop_of_long_turns_is_interrupted():
    program = (
        "import signal, tandemflow as tf\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def f(x):\n"
        "    return tf.while_loop(lambda i, x: i < 100000, lambda i, x: (i + 1, tf.matmul(x, x) * 1e-3), [tf.constant(0), x])\n"
        "f = tf.function(f)\n"
        "print('begins', flush=True)\n"
        "try:\n"
        "    f(tf.ones([500, 500]))\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begins\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n"


def test_what_where_leaves_out_gets_no_gradient_through_roots_and_reciprocals():
    x = tf.Variable([0.0, 4.0, -1.0])
    for function, inside in ((tf.sqrt, 0.25), (tf.math.rsqrt, -0.0625), (tf.math.reciprocal, -0.0625)):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.where([False, True, False], function(x), 0.0))
        assert tape.gradient(y, x).numpy().tolist() == [0.0, inside, 0.0]


def test_matmul_takes_both_names_of_a_transposition_where_one_is_false():
    a = tf.reshape(tf.range(6.0), [3, 2])
    for wanted in ({"transpose_a": False, "adjoint_a": True}, {"adjoint_a": True, "transpose_a": False}, {"transpose_a": True, "adjoint_a": False}):
        np.testing.assert_array_equal(tf.matmul(a, a, **wanted), tf.matmul(tf.transpose(a), a))
    with pytest.raises(TypeError):
        tf.matmul(a, a, transpose_a=True, adjoint_a=True)


def test_running_logsumexp_keeps_small_terms_beside_large_ones():
    x = tf.constant([[-200.0, 0.0, 3.0, -1e4], [1.0, float("inf"), -float("inf"), 2.0]])
    expected = [[-200.0, 0.0, 3.0485873, 3.0485873], [1.0, float("inf"), float("inf"), float("inf")]]
    np.testing.assert_allclose(tf.math.cumulative_logsumexp(x, axis=1), expected, rtol=1e-6)
    np.testing.assert_allclose(tf.math.cumulative_logsumexp(x[0], exclusive=True), [-float("inf"), -200.0, 0.0, 3.0485873], rtol=1e-6)
    np.testing.assert_allclose(tf.math.cumulative_logsumexp(x[0], reverse=True), [3.0485873, 3.0485873, 3.0, -1e4], rtol=1e-6)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(tf.math.cumulative_logsumexp(x[0]))
    np.testing.assert_allclose(tape.gradient(total, x)[0], [1.0, 1 + 2 / (1 + np.e**3), 2 / (1 + np.e**-3), 0.0], rtol=1e-5)


def test_resized_pictures_are_float32_unless_the_nearest_pixel_is_taken():
    picture = tf.ones([1, 4, 4, 1], tf.float16)
    assert tf.image.resize(picture, [2, 2]).dtype == tf.float32
    assert tf.image.resize(picture, [4, 4]).dtype == tf.float32  # though nothing changes
    assert tf.image.resize(picture, [2, 2], method="nearest").dtype == tf.float16
    assert tf.image.resize(tf.ones([3, 4, 1], tf.float64), [6, 2], preserve_aspect_ratio=True).dtype == tf.float32
    assert tf.image.resize_with_pad(picture, 3, 2).dtype == tf.float32
    assert tf.image.resize_with_pad(picture, 6, 4).dtype == tf.float32  # though the picture itself stays as large


def test_tensors_of_a_branch_that_are_used_outside_of_it_are_inaccessible():
    class Log(tf.Module):
        def note(self, x):
            self.last = x

        @tf.function
        def run(self, x):
            if x > 0:
                self.note(x * 2)
            else:
                self.note(x * 3)
            return self.last

    with pytest.raises(tf.errors.InaccessibleTensorError) as caught:
        Log().run(tf.constant(1))
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, TypeError)


def test_a_list_of_numbers_and_strings_is_a_wrong_value():
    with pytest.raises(ValueError) as caught:
        tf.constant([1, "a"])
    assert type(caught.value).__name__ == "ValueError"
