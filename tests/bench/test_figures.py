"""What follows from measured times."""
import pytest
from peers import figures, table

LIMITS = {"gflops": 100.0, "copy": [{"bytes": 1e6, "gb_per_s": 50.0}, {"bytes": 1e8, "gb_per_s": 10.0}]}


def row(flops=0, **columns):
    """`columns`: the best time of each, or None; medians are a third of a second longer."""
    made = {name: {"best": best, "median": best + 1 / 3} if best else {"why": "missing"} for name, best in columns.items()}
    return {"flops": flops, "bytes": 0, "columns": made}


def test_best_is_of_all_batches_and_the_median_of_the_rounds_medians():
    made = figures.summary([[3.0, 1.0, 2.0], [5.0, 4.0, 9.0], [7.0]])
    assert made == {"best": 1.0, "median": 5.0, "rounds": [1.0, 4.0, 7.0]}


def test_a_single_disturbed_round_does_not_widen_the_spread():
    assert figures.spread([1.0, 1.1, 0.9, 1.0, 50.0]) == pytest.approx(0.148, abs=0.01)


def test_the_slope_is_the_power_by_which_time_grows():
    assert figures.slope([1, 2, 4], [3, 12, 48]) == pytest.approx(2)
    assert figures.slope([1, 10, 100], [5, 5, 5]) == pytest.approx(0)
    assert figures.slope([2, 2], [1, 2]) is None


def test_the_limit_is_the_slower_of_arithmetic_and_bytes():
    assert figures.limit_seconds(1e9, 0, LIMITS) == pytest.approx(0.01)
    assert figures.limit_seconds(1e9, 5e7, LIMITS) == pytest.approx(0.01)
    assert figures.limit_seconds(1e6, 5e7, LIMITS) == pytest.approx(0.005)  # memory: 10 GB/s
    assert figures.limit_seconds(0, 5e5, LIMITS) == pytest.approx(1e-5)  # cache: 50 GB/s
    assert figures.limit_seconds(0, 1e9, LIMITS) == pytest.approx(0.1)  # larger than anything measured


def test_limits_are_the_most_that_was_ever_reached():
    disturbed = {"gflops": 120.0, "copy": [{"bytes": 1e6, "gb_per_s": 9.0}, {"bytes": 1e8, "gb_per_s": 11.0}]}
    copies = [LIMITS["copy"][0], disturbed["copy"][1]]
    assert figures.highest([LIMITS, {"error": "no worker"}, disturbed]) == {"gflops": 120.0, "copy": copies}
    assert figures.highest([{}]) == figures.highest([]) == {}


def test_without_a_size_or_a_measured_peak_there_is_no_limit():
    assert figures.limit_seconds(0, 0, LIMITS) is None
    assert figures.limit_seconds(1e9, 1e9, {}) is None


def test_ratios_are_to_tensorflow_and_to_the_fastest_peer():
    made = table.derived(row(1e9, tandemflow=0.02, tandem_cpp=0.0125, tensorflow=0.08, torch=0.04, numpy=None), LIMITS)
    by_median = pytest.approx((0.02 + 1 / 3) / (0.04 + 1 / 3))
    assert made == {"to_tensorflow": 0.25, "to_fastest": 0.5, "by_median": by_median, "fastest": "torch", "of_limit": pytest.approx(0.8)}


def test_without_python_the_cpp_column_is_compared_and_without_both_nothing():
    assert table.derived(row(tandemflow=None, tandem_cpp=1.0, torch=2.0), {})["to_fastest"] == 0.5
    nothing = {"to_tensorflow": None, "to_fastest": None, "by_median": None, "fastest": "torch", "of_limit": None}
    assert table.derived(row(1e9, tandemflow=None, torch=2.0), LIMITS) == nothing


def test_durations_have_three_digits_and_the_unit_that_fits():
    assert [table.duration(t) for t in (2.5, 0.0123, 0.000456, 7.8e-8, 0)] == ["2.50 s", "12.3 ms", "456 us", "78.0 ns", "0.00 ns"]


def test_small_ratios_keep_a_digit_more():
    assert [table.number(value) for value in (1.234, 0.0034, None)] == ["1.23", "0.003", "-"]
    assert table.number(0.5, "{:.0%}") == "50%"


def test_a_busy_machine_is_said_and_a_quiet_one_is_not():
    assert "a load of 3.2" in table.load_lines({"load": 3.2})[0]
    assert table.load_lines({"load": 0.1}) == table.load_lines({}) == []


def test_the_table_says_wrong_and_names_each_reason_once():
    workload = row(tandemflow=1.0) | {"doc": "", "derived": table.derived(row(tandemflow=1.0), {})}
    workload["columns"] |= {"torch": {"why": "wrong: differs"}, "jax": {"why": "not installed"}}
    text = "\n".join(table.lines({"workloads": {"a": workload, "b": workload}}))
    assert text.count("JAX: not installed (a, b)") == 1
    assert "PyTorch: wrong: differs (a, b)" in text
    assert [word for word in text.splitlines()[1].split() if word == "wrong"] == ["wrong"]
