"""Lists and dicts that branches and loops of traced functions change in their place: as Python would, whichever branch runs."""
import collections

import numpy as np
import pytest

import tandemflow as tf


def appended_in_both(x):
    parts = []
    for k in range(3):
        if x > k:
            parts.append(x - k)
        else:
            parts.append(x * 0)
    return parts


def appended_in_one(x):
    parts = [x]
    if x > 0:
        parts.append(x * 2)
    return parts


def items_by_key(x):
    found = {}
    for key in ("a", "b"):
        if x > 0:
            found[key] = x
        else:
            found[key] = -x
    return list(found.values())


def taken_away(x):
    parts = [x, x + 1, x + 2]
    if x > 0:
        parts.pop()
    else:
        parts.pop(0)
    return parts


def of_this_branch_alone(x):
    if x > 0:
        parts = []
        parts.append(x)
        parts.append(x * 2)
        y = parts[0] + parts[1]
    else:
        y = x
    return [y]


def carried_by_a_loop(x):
    states = [x, x]
    n = x * 0
    while n < 3:
        for k in range(2):
            states[k] = states[k] + k + 1
        n = n + 1
    return states


def grown_by_a_loop(x):
    parts = [x]
    while parts[-1] < 10:
        parts.append(parts[-1] * 2 + 21)
    return parts


def other_containers(x):
    last, options = collections.deque([x], 2), {"scale": x}
    if x > 0:
        last.append(x * 5)
        options.update(scale=x * 7)
    else:
        last.append(x)
    return [last[-1], options["scale"]]


def put(parts, x):
    parts.append(x)


def handed_to_a_function(x):
    parts = []
    if x > 0:
        put(parts, x)
    else:
        put(parts, -x)
    return parts


def taken_from_around(x):
    parts = []

    def keep(value):
        parts.append(value)

    if x > 0:
        keep(x)
    else:
        keep(-x)
    return parts


CASES = [handed_to_a_function, taken_from_around, appended_in_both, appended_in_one, items_by_key, taken_away, of_this_branch_alone, carried_by_a_loop, grown_by_a_loop, other_containers]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("x", [2, 1, -2])
def test_a_traced_function_changes_containers_as_python_does(case, x):
    traced = tf.function(lambda value: case(value))
    assert [int(part) for part in traced(tf.constant(x))] == case(x)


def test_both_branches_with_lists_stay_one_graph():
    traces = []

    @tf.function
    def chosen(x):
        traces.append(1)
        parts = []
        if x > 0.0:
            parts.append(x)
        else:
            parts.append(-x)
        return parts[0]

    assert [chosen(tf.constant(x)).numpy() for x in (2.0, -3.0, 4.0)] == [2, 3, 4] and len(traces) == 1


def test_what_a_trace_leaves_in_a_list_of_numbers_stays():
    noted = []

    @tf.function
    def summed(n):
        total = tf.constant(0)
        for i in tf.range(n):
            noted.append("turn")
            if i > 1:
                noted.append("large")
                total += i
        return total

    assert summed(tf.constant(5)).numpy() == 9 and set(noted) == {"turn", "large"} and len(noted) <= 6


def test_gradients_pass_through_lists_of_branches():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            parts = []
            if x > 1.0:
                parts.append(x * x)
            else:
                parts.append(3.0 * x)
            y = tf.add_n(parts)
        return tape.gradient(y, x)

    np.testing.assert_allclose([slope(tf.constant(x)) for x in (2.0, 0.5)], [4.0, 3.0])
