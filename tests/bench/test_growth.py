"""Scaling curves and hybrid programs: what is made of the measured points."""
import os
import subprocess
import sys

import pytest
from peers import hybrid, page, scaling
from peers.drawing import LogAxis, curves
from peers.workloads.growth import Curve

CURVE = Curve("a step", "batch size", [1, 2, 4], None)


def answers(check=1.0):
    return [{"seconds": n * n, "megabytes": 10 * n, "check": check} for n in CURVE.sizes]


def test_the_slopes_of_time_and_memory_are_kept_for_every_column():
    found = scaling.collect(CURVE, {"tandemflow": answers(), "torch": answers()})
    assert found["slopes"]["torch"] == {"seconds": pytest.approx(2), "megabytes": pytest.approx(1)}
    assert "slope 2.00" in scaling.lines({"batch": found})[1]


def test_a_column_that_ends_early_says_at_which_size_and_why():
    given = {"tandemflow": answers(), "torch": [*answers()[:1], {"error": "out of memory"}], "jax": [{"missing": True}], "tensorflow": []}
    found = scaling.collect(CURVE, given)
    assert found["why"] == {"torch": "at 2: out of memory", "jax": "not written for this library", "tensorflow": "0 of 3 sizes were answered"}
    assert list(found["slopes"]) == ["tandemflow"]


def test_a_column_whose_outputs_differ_from_those_that_agree_is_wrong():
    found = scaling.collect(CURVE, {"tandemflow": answers(5.0), "torch": answers(7.0), "jax": answers(7.0)})
    assert list(found["why"]) == ["tandemflow"] and found["why"]["tandemflow"].startswith("wrong: at 1")


def test_sizes_that_need_a_process_each_get_one_until_one_fails():
    asked = []

    def run(sizes):
        asked.append(sizes)
        return [{"error": "no"}] if sizes == [2] else [{"seconds": 1} for _ in sizes]

    assert len(scaling.run_sizes(CURVE, lambda sizes: [{"seconds": 1} for _ in sizes])) == 3
    assert scaling.run_sizes(Curve("", "", [1, 2, 4], None, alone=True), run) == [{"seconds": 1}, {"error": "no"}]
    assert asked == [[1], [2]]


def test_a_curve_that_fails_or_hangs_keeps_its_points_and_its_last_words():
    first = "print('{}', flush=True);"
    assert scaling.run_curve([sys.executable, "-c", first + "raise ValueError('no')"], {}) == [{}, {"error": "ValueError: no"}]
    slow = scaling.run_curve([sys.executable, "-c", first + "import time; time.sleep(30)"], {}, 2)
    assert slow == [{}, {"error": "took more than 2 s"}]


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


def test_memory_is_that_of_the_process_itself_not_of_the_one_that_started_it():
    held = bytearray(400_000_000)
    held[::4096] = b"x" * len(held[::4096])
    code = "from peers import point; print(point.resident_megabytes(most=True))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 300
