"""Scaling curves and hybrid programs: what is made of the measured points."""
import sys

import pytest
from peers import hybrid, page, scaling
from peers.drawing import LogAxis, curves
from peers.workloads.growth import Curve

CURVE = Curve("a step", "batch size", [1, 2, 4], None)


def test_the_slopes_of_time_and_memory_are_kept_for_every_column():
    found = scaling.collect(CURVE, ["tandemflow", "torch"], lambda column, n: {"seconds": n * n, "megabytes": 10 * n, "check": n})
    assert found["slopes"]["torch"] == {"seconds": pytest.approx(2), "megabytes": pytest.approx(1)}
    assert "slope 2.00" in scaling.lines({"batch": found})[1]


def test_a_column_ends_at_its_first_problem_and_says_which():
    asked = []

    def point(column, size):
        asked.append((column, size))
        return {"error": "out of memory"} if (column, size) == ("torch", 2) else {"seconds": 1, "megabytes": 1, "check": 1}

    found = scaling.collect(CURVE, ["tandemflow", "torch"], point)
    assert found["why"] == {"torch": "at 2: out of memory"} and list(found["slopes"]) == ["tandemflow"]
    assert ("torch", 4) not in asked


def test_a_column_whose_outputs_differ_from_those_that_agree_is_wrong():
    found = scaling.collect(CURVE, ["tandemflow", "torch", "jax"],
                            lambda column, n: {"seconds": 1, "megabytes": 1, "check": 5.0 if column == "tandemflow" else 7.0})
    assert list(found["why"]) == ["tandemflow"] and found["why"]["tandemflow"].startswith("wrong: at 1")


def test_a_point_that_fails_or_hangs_is_an_error_with_its_last_words():
    assert scaling.run_point([sys.executable, "-c", "raise ValueError('no')"], {}) == {"error": "ValueError: no"}
    assert "more than 0.2 s" in scaling.run_point([sys.executable, "-c", "import time; time.sleep(9)"], {}, 0.2)["error"]


def test_automatic_is_compared_with_the_best_of_the_others():
    found = hybrid.summaries({"good": {"cpu": [3, 2], "gpu": [4], "both": [5], "automatic": [2.06]},
                              "bad": {"cpu": [1], "gpu": {"why": "wrong: differs"}, "both": [2], "automatic": [1.5]}})
    assert found["good"]["ratio"] == pytest.approx(1.03) and found["good"]["met"]
    assert found["bad"]["ratio"] == 1.5 and not found["bad"]["met"]
    text = "\n".join(hybrid.lines(found))
    assert "MISSED" in text and "gpu: wrong: differs" in text
    assert "1.50" in page.hybrid_table({"hybrid": found})


def test_without_an_automatic_time_the_goal_is_not_met():
    assert not hybrid.summaries({"a": {"cpu": [1], "automatic": {"why": "wrong"}}})["a"]["met"]


def test_one_core_is_not_enough_for_two_devices():
    assert hybrid.environment([3]) == {}
    assert hybrid.environment([3, 5]) == {"TANDEM_OPENCL_CPU_AS_GPU": "1", "TANDEM_CPU_CORES": "3", "TANDEM_OPENCL_CORES": "5"}


def test_an_axis_puts_decades_at_equal_distances():
    axis = LogAxis([1, 100], 0, 200)
    assert [axis(value) for value in (1, 10, 100)] == pytest.approx([0, 100, 200])
    assert axis.ticks() == [1, 2, 5, 10, 20, 50, 100]


def test_a_single_size_and_no_size_at_all_are_drawn_too():
    assert "polyline" in curves({"torch": [(4, 1.0)]}, {"torch": "PyTorch"}, "n", "s")
    assert curves({}, {}, "n", "s") == ""
