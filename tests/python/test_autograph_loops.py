"""Python's loops in tf.function: over tensors, ranges and datasets, with break, continue and return."""
import numpy as np
import pytest
import tandemflow as tf

from autograph_cases import same


# --- while ---


def test_collatz():
    def collatz(n):
        steps = 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        return steps

    f = same(collatz, 1, 6, 27)
    assert f(tf.constant(27)).numpy() == 111 and f.experimental_get_tracing_count() == 1


def test_while_with_break_continue_and_else():
    def f(n):
        i, total, clean = 0, 0, 0
        while i < n:
            i += 1
            if i % 3 == 0:
                continue
            if total > 20:
                break
            total += i
        else:
            clean = 1
        return i, total, clean

    same(f, 0, 5, 8, 100)


def test_while_true_with_a_break():
    def f(x):
        count = 0
        while True:
            x = x / 2
            count += 1
            if x < 1:
                break
        return x, count

    same(f, 0.1, 1.0, 100.0)


def test_return_out_of_a_loop():
    def first_above(x, limit):
        for i in tf.range(tf.shape(x)[0]):
            if x[i] > limit:
                return i
        return -1

    same(first_above, ([1.0, 5.0, 9.0], 4.0), ([1.0, 5.0, 9.0], 40.0), ([1.0, 5.0, 9.0], 0.0))


def test_nested_loops():
    def f(n):
        total = 0
        for i in tf.range(n):
            j = 0
            while j < i:
                if j == 3:
                    break
                total += i * j
                j += 1
        return total

    same(f, 0, 3, 7)


def test_loops_of_static_length_unroll():
    traced = []

    @tf.function
    def f(x):
        for i in range(3):
            traced.append(i)
            x = x + i
        n = 0
        while n < 2:
            traced.append("n")
            n += 1
        return x * n

    assert f(tf.constant(1.0)).numpy() == 8
    assert traced == [0, 1, 2, "n", "n"]


def test_a_loop_that_counts_in_tensors_is_not_unrolled():
    traced = []

    @tf.function
    def f(x):
        i = tf.constant(0)
        while i < 1000:
            traced.append(1)
            x += 1
            i += 1
        return x

    assert f(tf.constant(0.0)).numpy() == 1000 and len(traced) == 1


def test_a_break_in_an_unrolled_loop_may_depend_on_a_tensor():
    def f(x):
        for factor in [1.0, 2.0, 4.0]:
            if x * factor > 10:
                break
            x = x * factor
        return x

    same(f, 1.0, 4.0, 20.0)


# --- for ---


def test_for_over_rows_range_and_variables():
    def f(x):
        total = tf.zeros([2])
        for row in x:
            total += row * row
        for i in tf.range(3):
            total += tf.cast(i, tf.float32)
        return total

    f = same(f, [[1.0, 2.0], [3.0, 4.0]])
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("arguments", [(5,), (2, 9), (1, 10, 3), (10, 0, -4), (5, 5)])
def test_ranges_of_tensors(arguments):
    def f(*ends):
        total, last = 0, -1
        for i in tf.range(*ends):
            total += i
            last = i
        return total, last

    same(f, arguments)

    def python_range(*ends):
        total = 0
        for i in range(*ends):
            total += i
        return total

    same(python_range, arguments)


def test_a_loop_body_is_traced_once():
    traced = []

    @tf.function
    def f(n):
        x = tf.constant(1.0)
        for _ in tf.range(n):
            traced.append(1)
            x = x * 2
        return x

    assert f(tf.constant(10)).numpy() == 1024 and len(traced) == 1


def test_fizzbuzz(capfd):
    @tf.function
    def fizzbuzz(max_num):
        counter = 0
        for num in range(1, max_num + 1):
            if num % 3 == 0 and num % 5 == 0:
                tf.print("FizzBuzz")
            elif num % 3 == 0:
                tf.print("Fizz")
            elif num % 5 == 0:
                tf.print("Buzz")
            else:
                tf.print(num)
            counter += 1
        return counter

    assert fizzbuzz(tf.constant(15)).numpy() == 15
    words = ["FizzBuzz" if n % 15 == 0 else "Fizz" if n % 3 == 0 else "Buzz" if n % 5 == 0 else str(n) for n in range(1, 16)]
    assert capfd.readouterr().err.split() == words


def test_dynamic_rnn():
    weights = tf.constant(np.linspace(-1, 1, 12).reshape(3, 4), tf.float32)

    def rnn(inputs, state):
        inputs = tf.transpose(inputs, [1, 0, 2])
        outputs = tf.TensorArray(tf.float32, size=inputs.shape[0])
        for i in tf.range(inputs.shape[0]):
            state = tf.tanh(tf.matmul(inputs[i], weights) + state)
            outputs = outputs.write(i, state)
        return tf.transpose(outputs.stack(), [1, 0, 2]), state

    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype(np.float32)
    same(rnn, (x, np.zeros((2, 4), np.float32)))

    @tf.function
    def gradient(x, state):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs, _ = rnn(x, state)
            loss = tf.reduce_sum(outputs * outputs)
        return tape.gradient(loss, x)

    x, state = tf.constant(x), tf.zeros([2, 4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.square(rnn(x, state)[0]))
    np.testing.assert_allclose(gradient(x, state).numpy(), tape.gradient(loss, x).numpy(), rtol=1e-5)


def test_growing_tensor_array():
    def f(x):
        out = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(len(x)):
            out = out.write(i, x[i] * 2)
        return out.stack()

    same(f, [1.0, 2.0, 3.0])


# --- Training loops. ---


def test_training_loop_over_a_range():
    x = tf.constant(np.random.default_rng(1).normal(size=(16, 3)).astype(np.float32))
    y = tf.matmul(x, tf.constant([[1.0], [-2.0], [3.0]]))

    def train(w, steps):
        loss = tf.constant(0.0)
        for step in tf.range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            if loss < 1e-4:
                break
        return step, loss

    eager, traced = tf.Variable(tf.zeros([3, 1])), tf.Variable(tf.zeros([3, 1]))
    wanted = train(eager, tf.constant(200))
    got = tf.function(train)(traced, tf.constant(200))
    assert got[0].numpy() == wanted[0].numpy() > 3
    np.testing.assert_allclose(traced.numpy(), eager.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [4, 5])
def test_training_loop_over_a_dataset(batch):
    """Also when the last batch is smaller than the others."""
    x = np.random.default_rng(2).normal(size=(12, 2)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, x @ np.float32([[2.0], [1.0]]))).batch(batch)

    def epoch(w, dataset):
        total, batches = 0.0, 0
        for features, labels in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(features, w) - labels))
            w.assign_sub(0.1 * tape.gradient(loss, w))
            total += loss
            batches += 1
        return total / tf.cast(batches, tf.float32)

    eager, variable = tf.Variable(tf.zeros([2, 1])), tf.Variable(tf.zeros([2, 1]))
    traced = tf.function(epoch)
    for _ in range(3):
        wanted, got = epoch(eager, dataset), traced(variable, dataset)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5)
    np.testing.assert_allclose(variable.numpy(), eager.numpy(), rtol=1e-5)
    assert traced.experimental_get_tracing_count() == 1


def test_breaking_out_of_a_dataset():
    dataset = tf.data.Dataset.range(100)

    @tf.function
    def f(limit):
        total = tf.constant(0, tf.int64)
        for number in dataset:
            if number % 2 == 0:
                continue
            if number > limit:
                break
            total += number
        return total

    assert f(tf.constant(10, tf.int64)).numpy() == 25
    assert f(tf.constant(1000, tf.int64)).numpy() == 2500


def test_iterators_of_datasets():
    iterator = iter(tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0, 3.0, 4.0, 5.0]}))

    @tf.function
    def f(steps):
        total = 0.0
        for _ in tf.range(steps):
            total += next(iterator)["a"]
        return total

    assert f(tf.constant(2)).numpy() == 3 and f(tf.constant(3)).numpy() == 12
    with pytest.raises(tf.errors.OutOfRangeError):
        f(tf.constant(1))
    ragged = iter(tf.data.Dataset.range(5).batch(2))
    assert tf.function(lambda: next(ragged))().numpy().tolist() == [0, 1]  # op by op


def test_an_array_grows_in_loops_whose_number_of_turns_only_the_call_knows():
    @tf.function
    def by_index(n):
        squares = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            squares = squares.write(i, i * i)
        return squares.stack()

    @tf.function
    def by_size(n):
        squares = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            if i % 2 == 0:
                squares = squares.write(squares.size(), i * i)
        return squares.stack()

    assert by_index(tf.constant(4)).numpy().tolist() == [0, 1, 4, 9]
    assert by_size(tf.constant(5)).numpy().tolist() == [0, 4, 16]


def test_a_loop_may_change_shapes_when_it_says_so():
    @tf.function
    def f(n):
        x = tf.zeros([1], tf.int32)
        for i in tf.range(n):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None]))])
            x = tf.concat([x, [i]], 0)
        return x

    assert f(tf.constant(3)).numpy().tolist() == [0, 0, 1, 2]
