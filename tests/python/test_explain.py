"""tf.explain of functions, and how ops without a scope find their device."""
import json
import os
import subprocess
import sys

import pytest

import tandemflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RTX3080 = os.path.join(ROOT, "machines", "rtx3080.json")
KEYS = [
    "op", "dtype", "shape", "requested", "chosen", "kernel", "reason", "text", "predicted_us", "candidates", "bytes_moved", "remedy",
]  # fmt: skip


@tf.function
def chain(x, w):
    for _ in range(3):
        x = tf.matmul(x, w)
    return x


def large():
    return tf.ones([512, 512])


def run(code, **environment):
    """The lines printed by a program in a process of its own, with PoCL as the GPU."""
    environment = {**os.environ, "TANDEM_OPENCL_CPU_AS_GPU": "1", **environment}
    done = subprocess.run([sys.executable, "-c", "import tandemflow as tf\n" + code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_op_is_a_dict_with_all_that_is_known():
    e = tf.explain(chain, large(), large(), machine=RTX3080, verbose=False)
    assert [list(op) for op in e.ops] == [KEYS] * 3
    first = e.ops[0]
    assert (first["op"], first["dtype"], first["shape"], first["requested"]) == ("matmul", "float32", "[512, 512]", "")
    assert first["chosen"] == "/GPU:0" and first["reason"] == "cheaper_here"
    assert set(first["predicted_us"]) == {"compute", "transfer", "launch"} and first["predicted_us"]["transfer"] > 0
    assert [c["device"] for c in first["candidates"]] == ["/CPU:0", "/GPU:0"] and all("us" in c for c in first["candidates"])
    assert first["bytes_moved"] == 2 * 512 * 512 * 4


def test_a_tensor_is_explained_in_the_same_words():
    e = tf.explain(tf.matmul(large(), large()), verbose=False)
    (op,) = e.ops
    assert list(op) == KEYS and (op["op"], op["dtype"], op["shape"]) == ("matmul", "float32", "[512, 512]")
    assert (op["chosen"], op["kernel"], op["reason"], op["text"]) == (e.device, e.kernel, e.reason, e.text)
    assert all(("us" in c) != ("refusal" in c) for c in op["candidates"]) and e.crossings == []
    assert json.loads(e.to_json()) == {"crossings": [], "ops": e.ops} and "<table" in e._repr_html_()


def test_ops_that_run_others_have_a_reason_and_a_word_for_their_kernel():
    def steps(x):
        x = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)
        x = tf.py_function(lambda v: v + 1, [x], tf.TensorSpec([4], tf.float32))
        return tf.while_loop(lambda i, v: i < 9, lambda i, v: (i + 1, v + 1), [tf.constant(0), x])[1]

    ops = {op["op"]: op for op in tf.explain(steps, tf.ones([4]), verbose=False).ops}
    assert {ops[name]["kernel"] for name in ("cond", "py_function", "while_loop")} == {"control"}
    assert all(op["kernel"] and op["reason"] and op["text"] for op in ops.values())


def test_a_fallback_says_what_to_ask_for_and_what_it_costs():
    lines = run(
        """
tf.config.list_logical_devices()
def f(x):
    with tf.device("/GPU:0"):
        return tf.linalg.svd(x * 2.0)[0]
op = tf.explain(f, tf.ones([512, 512]), verbose=False).ops[-1]
print(op["op"], op["requested"], op["chosen"], op["reason"], op["remedy"], sep="|")
"""
    )
    op, requested, chosen, reason, remedy = lines[0].split("|")
    assert (op, requested, chosen, reason) == ("svd", "/GPU:0", "/CPU:0", "no_kernel")
    assert "ask for /CPU:0, which has a kernel for it; now what it reads is copied there for" in remedy


def test_a_gpu_that_is_hidden_is_not_called_missing():
    lines = run(
        """
tf.config.set_visible_devices([], "GPU")
def f(x):
    with tf.device("/GPU:0"):
        y = tf.matmul(x, x)
    with tf.device("/GPU:7"):
        return tf.matmul(y, y)
for op in tf.explain(f, tf.ones([64, 64]), verbose=False).ops:
    print(op["requested"], op["chosen"], op["reason"], op["text"], op["remedy"], sep="|")
"""
    )
    assert lines == [
        "/GPU:0|/CPU:0|not_visible|/GPU:0 was requested but is hidden from this program|make /GPU:0 visible, or ask for one of /CPU:0",
        "/GPU:7|/CPU:0|device_missing|/GPU:7 was requested but does not exist here|ask for one of /CPU:0",
    ]


def test_crossings_come_first_in_the_text():
    e = tf.explain(chain, large(), large(), machine=RTX3080, verbose=False)
    assert [(c["from"], c["to"], c["bytes"]) for c in e.crossings] == [("/CPU:0", "/GPU:0", 512 * 512 * 4)] * 2
    assert str(e).startswith("2 crossings, 2 MiB, ")
    assert "on desktop with an NVIDIA GeForce RTX 3080; " in str(e) and e.predicted_here_us > e.predicted_us


def test_json_and_html_say_the_same():
    e = tf.explain(chain, large(), large(), machine=RTX3080, verbose=False)
    assert json.loads(e.to_json())["ops"] == e.ops
    page = e._repr_html_()
    assert page.count("<tr>") == 4 and "cheaper_here" in page and "2 crossings" in page
    assert e.to_dot().startswith("digraph")


def test_a_machine_may_be_a_dict_and_a_wrong_one_is_refused():
    with open(RTX3080, encoding="utf-8") as file:
        machine = json.load(file)
    assert tf.explain(chain, large(), large(), machine=machine, verbose=False).ops[0]["chosen"] == "/GPU:0"
    machine["devices"][1]["launch_us"] = -1
    with pytest.raises(ValueError, match="launch_us"):
        tf.explain(chain, large(), large(), machine=machine, verbose=False)
    with pytest.raises(TypeError, match="machine file or a dict"):
        tf.explain(chain, large(), large(), machine=3, verbose=False)
    with pytest.raises(TypeError, match="takes nothing else"):
        tf.explain(large(), large(), verbose=False)


def test_a_small_function_stays_on_the_cpu():
    small = tf.ones([2, 2])
    assert [op["reason"] for op in tf.explain(chain, small, small, machine=RTX3080, verbose=False).ops] == ["too_small"] * 3


def test_a_scan_is_sequential():
    e = tf.explain(lambda x: tf.cumsum(x), tf.ones([1000]), machine=RTX3080, verbose=False)
    assert [(op["chosen"], op["reason"]) for op in e.ops] == [("/CPU:0", "sequential")]


def test_without_a_machine_it_is_this_one_and_nothing_runs():
    lines = run(
        """
@tf.function
def f(x):
    return tf.reduce_sum(x * 2.0)
x = tf.ones([4])
tf.config.list_logical_devices()
e = tf.explain(f, x, verbose=False)
print(len(e.ops), {op["chosen"] for op in e.ops}, e.predicted_us > 0)
print(f(x).numpy())
"""
    )
    assert lines == ["1 {'/CPU:0'} True", "8.0"]  # the sum doubles what it adds up


def test_first_gpu_is_the_rule_of_tensorflow():
    code = """
tf.config.set_placement_policy("first_gpu")
x = tf.ones([2]) + 1.0
print(tf.config.get_placement_policy(), tf.explain(x, verbose=False).device, tf.explain(x, verbose=False).reason)
tf.config.set_placement_policy("auto")
y = tf.ones([2]) + 1.0
print(tf.explain(y, verbose=False).device)
try:
    tf.config.set_placement_policy("fastest")
except Exception as error:
    print(error)
"""
    lines = run(code)
    assert lines[:2] == ["first_gpu /GPU:0 requested", "/CPU:0"] and "'auto', 'planned' and 'first_gpu'" in lines[2]


LOCKED = """
@tf.function
def chain(x):
    return tf.matmul(tf.matmul(x, x), x)
x = tf.ones([64, 64])
"""


def test_a_lock_is_written_and_used_by_the_next_program(tmp_path):
    lock = str(tmp_path / "placement.json")
    run(LOCKED + f"e = tf.explain(chain, x, verbose=False); e.write_lock({lock!r}); e.write_lock({lock!r})")
    with open(lock, encoding="utf-8") as file:
        content = json.load(file)
    assert [(f["name"], len(f["ops"])) for f in content["functions"]] == [("chain", 2)]
    for op in content["functions"][0]["ops"]:
        op["device"] = "/GPU:0"
    with open(lock, "w", encoding="utf-8") as file:
        json.dump(content, file)
    show = "print(tf.explain(chain(x), verbose=False).device, tf.config.get_placement_lock()); print(*tf.config.placement_drift(), sep='\\n')"
    lines = run(LOCKED + show, TANDEM_PLACEMENT_LOCK=lock)
    assert lines[0] == f"/GPU:0 {lock}"
    change = f"tf.config.set_placement_lock({lock!r}); print(tf.explain(chain(x), verbose=False).device); tf.config.set_placement_lock(None); print(tf.config.get_placement_lock())"
    assert run(LOCKED + change) == ["/GPU:0", "None"]


def test_a_lock_that_is_none_is_refused_with_the_place(tmp_path):
    wrong = tmp_path / "placement.json"
    wrong.write_text('{"version": 1,\n "functions": [{"name": 3}]}')
    with pytest.raises(ValueError, match=r"placement.json:2: functions\[0\].name: needs a string, got 3"):
        tf.config.set_placement_lock(wrong)
    assert tf.config.get_placement_lock() is None
    with pytest.raises(ValueError, match=r"placement.json:2: functions\[0\].name: needs a string, got 3"):
        tf.explain(chain, large(), large(), verbose=False).write_lock(wrong)
    assert wrong.read_text().startswith('{"version": 1,')
    for text in (b'{"version": "\xc3"}', '{"version": "'.encode() + "é".encode() * 400, b'{"' + b"x" * 99 + "é".encode() * 9 + b'": {}}'):
        wrong.write_bytes(text)
        with pytest.raises(ValueError, match="placement.json:1: "):
            tf.config.set_placement_lock(wrong)


def test_explanations_are_printed_unless_asked_not_to(capsys):
    x = tf.square(tf.constant([1.0, 2.0]))
    e = tf.explain(x)
    assert capsys.readouterr().out == f"{e}\n" and "square" in e.op
    f = tf.explain(lambda v: tf.exp(v), x)
    assert capsys.readouterr().out == f"{f}\n"
    tf.explain(x, verbose=False)
    tf.explain(lambda v: tf.exp(v), x, verbose=False)
    assert capsys.readouterr().out == ""
