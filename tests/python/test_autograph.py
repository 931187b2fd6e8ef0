"""Python's conditions in tf.function, its errors, and switching it off: what runs eagerly runs traced, with the same result."""
import inspect

import pytest
import tandemflow as tf

from autograph_cases import same


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


def helper(x):
    if x > 0:
        return x
    return -x


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
