"""tandem explain and suggest, run as a user runs them, on files that Python wrote."""
import json
import os
import subprocess
import sys

import pytest
from test_cli import ROOT, tandem

RTX3080 = str(ROOT / "machines" / "rtx3080.json")
KEYS = [
    "op", "dtype", "shape", "requested", "chosen", "kernel", "reason", "text", "predicted_us", "candidates", "bytes_moved", "remedy",
]  # fmt: skip
PROGRAM = """
import sys
import tandemflow as tf

@tf.function(input_signature=[tf.TensorSpec([None, 1024], tf.float32)])
def step(x):
    w = tf.ones([1024, 1024])
    y = tf.nn.relu(tf.matmul(x, w))
    with tf.device("/CPU:0"):
        y = tf.matmul(y, w)
    return tf.reduce_sum(tf.matmul(y, w))

tf.saved_model.save(step, sys.argv[1])

@tf.function(input_signature=[tf.TensorSpec([None, 1024], tf.float32)])
def unscoped(x):
    w = tf.ones([1024, 1024])
    return tf.reduce_sum(tf.matmul(tf.nn.relu(tf.matmul(x, w)), w))

tf.saved_model.save(unscoped, sys.argv[1] + "/unscoped")
tf.keras.Sequential([tf.keras.Input([20]), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(2)]).save(sys.argv[1] + "/model.keras")
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    directory = tmp_path_factory.mktemp("saved")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "build" / "python")}
    subprocess.run([sys.executable, "-c", PROGRAM, directory], check=True, env=environment)
    return directory


def test_the_summary_comes_first_then_a_line_for_each_op(saved):
    code, out, err = tandem("explain", saved, "--machine", RTX3080, "--batch", "4096")
    assert code == 0, err
    lines = out.splitlines()
    assert "crossings, " in lines[0] and any("on this one" in line for line in lines) and "dearest" in lines
    assert out.index("dearest") < out.index("us there") < out.index("us here") and "cheaper_here" in out and "requested" in out


def test_without_a_machine_it_is_this_one(saved):
    code, out, err = tandem("explain", saved)
    assert code == 0 and "predicted " in out and "on this one" not in out, err
    code, out, _ = tandem("explain", saved / "model.keras", "--json")
    ops = json.loads(out)["ops"]
    assert code == 0 and len(ops) >= 2 and [list(op) for op in ops] == [KEYS] * len(ops)
    assert all(op["shape"].startswith("[32, ") and op["kernel"] and op["text"] for op in ops)


def test_json_has_both_machines_and_dot_is_a_digraph(saved):
    code, out, _ = tandem("explain", saved, "--machine", RTX3080, "--json", "--batch", "4096")
    answer = json.loads(out)
    assert code == 0 and answer["makespan_us"] < answer["here_us"] == answer["here"]["makespan_us"]
    assert len(answer["ops"]) == len(answer["here"]["ops"]) and answer["crossings"]
    scoped = [op for op in answer["ops"] if op["requested"]]
    assert scoped and all(op["chosen"] == "/CPU:0" and "ask for no device: /GPU:0" in op["remedy"] for op in scoped)
    assert tandem("explain", saved, "--machine", RTX3080, "--dot")[1].startswith("digraph")


def test_a_plan_that_splits_ops_is_shown_beside_one_that_does_not(saved, tmp_path):
    figures = {"peak_gflops": {"float32": 500}, "gb_per_s": 50, "launch_us": 1}
    links = [{"from": a, "to": b, "latency_us": 2, "gb_per_s": 50} for a, b in (("/CPU:0", "/GPU:0"), ("/GPU:0", "/CPU:0"))]
    (tmp_path / "two.json").write_text(json.dumps({"devices": [{"name": name, **figures} for name in ("/CPU:0", "/GPU:0")], "links": links}))
    code, out, err = tandem("explain", saved / "unscoped", "--machine", tmp_path / "two.json", "--batch", "4096")
    assert code == 0 and "without splitting" in out, err
    there, here = out.split("\nthere\n")[1].split("\nhere\n")
    assert "concat" in there and "concat" not in here and here.count("matmul") == 2


def test_a_lock_is_written_and_checked(saved, tmp_path):
    lock = tmp_path / "placement.json"
    words = ["--machine", RTX3080, "--batch", "4096"]
    assert tandem("explain", saved, *words, "--lock", lock)[0] == 0
    code, out, err = tandem("explain", saved, *words, "--check", lock)
    assert code == 0 and out.startswith("as locked: "), err
    content = json.loads(lock.read_text())
    moved = content["functions"][0]["ops"][0]
    moved["device"] = "/CPU:0"
    lock.write_text(json.dumps(content))
    code, out, _ = tandem("explain", saved, *words, "--check", lock)
    assert code == 3 and "is locked to /CPU:0; now /GPU:0 would be chosen" in out
    content["functions"][0]["predicted_us"] *= 2
    moved["device"] = "/GPU:0"
    lock.write_text(json.dumps(content))
    code, out, _ = tandem("explain", saved, *words, "--check", lock, "--json")
    assert code == 3 and "-50 %" in json.loads(out)["drift"][0]
    code, out, _ = tandem("explain", saved, "--machine", RTX3080, "--batch", "8", "--check", lock)
    assert code == 3 and "its graph is another" in out


def test_suggestions_have_a_gain_and_can_be_applied(saved, tmp_path):
    words = ["--machine", RTX3080, "--batch", "4096"]
    code, out, err = tandem("suggest", saved, *words, "--json")
    assert code == 0, err
    answer = json.loads(out)
    gains = [s["gain_us"] for s in answer["suggestions"]]
    assert gains == sorted(gains, reverse=True) and gains[0] > 0
    placement = [s for s in answer["suggestions"] if s["kind"] == "placement"]
    assert "ask for no device" in placement[0]["text"] and placement[0]["predicted_us"] < answer["predicted_us"]
    lock = tmp_path / "placement.json"
    code, out, _ = tandem("suggest", saved, *words, "--apply", lock)
    assert code == 0 and "gain us" in out
    assert {op["device"] for op in json.loads(lock.read_text())["functions"][0]["ops"]} == {"/GPU:0"}
    assert tandem("explain", saved, *words, "--check", lock)[0] == 0


def test_files_that_are_none_are_refused_with_the_place(saved, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_text("{}")
    code, out, err = tandem("explain", wrong)
    assert code == 1 and out == "" and "no file of saved functions" in err
    assert tandem("explain", tmp_path / "missing")[0] == 1
    code, _, err = tandem("explain", saved, "--check", wrong)
    assert code == 1 and 'wrong:1: the file: "version" is missing' in err, err
    code, _, err = tandem("explain", saved, "--machine", wrong)
    assert code == 1 and '"devices" is missing' in err
    code, _, err = tandem("explain", saved, "--function", "other")
    assert code == 1 and "there is no function 'other' in the file; it has step" in err
    assert tandem("explain")[0] == 2 and tandem("suggest", saved, "--batch", "0")[0] == 2


@pytest.mark.parametrize("words, said", [
    (["--json", "--dot"], "excludes"),
    (["--lock", "a.json", "--check", "b.json"], "excludes"),
    (["--check", "b.json", "--dot"], "excludes"),
    (["--batch", "0"], "not in range"),
    (["--function", "step"], "is a model"),
])  # fmt: skip
def test_what_contradicts_itself_is_refused_in_a_short_line(saved, words, said):
    code, out, err = tandem("explain", saved / "model.keras", *words)
    assert code and not out and said in err and max(map(len, err.splitlines())) < 200
