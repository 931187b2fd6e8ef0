"""Traced functions with sizes that are left open: one trace for any batch, and never another result than without a graph."""
import contextlib
import io

import numpy as np
import pytest

import tandemflow as tf

SIZES = [4, 1, 2, 3, 5, 8, 17]
ROWS = [tf.TensorSpec([None, 3])]


def numbers(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def traces_of(function, signature=ROWS, sizes=SIZES, make=None):
    """Compares the traced function with the same ops run at once, for every size; how often it was traced."""
    make = make or (lambda n: [numbers(*[n if size is None else size for size in spec.shape]) for spec in signature])
    traced = tf.function(function, input_signature=signature)
    for size in sizes:
        arguments = [tf.constant(argument) for argument in make(size)]
        found, expected = tf.nest.flatten(traced(*arguments)), tf.nest.flatten(function(*arguments))
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            assert a.dtype == b.dtype and a.shape == b.shape, f"size {size}: {a.shape} {b.shape}"
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5, err_msg=f"size {size}")
    return traced.experimental_get_tracing_count()


def rows_by_len(x):
    return len(x)


def rows_of(x):
    return tf.shape(x)[0]


SERVED = {
    "a layer": lambda x: tf.nn.relu(tf.matmul(x, tf.ones([3, 4])) + 1.0),
    "a mean by hand": lambda x: tf.reduce_sum(x) / tf.cast(rows_of(x), tf.float32),
    "its size as a number": lambda x: tf.cast(tf.size(x), tf.float32) * x,
    "a half as a number": lambda x: tf.cast(rows_of(x) // 2, tf.float32) * x,
    "a remainder as a number": lambda x: tf.cast(rows_of(x) % 3, tf.float32) * x,
    "a root": lambda x: x / tf.sqrt(tf.cast(rows_of(x), tf.float32)),
    "reshape": lambda x: tf.reshape(x, [rows_of(x), 1, 3]),
    "reshape by a product": lambda x: tf.reshape(x, [rows_of(x) * 3]),
    "reshape to what is left": lambda x: tf.reshape(x, [-1]),
    "reshape like another": lambda x: tf.reshape(tf.reshape(x, [-1]), tf.shape(x)),
    "zeros": lambda x: tf.zeros([rows_of(x), 2]) + x[:, :2],
    "zeros like it": lambda x: tf.zeros_like(x) + tf.ones_like(x),
    "fill": lambda x: tf.fill([rows_of(x)], 2.0),
    "range": lambda x: tf.cast(tf.range(rows_of(x)), tf.float32),
    "a reversed range": lambda x: tf.gather(x, tf.range(rows_of(x) - 1, -1, -1)),
    "concat of columns": lambda x: tf.concat([x, tf.ones_like(x)], axis=1),
    "concat of rows": lambda x: tf.concat([x, x], axis=0),
    "all but the last": lambda x: x[: rows_of(x) - 1],
    "all but the last, by Python": lambda x: x[:-1],
    "all but the first": lambda x: x[1:],
    "the last": lambda x: x[-1],
    "the last, by its number": lambda x: x[rows_of(x) - 1],
    "an index that is known later": lambda x: x[tf.argmax(x[:, 0])],
    "backwards": lambda x: x[::-1],
    "a number of rows by len": lambda x: x * tf.cast(rows_by_len(x), tf.float32),
    "a range in steps": lambda x: tf.range(0, rows_of(x) * 2, 3),
    "a range down in steps": lambda x: tf.range(rows_of(x), -5, -2),
    "rows that are left over": lambda x: tf.zeros([rows_of(x) % 4 + 1]),
    "as many as pages": lambda x: tf.zeros([-(-rows_of(x) // 2)]),
    "columns": lambda x: x[:, 1:],
    "a new axis": lambda x: x[:, tf.newaxis, :] + x[..., tf.newaxis],
    "tile": lambda x: tf.tile(x, [2, 1]),
    "stack": lambda x: tf.stack([x, x]),
    "unstacked columns": lambda x: tf.unstack(x, axis=1),
    "split columns": lambda x: tf.split(x, 3, axis=1),
    "softmax over the batch": lambda x: tf.nn.softmax(x, axis=0),
    "statistics": lambda x: (tf.reduce_mean(x), tf.math.reduce_std(x, axis=0), tf.argmax(x, axis=0)),
    "moments": lambda x: tf.nn.moments(x, axes=[0]),
    "broadcast_to": lambda x: tf.broadcast_to(tf.reduce_sum(x, axis=0, keepdims=True), tf.shape(x)),
    "one_hot": lambda x: tf.one_hot(tf.argmax(x, axis=1), 3),
    "transpose": lambda x: tf.transpose(x),
    "expand_dims": lambda x: tf.expand_dims(x, 0),
    "pad": lambda x: tf.pad(x, [[1, 1], [0, 0]]),
    "sort": lambda x: tf.sort(x, axis=1),
    "cumsum": lambda x: tf.cumsum(x, axis=0),
    "where": lambda x: tf.where(x > 0, x, tf.zeros_like(x)),
    "einsum": lambda x: tf.einsum("bi,ij->bj", x, tf.ones([3, 2])),
    "l2_normalize": lambda x: tf.math.l2_normalize(x, axis=1),
    "reduce_logsumexp": lambda x: tf.reduce_logsumexp(x, axis=1),
    "reverse": lambda x: tf.reverse(x, axis=[0]),
    "a norm": lambda x: tf.norm(x, axis=0),
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x),
    "while": lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [tf.constant(0), x])[1],
    "while over rows": lambda x: tf.while_loop(lambda i, y: i < rows_of(x), lambda i, y: (i + 1, y + x[i]), [tf.constant(0), tf.zeros([3])])[1],
    "map_fn": lambda x: tf.map_fn(lambda row: row * 2.0, x),
    "scan": lambda x: tf.scan(lambda before, row: before * 0.5 + row, x, tf.zeros([3])),
    "foldl": lambda x: tf.foldl(lambda before, row: before * 0.5 + row, x, tf.zeros([3])),
    "foldr": lambda x: tf.foldr(lambda before, row: before * 0.5 + row, x, tf.zeros([3])),
    "a scan from the end": lambda x: tf.scan(lambda before, row: before * 0.5 + row, x, tf.zeros([3]), reverse=True),
    "a scan from the first": lambda x: tf.scan(lambda before, row: before * 0.5 + row, tf.concat([tf.ones([1, 3]), x], 0)),
    "vectorized_map": lambda x: tf.vectorized_map(lambda row: row * tf.reduce_sum(row), x),
    "a custom gradient": lambda x: tf.custom_gradient(lambda y: (y * 2.0, lambda up: up))(x),
    "a sparse loss": lambda x: tf.keras.losses.sparse_categorical_crossentropy(tf.argmax(x, 1), x, from_logits=True),
}

# Some of these are served as well, others traced for each size: the results must be right.
RIGHT = {
    "linspace": lambda x: tf.linspace(0.0, 1.0, rows_of(x)),
    "the second half": lambda x: x[rows_of(x) // 2 :],
    "every second": lambda x: x[::2],
    "the first hundred": lambda x: x[:100],
    "the first two": lambda x: x[:2],
    "the last two": lambda x: x[-2:],
    "from the third": lambda x: x[2:],
    "without edges": lambda x: x[1:-1],
    "a number that is large": lambda x: x + 1099513724928.0,
    "numbers that are large": lambda x: tf.fill([2], 1099513724928.0) + tf.cast(tf.constant(1099513724928, tf.int64), tf.float32) * x[0, 0],
    "a small number": lambda x: x * 1e-12,
    "a product with itself": lambda x: tf.matmul(x, x, transpose_b=True),
    "einsum with itself": lambda x: tf.einsum("bi,ci->bc", x, x),
    "a unit matrix": lambda x: tf.eye(rows_of(x)) * 2.0,
    "squeeze": lambda x: tf.squeeze(x),
    "squeeze of a column": lambda x: tf.squeeze(x[:, :1]),
    "in Python by rows": lambda x: tf.add_n([row for row in x]),
    "unstacked rows": lambda x: tf.add_n(tf.unstack(x)),
    "len": lambda x: x * float(len(x)),
    "halves": lambda x: tf.reshape(tf.concat([x, x], 0), [2, -1, 3]),
    "top_k over the batch": lambda x: tf.math.top_k(tf.transpose(x), k=1).values,
    "repeat": lambda x: tf.repeat(x, 2, axis=0),
    "roll": lambda x: tf.roll(x, shift=2, axis=0),
    "boolean numbers": lambda x: tf.cast(rows_of(x) > 2, tf.float32) * x,
    "maximum of a size": lambda x: tf.zeros([tf.maximum(rows_of(x), 3)]),
    "band_part": lambda x: tf.linalg.band_part(tf.matmul(x, x, transpose_b=True), -1, 0),
    "sequence_mask": lambda x: tf.sequence_mask(tf.range(rows_of(x)), 4),
    "segment_sum": lambda x: tf.math.unsorted_segment_sum(x, tf.range(rows_of(x)) % 2, 2),
    "gather_nd": lambda x: tf.gather_nd(x, [[0, 1]]),
    "scatter_nd": lambda x: tf.scatter_nd(tf.range(rows_of(x))[:, None], x, tf.shape(x)),
    "meshgrid": lambda x: tf.meshgrid(x[:, 0], x[0]),
}


@pytest.mark.parametrize("name", SERVED)
def test_one_trace_serves_every_size(name):
    assert traces_of(SERVED[name]) <= 1 + (name in ("all but the first", "all but the last", "all but the last, by Python", "stack"))


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("sizes", [SIZES, [1, 4, 2, 7], [3, 1, 2], [120, 100, 99, 101]], ids=str)
def test_every_size_is_right(name, sizes):
    traces_of(RIGHT[name], sizes=sizes)


@pytest.mark.parametrize("name", {**SERVED, **RIGHT})
def test_gradients_are_right_for_every_size(name):
    function = {**SERVED, **RIGHT}[name]

    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            results = [r for r in tf.nest.flatten(function(x)) if r.dtype == tf.float32]
            loss = tf.add_n([tf.reduce_sum(r * r) + tf.reduce_mean(r) for r in results] + [tf.reduce_sum(x) * 0.0])
        return tape.gradient(loss, x)

    traces_of(gradient, sizes=[3, 1, 5, 2])


def test_the_python_runs_once():
    runs = []

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def f(x):
        print("tracing")
        runs.append(x.shape[0])
        return tf.matmul(x, tf.ones([4, 2]))

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for size in (1, 2, 7, 32, 100, 1000):
            assert f(tf.ones([size, 4])).shape == (size, 2)
    assert text.getvalue() == "tracing\n"
    assert runs == [None]
    assert f.experimental_get_tracing_count() == 1


def test_inside_the_trace_the_size_is_none_and_tf_shape_a_tensor():
    seen = {}

    @tf.function(input_signature=[tf.TensorSpec([None, 4])])
    def f(x):
        y = tf.nn.relu(x) * 2.0
        seen.update(shape=x.shape, derived=y.shape.as_list(), text=repr(y), rows=tf.shape(x)[0], rank=len(x.shape), last=x.shape[-1])
        return y

    f(tf.ones([5, 4]))
    assert seen["shape"].as_list() == [None, 4] and seen["shape"].rank == 2 and not seen["shape"].is_fully_defined()
    assert seen["derived"] == [None, 4]
    assert "shape=(None, 4)" in seen["text"]
    assert isinstance(seen["rows"], tf.Tensor)
    assert (seen["rank"], seen["last"]) == (2, 4)


def test_programs_that_ask_whether_a_size_is_known_go_the_way_for_unknown_ones():
    def f(x):
        rows = x.shape[0] if x.shape[0] is not None else tf.shape(x)[0]
        return tf.reshape(x, [rows, 3, 1])

    assert traces_of(f) == 1


def test_a_program_that_leaves_the_trace_sees_no_size_either():
    seen = []

    @tf.function(input_signature=ROWS)
    def f(x):
        with tf.init_scope():
            seen.append(x.shape[0])
            tf.function(lambda y: y * 2.0)(tf.ones([2]))
            seen.append(x.shape[0])
        seen.append(x.shape[0])
        return x * 2.0

    for size in SIZES:
        assert f(tf.ones([size, 3])).shape == (size, 3)
    assert seen == [None] * 3


def test_why_a_function_is_traced_for_each_size_can_be_read():
    f = tf.function(lambda x: x[::2] + x[1::2], input_signature=ROWS)  # of one size only where the number of rows is even
    for size in (4, 6):
        assert f(tf.ones([size, 3])).shape == (size // 2, 3)
    assert "its sizes cannot be left open" in f.retraces()[-1].reason


def test_a_failure_is_the_one_of_the_sizes_at_hand():
    f = tf.function(lambda x: tf.matmul(x, tf.ones([5, 2])), input_signature=ROWS)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[2, 3\]"):
        f(tf.ones([2, 3]))


def test_losses_gradients_and_updates_follow_the_batch():
    w = tf.Variable(tf.ones([3, 1]))

    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y)) + tf.keras.losses.MeanSquaredError()(y, tf.matmul(x, w))
        return loss, tape.gradient(loss, w)

    assert traces_of(step, [tf.TensorSpec([None, 3]), tf.TensorSpec([None, 1])]) == 1


def test_sizes_that_are_equal_by_chance_are_not_taken_for_one():
    f = tf.function(lambda x, y: x + y, input_signature=[tf.TensorSpec([None, 3])] * 2)
    for a, b in [(4, 4), (1, 4), (4, 1), (2, 2), (1, 1), (6, 1)]:
        x, y = numbers(a, 3), numbers(b, 3)
        np.testing.assert_allclose(f(x, y).numpy(), x + y)
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(numbers(2, 3), numbers(3, 3))


def test_several_axes_may_be_open():
    def f(x):
        return tf.reduce_sum(x, axis=1), tf.transpose(x, [1, 0, 2]), tf.shape(x)[1] * 2

    f = tf.function(f, input_signature=[tf.TensorSpec([None, None, 3])])
    for shape in [(2, 5, 3), (4, 1, 3), (3, 7, 3), (1, 2, 3)]:
        x = numbers(*shape)
        summed, turned, length = f(x)
        np.testing.assert_allclose(summed.numpy(), x.sum(axis=1), rtol=1e-5)
        np.testing.assert_allclose(turned.numpy(), x.transpose(1, 0, 2))
        assert length.numpy() == 2 * shape[1]
    assert f.experimental_get_tracing_count() == 1


def test_empty_batches_are_right():
    for name, function in SERVED.items():
        if name in ("the last", "the last, by its number", "an index that is known later", "statistics"):
            continue  # of nothing there is none
        traces_of(function, sizes=[3, 0, 2])


def test_random_numbers_have_the_size_of_the_batch():
    f = tf.function(lambda x: x + tf.random.normal(tf.shape(x), seed=5), input_signature=ROWS)
    for size in SIZES:
        noise = f(tf.zeros([size, 3])).numpy()
        assert noise.shape == (size, 3) and len(np.unique(noise)) == 3 * size
    assert f.experimental_get_tracing_count() == 1


def python_branch(x):
    if tf.reduce_sum(x) > 0:
        return x * 2.0
    return tf.zeros([tf.shape(x)[0], 3])


def python_loop_over_rows(x):
    total = tf.zeros([3])
    for row in x:
        if row[0] > 0:
            total += row
    return total


def python_loop_over_a_range(x):
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
    for i in tf.range(tf.shape(x)[0]):
        rows = rows.write(i, x[i] * tf.cast(i, tf.float32))
    return rows.stack()


def python_while(x):
    i = 0
    while tf.reduce_sum(tf.abs(x)) > 1.0 and i < 5:
        x = x * 0.5
        i += 1
    return x


def checked(x):
    tf.debugging.assert_greater(tf.shape(x)[0], 0)
    tf.debugging.assert_all_finite(x, "finite")
    return x + 1.0


@pytest.mark.parametrize("program", [python_branch, python_loop_over_rows, python_loop_over_a_range, python_while, checked])
def test_control_flow_written_in_python_follows_the_size(program):
    assert traces_of(program) == 1


def test_what_is_printed_follows_the_size(capfd):
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def show(x):
        tf.print("rows", tf.shape(x)[0], x)

    show(tf.ones([2])), show(tf.ones([3]))
    assert capfd.readouterr().err.split("\n")[:2] == ["rows 2 [1 1]", "rows 3 [1 1 1]"]
    assert show.experimental_get_tracing_count() == 1


# Slices whose ends depend on the size: those of one or two rows may be traced by themselves, all others share a trace.
SLICED = {
    "the first half": lambda x: x[: rows_of(x) // 2],
    "the second half": lambda x: x[rows_of(x) // 2 :],
    "both halves": lambda x: tf.concat([x[rows_of(x) // 2 :], x[: rows_of(x) // 2]], 0),
    "every second": lambda x: x[::2],
    "every second, from the second": lambda x: x[1::2],
    "every third, backwards": lambda x: x[::-3],
    "every second of those inside": lambda x: x[1:-1:2],
    "a quarter as a half of a half": lambda x: x[: rows_of(x) // 2][: rows_of(x) // 2 // 2],
    "half of its length": lambda x: x[: len(x) // 2],
    "a mean of a half": lambda x: tf.reduce_mean(x[::2]) + tf.reduce_mean(x, axis=0),
    "a half, twice": lambda x: tf.reshape(tf.tile(x[: rows_of(x) // 2], [2, 1]), [2, -1]),
    "a product with the half": lambda x: tf.matmul(x[::2], x[::2], transpose_a=True),
}


@pytest.mark.parametrize("name", SLICED)
def test_parts_of_the_batch_need_one_trace(name):
    function = SLICED[name]
    assert traces_of(function, sizes=[8, 5, 6, 7, 13, 16, 31]) == 1
    traces_of(function, sizes=[9, 3, 4, 10])
    traces_of(lambda x: function(x) * 1.0, sizes=[6, 4, 5])


def test_the_gradient_of_a_part_of_the_batch_needs_one_trace():
    w = tf.Variable(2.0)

    def gradient(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(w * x[::2] ** 2) + tf.reduce_sum(w * x[: rows_of(x) // 3])
        return tape.gradient(loss, w)

    assert traces_of(gradient, sizes=[7, 4, 5, 9, 12]) == 1


def test_parts_of_two_open_sizes_need_one_trace():
    def part(x):
        return x[::2, ::3], x[: tf.shape(x)[0] // 2, : tf.shape(x)[1] // 4]

    signature = [tf.TensorSpec([None, None])]
    assert traces_of(part, signature, [8, 9, 17], lambda n: [numbers(n, n + 5)]) == 1


def test_a_loop_over_len_needs_one_trace():
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def total(x):
        found = 0.0
        for i in range(len(x)):
            found += x[i]
        return found

    assert [float(total(tf.range(float(size)))) for size in (2, 3, 7)] == [1, 3, 21]
    assert total.experimental_get_tracing_count() == 1


def test_more_parts_than_there_are_numbers_for_are_traced_for_each_size():
    def many(x):
        return [tf.reduce_sum(x[: rows_of(x) // divisor]) for divisor in range(2, 10)]

    assert traces_of(many, sizes=[12, 30]) == 2
