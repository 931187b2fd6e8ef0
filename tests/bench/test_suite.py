"""The run itself, with small workers in place of libraries."""
import json
import sys

import pytest
from peers import environment, measure, page, table
from peers.command import arguments, chosen, main
from peers.session import Session, WorkerFailed
from peers.suite import Suite
from peers.workload import Workload

WORKER = """
import json, sys
from peers import arrays
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "prepare":
        {prepare}
        answer = {{"outputs": arrays.save({{"0": arrays.load(request["inputs"])["x"] * {factor}}}, request["folder"])}}
    else:
        answer = {{"version": "1", "times": [{time}]}}
    print(json.dumps(answer), flush=True)
"""


class Twice(Workload):
    name, doc, flops = "twice", "x times two", 100

    def inputs(self, rng):
        return {"x": rng.standard_normal(3)}


@pytest.fixture
def suite(tmp_path):
    """Makes a suite of workers: name=(time, factor, statement before the answer)."""
    made = []

    def make(problems=None, **workers):
        sessions = {}
        for name, (time, factor, prepare) in workers.items():
            program = WORKER.format(time=time, factor=factor, prepare=prepare or "pass")
            path = ":".join(path for path in sys.path if path)
            sessions[name] = Session([sys.executable, "-c", program], tmp_path / f"{name}.log", {"PYTHONPATH": path})
        made.append(Suite(sessions, problems or {}, tmp_path / "scratch", say=lambda *_, **__: None))
        return made[-1]

    yield make
    for one in made:
        one.close()


def columns(suite):
    return suite.run([Twice()], rounds=3, seconds=0)["twice"]["columns"]


def test_those_that_agree_are_timed_in_every_round(suite):
    found = columns(suite(tandemflow=(0.5, 2, None), torch=(1.5, 2, None)))
    assert found["tandemflow"] == {"best": 0.5, "median": 0.5, "rounds": [0.5] * 3}
    assert found["torch"]["best"] == 1.5


def test_one_whose_outputs_differ_is_reported_as_wrong_and_not_timed(suite):
    found = columns(suite(tandemflow=(0.5, 3, None), torch=(1.5, 2, None), jax=(1.0, 2, None)))
    assert found["tandemflow"]["why"].startswith("wrong: differs from jax by 0.5")
    assert "best" not in found["tandemflow"] and found["torch"]["best"] == 1.5


def test_a_peer_that_was_not_installed_has_an_empty_column_that_says_why(suite):
    found = columns(suite({"jax": "pip could not install jax: no network"}, tandemflow=(0.5, 2, None)))
    assert found["jax"] == {"why": "pip could not install jax: no network"}
    assert found["tandemflow"]["best"] == 0.5


def test_a_worker_that_dies_loses_its_column_and_its_last_words_are_kept(suite):
    found = columns(suite(tandemflow=(0.5, 2, None), torch=(1.5, 2, "raise SystemError('out of luck')")))
    assert "ended with code 1" in found["torch"]["why"] and "out of luck" in found["torch"]["why"]
    assert found["tandemflow"]["best"] == 0.5


def test_a_worker_that_does_not_answer_in_time_is_ended(tmp_path):
    session = Session([sys.executable, "-c", "import sys, time; time.sleep(60)"], tmp_path / "log")
    with pytest.raises(WorkerFailed, match="no answer within 0 s"):
        session.ask("hello", timeout=0.2)
    assert session.process.poll() is not None


def test_a_worker_that_answers_nonsense_is_not_believed(tmp_path):
    session = Session([sys.executable, "-c", "print('hello', flush=True); input(); input()"], tmp_path / "log")
    with pytest.raises(WorkerFailed, match="not JSON"):
        session.ask("hello")
    session.close()


def test_the_page_shows_every_figure_and_every_reason_and_loads_nothing(suite):
    made = suite({"jax": "no network"}, tandemflow=(0.5, 2, None), torch=(1.5, 2, None), numpy=(1.0, 3, None))
    rows = made.run([Twice()], rounds=1, seconds=0)
    for row in rows.values():
        row["derived"] = table.derived(row, {"gflops": 1e-6})
    report = {"machine": "m <1>", "date": "d", "rounds": 1, "versions": made.versions, "limits": {}, "workloads": rows}
    text = page.html(report)
    for expected in ("m &lt;1&gt;", "1.50 s", "no network", "wrong: differs", "3.00 × TandemFlow", "<svg"):
        assert expected in text
    assert "<script" not in text and "src=" not in text and "href=" not in text


def test_goals_are_compared_with_what_was_measured(suite):
    class Bounded(Twice):
        goals = {"torch": 0.4, "tensorflow": 0.3, "jax": 1.0}

    rows = suite({"jax": "no network"}, tandemflow=(0.5, 2, None), torch=(1.5, 2, None), tensorflow=(1.0, 2, None)).run([Bounded()], rounds=1, seconds=0)
    met, missed = table.goal_lines({"workloads": rows})
    assert met == "twice: 0.33 of PyTorch's time, goal 0.4: met"
    assert missed == "twice: 0.50 of TensorFlow's time, goal 0.3: MISSED"


def test_packages_are_installed_one_by_one_and_only_once(tmp_path):
    commands = []

    def run(command):
        commands.append([str(word) for word in command])
        return "no network" if commands[-1][-1] == "torch" else None

    first = environment.install(["numpy", "torch"], tmp_path, run, lambda *_, **__: None)
    assert first == {"torch": "pip could not install torch: no network"}
    commands.clear()
    environment.install(["numpy", "torch"], tmp_path, run, lambda *_, **__: None)
    assert [command[-1] for command in commands if "install" in command] == ["torch"]


def test_every_library_gets_as_many_threads_and_waits_as_it_likes():
    shared = measure.threads_environment(3)
    assert {shared[name] for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TANDEM_CPU_THREADS")} == {"3"}
    assert not any("WAIT" in name for name in shared)


def test_without_a_python_for_the_environment_every_package_says_why(tmp_path):
    failed = environment.install(["numpy", "jax"], tmp_path / "no", lambda command: "no venv module", lambda *_, **__: None)
    assert failed == {"numpy": "no venv module", "jax": "no venv module"}


@pytest.mark.parametrize("words, complaint", [
    (["--only", "caffe"], "nothing is called caffe; there are tandem_cpp"), (["--suite", "all"], "there are workloads, names"),
    (["--threads", "0"], "may use 1 to"), (["--rounds", "-1"], "at least one"), (["--fast"], "unrecognized"),
])  # fmt: skip
def test_arguments_that_make_no_sense_are_refused(words, complaint, capsys):
    with pytest.raises(SystemExit):
        arguments(["--peers", *words])
    assert complaint in capsys.readouterr().err


def test_a_name_that_no_workload_has_is_refused_with_those_there_are():
    assert [w.name for w in chosen(["matmul_10"], quick=True)] == ["matmul_1000", "matmul_1024"]
    with pytest.raises(SystemExit, match="matmul_1000"):
        chosen(["nothing"], quick=True)


def test_a_quick_run_has_the_long_networks_only_by_name():
    whole, quick = ({w.name for w in chosen([], quick=quick)} for quick in (False, True))
    assert whole - quick == {w.name for w in chosen(["resnet", "lstm_train_step", "transformer"], quick=True)}


def test_a_bad_file_to_compare_with_is_refused_before_anything_is_measured(tmp_path):
    with pytest.raises(SystemExit, match="No such file"):
        main(["--peers", "--against", str(tmp_path / "missing.json")])


def test_reports_survive_json(suite):
    rows = suite(tandemflow=(0.5, 2, None)).run([Twice()], rounds=1, seconds=0)
    assert json.loads(json.dumps(rows)) == rows
