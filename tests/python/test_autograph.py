"""Python's control flow in tf.function: what runs eagerly runs traced, with the same result."""
import functools
import inspect
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tandemflow as tf


def same(function, *cases):
    """Checks that tf.function gives what the function itself gives, for each case, traced once a signature."""
    traced = tf.function(function)
    for case in cases:
        args = [tf.constant(arg) for arg in (case if isinstance(case, tuple) else (case,))]
        wanted = tf.nest.map_structure(lambda t: np.asarray(t), function(*args))
        got = tf.nest.map_structure(lambda t: np.asarray(t), traced(*args))
        tf.nest.map_structure(np.testing.assert_allclose, got, wanted)
    return traced


# --- if ---


def test_if_elif_else():
    def sign(x):
        if x > 0:
            y = 1.0
        elif x < 0:
            y = -1.0
        else:
            y = x
        return y

    f = same(sign, 3.0, -2.0, 0.0)
    assert f.experimental_get_tracing_count() == 1


def test_if_without_else_changes_what_was_there():
    def f(x):
        y = x * 2
        if x > 1:
            y += 10
            x = x - 1
        return x + y

    same(f, 0.5, 3.0)


def test_static_conditions_stay_static():
    traced = []

    @tf.function
    def f(x, training, name=None):
        if training:
            traced.append("training")
            x = x * 2
        else:
            traced.append("inference")
        if name is not None and name == "a":
            return x
        return x + 1

    assert f(tf.constant(1.0), True).numpy() == 3 and f(tf.constant(1.0), False).numpy() == 2
    assert f(tf.constant(1.0), True, name="a").numpy() == 2
    assert traced == ["training", "inference", "training"]


def test_early_returns():
    def f(x):
        if x > 10:
            return x
        if x > 5:
            y = x * 2
            if y > 14:
                return y
            return -y
        x = x + 1
        return x * 100

    same(f, 11.0, 8.0, 6.0, 1.0)


def test_return_in_both_branches_and_in_nested_ones():
    def f(x, y):
        if x > 0:
            if y > 0:
                return 1
            else:
                return 2
        else:
            if y > 0:
                return 3
        return 4

    same(f, (1, 1), (1, -1), (-1, 1), (-1, -1))


def test_guard_clauses_without_a_value():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        if x < 0:
            return
        v.assign_add(x)

    assert f(tf.constant(2.0)) is None
    f(tf.constant(-3.0))
    assert v.numpy() == 2


def test_conditional_expressions_and_boolean_operators():
    def f(x, y):
        a = x if x > y else y
        b = 1.0 if x > 0 and y > 0 else -1.0
        c = 1.0 if x > 0 or not y > 0 else -1.0
        d = 1.0 if 0 < x < y < 10 else 0.0
        return a, b, c, d

    same(f, (1.0, 2.0), (-1.0, 2.0), (1.0, -2.0), (-1.0, -2.0), (3.0, 30.0))


def test_and_computes_its_right_side_only_if_needed():
    def f(x, i):
        found = i < 3 and x[i] > 0
        return found

    same(f, ([1.0, -1.0, 2.0], 0), ([1.0, -1.0, 2.0], 1), ([1.0, -1.0, 2.0], 7))


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
    with pytest.raises(NotImplementedError, match="drop_remainder=True"):
        tf.function(lambda: next(ragged))()


# --- Functions of all kinds. ---


def helper(x):
    """Called by others; converted with them."""
    if tf.reduce_sum(x) > 0:
        return x
    return -x


def test_called_functions_are_converted():
    class Scale:
        def __init__(self, factor):
            self.factor = factor
            self.__hidden = 2.0

        def __call__(self, x):
            if x[0] > 0:
                return x * self.factor
            return x * self.__hidden

        def method(self, x, *, power=1):
            for _ in tf.range(power):
                x = x * x
            return x

        @staticmethod
        def fixed(x):
            return x if x[0] > 0 else x - 1

    scale = Scale(3.0)

    def f(x):
        def inner(y):
            if y[1] > 0:
                y = y + offset
            return y

        offset = 1.0
        clip = lambda v: v if v[0] < 5 else v * 0 + 5  # noqa: E731
        add = functools.partial(lambda a, b: a + b if a[0] > 0 else b, b=x)
        return helper(x), scale(x), scale.method(x, power=2), Scale.fixed(x), inner(x), clip(x), add(x)

    same(f, [1.0, 2.0], [-1.0, 2.0], [-3.0, -2.0], [9.0, -9.0])


class Counter(tf.Module if hasattr(tf, "Module") else object):
    def __init__(self):
        self.total = tf.Variable(0)
        self.last = None
        self.limit = 3

    @tf.function
    def count(self, n):
        for i in tf.range(n):
            if self.total >= self.limit:
                break
            self.total.assign_add(1)
        return self.total.read_value()

    @tf.function
    def set_limit(self, flag):
        bound = self.limit
        if flag > 0:
            bound = 10
        return tf.constant(0) + bound


def test_methods():
    counter = Counter()
    assert counter.count(tf.constant(2)).numpy() == 2 and counter.count(tf.constant(5)).numpy() == 3
    assert counter.set_limit(tf.constant(1)).numpy() == 10 and counter.set_limit(tf.constant(-1)).numpy() == 3


def test_super_and_inheritance():
    class Base:
        def call(self, x):
            if x > 0:
                return x
            return x * 0

    class Double(Base):
        def call(self, x):
            if x > 10:
                return super().call(x)
            return 2 * super().call(x)

    f = tf.function(Double().call)
    assert [f(tf.constant(x)).numpy() for x in (-1.0, 3.0, 11.0)] == [0, 6, 11]


def test_closures_see_later_values_and_recursion_over_python_values_works():
    scale = 2.0

    @tf.function
    def f(x):
        if x > 0:
            x = x * scale
        return x

    scale = 5.0
    assert f(tf.constant(1.0)).numpy() == 5

    def power(x, n):
        return x if n <= 1 else x * power(x, n - 1)

    assert tf.function(power)(tf.constant(2.0), 5).numpy() == 32


def test_lambdas_and_defaults():
    f, g = tf.function(lambda x: x + 1 if x > 0 else x - 1), tf.function(lambda x: x * 2 if x > 0 else x)
    assert (f(tf.constant(1.0)).numpy(), g(tf.constant(1.0)).numpy(), f(tf.constant(-1.0)).numpy()) == (2, 2, -2)

    @tf.function
    def h(x, *rest, step=tf.constant(2.0), **named):
        for value in rest:
            x += value
        while x < 10:
            x += step
        return x + sum(named.values())

    assert h(tf.constant(1.0), 2.0, a=0.5).numpy() == 11.5


def test_attributes_of_objects_may_change_in_branches():
    class Box:
        value = 0.0

    box = Box()

    @tf.function
    def f(x):
        box.value = x
        if x > 1:
            box.value = x * 10
        result, box.value = box.value, 0.0
        return result

    assert f(tf.constant(2.0)).numpy() == 20 and f(tf.constant(1.0)).numpy() == 1


def test_items_of_containers_may_change_in_branches_and_loops():
    def f(x):
        table, pair = {"a": x, "b.c": x * 0}, [x, 0.0]
        if x > 1:
            table["a"] = x * 10
            pair[1] = x
        else:
            table["b.c"] += 1
        for _ in tf.range(3):
            pair[0] += 1.0
        return table["a"], table["b.c"], pair[0], pair[1]

    same(f, 2.0, 0.5)

    def g(x):
        table = {}
        if x > 1:
            table["new"] = x
        return table

    with pytest.raises(ValueError, match=r"table\['new'\]' must also be initialized in the else branch"):
        tf.function(g)(tf.constant(2.0))


def test_structures_and_tuples_through_branches_and_loops():
    def f(n):
        pair, table = (1, 1), {"sum": 0}
        for _ in tf.range(n):
            pair = (pair[1], pair[0] + pair[1])
            table = {"sum": table["sum"] + pair[0]}
        if n > 3:
            pair = (pair[1], pair[0])
        return pair, table

    same(f, 1, 6)


def test_with_try_and_assert():
    @tf.function
    def f(x):
        try:
            with tf.GradientTape() as tape:
                tape.watch(x)
                if x > 1:
                    y = x * x
                else:
                    y = x
            return tape.gradient(y, x)
        finally:
            assert x < 100, "too large"

    assert f(tf.constant(3.0)).numpy() == 6 and f(tf.constant(0.5)).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        f(tf.constant(300.0))


def test_builtins_of_tensors():
    def f(x, y):
        return max(x, y), min(x, y), abs(x), float(y), int(x)

    same(f, (3.0, -4.0))


def test_a_loop_can_be_interrupted():
    code = (
        "import signal\nimport tandemflow as tf\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # jobs in the background begin without it
        "f = tf.function(lambda: tf.while_loop(lambda i: i >= 0.0, lambda i: (i * 1.0,), (tf.constant(1.0),)))\n"
        "print('ready', flush=True)\n"
        "try:\n    f()\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "ready\n"
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        try:
            assert program.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            program.kill()


# --- Switching it off, looking at it. ---


def test_without_autograph_a_tensor_is_no_condition():
    @tf.function(autograph=False)
    def f(x):
        return x if x > 0 else -x

    with pytest.raises(RuntimeError, match="E0701"):
        f(tf.constant(1.0))

    @tf.autograph.experimental.do_not_convert
    def g(x):
        return x if x > 0 else -x

    with pytest.raises(RuntimeError, match="E0701"):
        tf.function(lambda x: g(x))(tf.constant(1.0))


def test_to_code_shows_what_runs():
    code = tf.autograph.to_code(helper)
    assert "ag__.if_stmt" in code and "def helper(x):" in code
    assert tf.autograph.to_graph(helper)(tf.constant(-1.0)).numpy() == 1


# --- Errors. ---


def test_branches_that_do_not_fit():
    def undefined(x):
        if x > 0:
            y = x
        return y

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        tf.function(undefined)(tf.constant(1.0))

    def dtypes(x):
        if x > 0:
            y = tf.constant(1.5)
        else:
            y = tf.constant(1)
        return y

    with pytest.raises(TypeError, match="'y' has dtype float32 in the main branch, but dtype int32 in the else branch"):
        tf.function(dtypes)(tf.constant(1.0))

    def nothing(x):
        y = None
        if x > 0:
            y = x
        return y

    with pytest.raises(ValueError, match="'y' is None at the end of the else branch"):
        tf.function(nothing)(tf.constant(1.0))

    def some(x):
        if x > 0:
            return x

    with pytest.raises(ValueError, match="returns a value in some of its branches only"):
        tf.function(some)(tf.constant(1.0))


def test_loops_that_do_not_fit():
    def grows(x):
        for _ in tf.range(3):
            x = tf.concat([x, x], 0)
        return x

    with pytest.raises(ValueError, match=r"'x' has shape \(1,\) before the loop, but shape \(2,\) after one iteration"):
        tf.function(grows)(tf.zeros([1]))

    def changes(n):
        name = "a"
        while n > 0:
            name = "b"
            n -= 1
        return tf.constant(len(name))

    with pytest.raises(TypeError, match="'name' must be a tensor"):
        tf.function(changes)(tf.constant(1))


def test_an_undefined_variable_is_python_s_error():
    def f(x):
        if False:
            y = 1
        return x + y

    with pytest.raises(UnboundLocalError, match="'y'"):
        tf.function(f)(tf.constant(1.0))


def test_errors_point_to_the_line_of_the_program():
    def f(x):
        if x > 0:
            x = tf.matmul(x, x)  # the line that fails
        return x

    with pytest.raises(Exception) as caught:
        tf.function(f)(tf.constant(1.0))
    lines, first = inspect.getsourcelines(f)
    wanted = first + next(i for i, line in enumerate(lines) if "fails" in line)
    entries = [(entry.path, entry.lineno + 1) for entry in caught.traceback]
    assert any(str(path).endswith("test_autograph.py") and line == wanted for path, line in entries)


def test_operands_of_or_may_be_none():
    noted = []
    assert tf.function(lambda x: noted.append(1) or x)(tf.constant(2.0)).numpy() == 2 and noted == [1]
