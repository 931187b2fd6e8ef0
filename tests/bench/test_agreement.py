"""Whose outputs are wrong when they disagree."""
import numpy as np
from peers.agreement import difference, reference, wrong


def outputs(**values):
    return {name: [np.array(value, dtype="float32")] for name, value in values.items()}


def test_equal_outputs_are_right():
    assert wrong(outputs(a=[1, 2], b=[1, 2], c=[1, 2]), 1e-4) == {}


def test_rounding_within_the_tolerance_is_right():
    assert wrong(outputs(a=[1, 2], b=[1, 2.0001]), 1e-4) == {}


def test_the_one_that_differs_from_the_others_is_wrong_wherever_it_stands():
    for odd in "abc":
        given = outputs(a=[1, 2], b=[1, 2], c=[1, 2])
        given[odd] = [np.array([1, 3])]
        assert list(wrong(given, 1e-4)) == [odd]


def test_of_two_that_disagree_the_first_is_judged_by_the_last():
    assert reference(outputs(ours=[1], peer=[2]), 1e-4) == "peer"
    assert list(wrong(outputs(ours=[1], peer=[2]), 1e-4)) == ["ours"]


def test_a_lone_output_has_nothing_to_be_compared_with():
    assert wrong(outputs(ours=[1]), 1e-4) == {}


def test_another_size_another_number_of_outputs_and_nan_are_wrong():
    assert "shape [3] instead of [2]" in difference([np.zeros(3)], [np.zeros(2)])
    assert "2 outputs instead of 1" in difference([np.zeros(1)] * 2, [np.zeros(1)])
    assert "not finite" in difference([np.array([np.nan])], [np.zeros(1)])


def test_the_same_values_in_another_shape_are_right():
    assert difference([np.ones((1, 4))], [np.ones(4)]) == 0
