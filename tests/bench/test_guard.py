"""What counts as worse: more than the noise of the rounds."""
import json
import random

import pytest
from peers import guard
from peers.command import main


def run(ours, peers=None, noise=0.0, rounds=7, seed=0, machine="m"):
    """A report of one workload with these times, each round off by up to `noise`."""
    chance = random.Random(seed)
    columns = {name: {"best": time, "rounds": [time * chance.lognormvariate(0, noise) for _ in range(rounds)]}
               for name, time in {"tandemflow": ours, **(peers or {})}.items()}
    return {"machine": machine, "workloads": {"w": {"columns": columns}}}


def verdict(old, new):
    (found,) = guard.compare(old["workloads"]["w"]["columns"], new["workloads"]["w"]["columns"])
    return "worse" if found["worse"] else "better" if found["better"] else "same"


def test_a_quarter_slower_is_worse_and_a_quarter_faster_is_better():
    old = run(1.0, {"torch": 2.0}, 0.03)
    assert verdict(old, run(1.25, {"torch": 2.0}, 0.03, seed=1)) == "worse"
    assert verdict(old, run(0.75, {"torch": 2.0}, 0.03, seed=1)) == "better"


def test_a_slower_machine_is_not_a_regression_where_a_peer_is_slower_too():
    assert verdict(run(1.0, {"torch": 2.0}, 0.02), run(3.0, {"torch": 6.0}, 0.02, seed=1)) == "same"


def test_the_same_difference_is_lost_in_noisy_rounds():
    assert verdict(run(1.0, {"torch": 2.0}, 0.3), run(1.1, {"torch": 2.0}, 0.3, seed=1)) == "same"


def test_equal_programs_are_hardly_ever_called_worse():
    calls = [verdict(run(1.0, {"torch": 2.0}, 0.1, seed=s), run(1.0, {"torch": 2.0}, 0.1, seed=s + 5000)) for s in range(500)]
    assert calls.count("worse") <= 15


def test_twice_as_slow_is_nearly_always_found_in_noise_of_a_tenth():
    calls = [verdict(run(1.0, {"torch": 2.0}, 0.1, seed=s), run(2.0, {"torch": 2.0}, 0.1, seed=s + 5000)) for s in range(500)]
    assert calls.count("worse") >= 475


def test_changes_below_three_percent_are_never_named():
    assert verdict(run(1.0, {"torch": 2.0}), run(1.02, {"torch": 2.0})) == "same"


def test_without_a_common_peer_the_times_themselves_are_compared_and_it_says_so():
    lines, worse = guard.against(run(1.0, {"torch": 2.0}), run(1.5, {"jax": 2.0}))
    assert worse and "no peer in both runs" in lines[0]


def test_what_is_wrong_now_and_was_timed_before_is_worse():
    new = run(1.0)
    new["workloads"]["w"]["columns"]["tandemflow"] = {"why": "wrong: differs"}
    lines, worse = guard.against(run(1.0), new)
    assert worse and "was timed, now: wrong: differs" in lines[0]


def test_another_machine_and_a_missing_workload_are_said():
    old = run(1.0, {"torch": 2.0})
    old["workloads"]["gone"] = old["workloads"]["w"]
    lines, worse = guard.against(old, run(1.0, {"torch": 2.0}, machine="n"))
    assert not worse
    assert "another machine: m then, n now" in lines[0] and "gone" in lines[-1]


def test_two_files_are_compared_and_the_exit_code_says_whether_something_is_worse(tmp_path, capsys):
    for name, report in (("old", run(1.0, {"torch": 2.0})), ("new", run(2.0, {"torch": 2.0}))):
        (tmp_path / name).write_text(json.dumps(report))
    assert main(["--against", str(tmp_path / "old"), str(tmp_path / "new")]) == 1
    assert "WORSE" in capsys.readouterr().out
    assert main(["--against", str(tmp_path / "new"), str(tmp_path / "old")]) == 0


@pytest.mark.parametrize("text, complaint", [("[1]", "is not a report"), ("{", "Expecting"), (None, "No such file")])
def test_a_file_that_is_no_report_is_refused(tmp_path, text, complaint):
    path = tmp_path / "old"
    if text:
        path.write_text(text)
    with pytest.raises(SystemExit, match=complaint):
        main(["--against", str(path), str(path)])


def test_one_file_alone_is_refused_with_the_way_to_say_it():
    with pytest.raises(SystemExit, match="OLD.json NEW.json"):
        main(["--against", "a"])
