"""Functions, methods, closures and objects in tf.function: what they call is converted too."""
import functools
import signal
import subprocess
import sys
import time

import pytest
import tandemflow as tf

from autograph_cases import same


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
