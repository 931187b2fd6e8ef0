"""tf.cond, tf.while_loop and their kin, tf.TensorArray, tf.map_fn, Python calls inside traced functions."""
import numpy as np
import pytest
import tandemflow as tf


def both(function, *args):
    """What a function gives eagerly and traced, which must be the same."""
    eager = tf.nest.map_structure(lambda t: t.numpy(), function(*args))
    traced = tf.nest.map_structure(lambda t: t.numpy(), tf.function(function, autograph=False)(*args))
    tf.nest.map_structure(np.testing.assert_allclose, traced, eager)
    return traced


def test_cond_runs_one_branch():
    f = lambda x: tf.cond(x > 0, lambda: x * 2, lambda: -x)  # noqa: E731
    assert both(f, tf.constant(3.0)) == 6 and both(f, tf.constant(-3.0)) == 3
    nested = lambda x: tf.cond(x > 0, lambda: {"a": x, "b": (x, x + 1)}, lambda: {"a": -x, "b": (x - 1, x)})  # noqa: E731
    assert both(nested, tf.constant(-3.0)) == {"a": 3.0, "b": (-4.0, -3.0)}


def test_cond_assigns_variables_in_the_branch_that_runs():
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    @tf.function
    def f(x):
        tf.cond(x > 0, lambda: v.assign_add(x), lambda: w.assign(x))
        return v + w

    assert f(tf.constant(2.0)).numpy() == 13 and (v.numpy(), w.numpy()) == (3, 10)
    assert f(tf.constant(-5.0)).numpy() == -2 and (v.numpy(), w.numpy()) == (3, -5)


def test_cond_says_what_differs_between_its_branches():
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match="dtype float32 in the true_fn branch, but dtype int32 in the false_fn branch"):
        tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: tf.constant(1)))(x)
    with pytest.raises(ValueError, match="None at the end of the false_fn"):
        tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: None))(x)
    with pytest.raises(TypeError, match="callable"):
        tf.cond(True, 1, 2)


def test_while_loop_keeps_structures():
    def f(n):
        return tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, {"sum": s["sum"] + tf.cast(i, tf.float32)}), (tf.constant(0), {"sum": tf.constant(0.0)}))

    i, state = both(f, tf.constant(5))
    assert i == 5 and state["sum"] == 10
    assert both(lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 2, [tf.constant(0)], maximum_iterations=3), tf.constant(100)) == [6]


def test_while_loop_assigns_variables():
    v, other = tf.Variable(0.0), tf.Variable(2.0)

    @tf.function
    def f(n):
        before = v + 0.0

        def body(i):
            v.assign_add(other * tf.cast(i, tf.float32))
            return i + 1

        tf.while_loop(lambda i: i < n, body, [0])
        return before, v.read_value()

    for start, end in ((0.0, 12.0), (12.0, 24.0)):
        before, after = f(tf.constant(4))
        assert (before.numpy(), after.numpy(), v.numpy()) == (start, end, end)


def test_while_loop_stops_by_a_variable_that_it_assigns():
    v = tf.Variable(0)
    f = tf.function(lambda n: tf.while_loop(lambda i: v < n, lambda i: (v.assign_add(2), i + 1)[1], [0]))
    assert f(tf.constant(5))[0].numpy() == 3 and v.numpy() == 6


def test_while_loop_has_gradients():
    def power(x, n):
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), (tf.constant(0), tf.constant(1.0)))[1]

    @tf.function
    def gradient(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = power(x, n)
        return tape.gradient(y, x)

    assert gradient(tf.constant(2.0), tf.constant(5)).numpy() == 80


def test_a_loop_that_changes_a_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape \(1,\) before the loop, but shape \(2,\) after one iteration"):
        tf.function(lambda x: tf.while_loop(lambda y: True, lambda y: (tf.concat([y, y], 0),), (x,)))(tf.zeros([1]))


@pytest.mark.parametrize("index, wanted", [(0, 10), (1, 20), (2, 30), (7, 30), (-1, 30)])
def test_switch_case(index, wanted):
    functions = [lambda: tf.constant(10), lambda: tf.constant(20), lambda: tf.constant(30)]
    assert both(lambda i: tf.switch_case(i, functions), tf.constant(index)) == wanted


def test_case_takes_the_first_that_holds():
    def f(x):
        return tf.case([(x < 0, lambda: -x), (x > 10, lambda: x * 0 + 10)], default=lambda: x)

    assert [both(f, tf.constant(x)) for x in (-3.0, 50.0, 4.0)] == [3, 10, 4]


def test_init_scope_runs_at_once():
    made = []

    @tf.function
    def f(x):
        with tf.init_scope():
            made.append(tf.constant(2.0) * 3)
            assert tf.executing_eagerly()
        assert not tf.executing_eagerly()
        return x * made[0]

    assert f(tf.constant(2.0)).numpy() == 12 and made[0].numpy() == 6


@pytest.mark.parametrize("rows", [3, 20])
def test_map_fn_scan_and_folds(rows):
    x = tf.reshape(tf.range(rows * 2, dtype=tf.float32), [rows, 2])
    array = x.numpy()
    np.testing.assert_allclose(both(lambda x: tf.map_fn(lambda row: tf.reduce_sum(row) * 2, x), x), array.sum(1) * 2)
    a, b = both(lambda x: tf.map_fn(lambda p: (p[0] + p[1], p[0] * p[1]), (x, x), fn_output_signature=(tf.float32, tf.float32)), x)
    np.testing.assert_allclose(a, 2 * array)
    np.testing.assert_allclose(b, array * array)
    np.testing.assert_allclose(both(lambda x: tf.scan(lambda s, row: s + row, x), x), array.cumsum(0))
    np.testing.assert_allclose(both(lambda x: tf.scan(lambda s, row: s + row, x, tf.ones([2]), reverse=True), x), array[::-1].cumsum(0)[::-1] + 1)
    np.testing.assert_allclose(both(lambda x: tf.foldl(lambda s, row: s * 0.5 + row, x), x), _fold(array))
    np.testing.assert_allclose(both(lambda x: tf.foldr(lambda s, row: s * 0.5 + row, x, tf.zeros([2])), x), _fold(np.concatenate([np.zeros((1, 2)), array[::-1]])))
    np.testing.assert_allclose(both(lambda x: tf.vectorized_map(lambda row: row[0] - row[1], x), x), array[:, 0] - array[:, 1])


def _fold(rows):
    state = rows[0]
    for row in rows[1:]:
        state = state * 0.5 + row
    return state


def test_map_fn_has_gradients_and_checks_its_arguments():
    x = tf.range(12, dtype=tf.float32)

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.map_fn(lambda e: e * e, x))
        return tape.gradient(y, x)

    np.testing.assert_allclose(gradient(x).numpy(), 2 * x.numpy())
    with pytest.raises(ValueError, match="scalars"):
        tf.map_fn(lambda e: e, tf.constant(1.0))
    assert tf.map_fn(lambda e: e * 2, tf.zeros([0, 3])).shape == (0, 3)


def test_an_array_of_which_little_was_written_is_zeros_elsewhere():
    few = tf.TensorArray(tf.float32, 6).write(4, [1.0, 2.0]).write(1, [3.0, 4.0]).stack()
    np.testing.assert_array_equal(few, [[0, 0], [3, 4], [0, 0], [0, 0], [1, 2], [0, 0]])

    @tf.function
    def rows(x):
        return tf.map_fn(lambda row: row * tf.reduce_sum(row), x)

    x = np.arange(40, dtype=np.float32).reshape(20, 2)
    np.testing.assert_allclose(rows(x), x * x.sum(1, keepdims=True))
    words = tf.TensorArray(tf.string, 4, element_shape=[])
    assert words.write(0, "a").read(0).numpy() == b"a"


def test_tensor_array():
    array = tf.TensorArray(tf.float32, size=3)
    array = array.write(0, [1.0, 2.0]).write(2, tf.constant([5.0, 6.0]))
    np.testing.assert_array_equal(array.stack().numpy(), [[1, 2], [0, 0], [5, 6]])
    np.testing.assert_array_equal(array.read(2).numpy(), [5, 6])
    assert array.size().numpy() == 3
    grown = tf.TensorArray(tf.int32, size=0, dynamic_size=True).write(1, 7)
    assert grown.size().numpy() == 2 and grown.stack().numpy().tolist() == [0, 7]
    rows = tf.TensorArray(tf.float32, size=2).unstack(tf.constant([[1.0], [2.0]]))
    assert rows.concat().numpy().tolist() == [1, 2] and rows.gather([1]).numpy().tolist() == [[2]]
    with pytest.raises(ValueError, match="Incompatible shape"):
        array.write(1, 1.0)
    with pytest.raises(TypeError, match="dtype is float32 but Op is trying to write dtype int32"):
        array.write(1, tf.constant([1, 2]))
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.TensorArray(tf.float32, size=1).write(1, 1.0)


def test_tensor_array_in_a_loop():
    @tf.function
    def squares(n):
        _, array = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a.write(i, tf.cast(i * i, tf.float32))), (0, tf.TensorArray(tf.float32, size=6)))
        return array.stack()

    assert squares(tf.constant(4)).numpy().tolist() == [0, 1, 4, 9, 0, 0]


def test_py_function_runs_with_values_each_time():
    seen = []

    def python(x, y):
        seen.append(float(x))
        return x * y.numpy()

    @tf.function
    def f(x):
        return tf.py_function(python, [x, 3.0], tf.TensorSpec([], tf.float32)) + 1

    assert f(tf.constant(2.0)).numpy() == 7 and f(tf.constant(5.0)).numpy() == 16
    assert seen == [2, 5]
    assert tf.py_function(lambda x: x + 1, [1], tf.int32).numpy() == 2


def test_py_function_has_gradients():
    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.py_function(lambda a: a * a * a, [x], tf.TensorSpec([], tf.float32))
        return tape.gradient(y, x)

    assert gradient(tf.constant(2.0)).numpy() == 12


def test_py_function_has_second_gradients_in_a_traced_function():
    @tf.function
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.py_function(lambda a: a * a * a, [x], tf.TensorSpec([], tf.float32))
            slope = inner.gradient(y, x)
        return outer.gradient(slope, x)

    assert second(tf.constant(3.0)).numpy() == 18


def test_numpy_function_and_what_python_raises():
    f = tf.function(lambda x: tf.numpy_function(np.sort, [x], tf.TensorSpec([3], tf.float32)))
    assert f(tf.constant([3.0, 1.0, 2.0])).numpy().tolist() == [1, 2, 3]

    def broken(x):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        tf.function(lambda x: tf.py_function(broken, [x], tf.TensorSpec([], tf.float32)))(tf.constant(1.0))
    with pytest.raises(ValueError, match=r"declared as float32 \[2\], the function returned float32 \[\]"):
        tf.function(lambda x: tf.py_function(lambda y: y, [x], tf.TensorSpec([2], tf.float32)))(tf.constant(1.0))
    assert tf.function(lambda x: tf.py_function(lambda y: y, [x], tf.float32))(tf.constant(1.0)).numpy() == 1


def test_print_in_a_traced_function_prints_each_time(capfd):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        tf.print("x is", x, {"v": v})
        v.assign_add(1.0)

    f(tf.constant([1, 2]))
    f(tf.constant([3, 4]))
    assert capfd.readouterr().err == "x is [1 2] {'v': 1}\nx is [3 4] {'v': 2}\n"


def test_assertions_run_with_the_function():
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x, "must be above zero")
        return x

    assert f(tf.constant(1.0)).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be above zero"):
        f(tf.constant(-1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="x == y"):
        tf.debugging.assert_equal(tf.constant([1, 2]), [1, 3])
    tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", "D")), (tf.zeros([3]), ("D",))])
    with pytest.raises(ValueError):
        tf.debugging.assert_shapes([(tf.zeros([2, 3]), ("N", "D")), (tf.zeros([2]), ("D",))])
    with pytest.raises(ValueError, match="rank"):
        tf.debugging.assert_rank(tf.zeros([2]), 2)


def test_nest():
    nested = {"b": [1, (2, 3)], "a": 4}
    assert tf.nest.flatten(nested) == [4, 1, 2, 3]
    assert tf.nest.map_structure(lambda x, y: x + y, nested, nested) == {"b": [2, (4, 6)], "a": 8}
    assert tf.nest.pack_sequence_as(nested, list("wxyz")) == {"a": "w", "b": ["x", ("y", "z")]}
    with pytest.raises(ValueError, match="3 items"):
        tf.nest.pack_sequence_as(nested, [1, 2, 3])
    with pytest.raises(TypeError, match="sequence type"):
        tf.nest.assert_same_structure([1], (1,))


def test_branches_may_give_tensors_of_different_shapes_and_different_texts():
    @tf.function
    def f(x):
        y = tf.ones([2]) if x > 0 else tf.zeros([3])
        return y, "positive" if x > 0 else "negative"

    for x, size, word in [(1.0, 2, b"positive"), (-1.0, 3, b"negative")]:
        y, text = f(tf.constant(x))
        assert y.shape == (size,) and tf.constant(text).numpy() == word
    assert tf.function(lambda x: tf.cond(x > 0, lambda: x, lambda: tf.zeros([2])))(tf.constant(-1.0)).shape == (2,)


def test_a_numpy_function_whose_shapes_nobody_knows_runs_in_a_function():
    @tf.function
    def step(action):
        return tf.numpy_function(lambda a: (np.array([a, a], np.float32), np.int32(1)), [action], [tf.float32, tf.int32])

    state, reward = step(tf.constant(2.0))
    assert state.numpy().tolist() == [2, 2] and reward.numpy() == 1
