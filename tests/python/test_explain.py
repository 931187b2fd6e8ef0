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


def positive(x):
    return tf.reduce_sum(tf.boolean_mask(x, x > 0) * 2.0)


def test_a_function_that_runs_op_by_op_is_explained_by_its_ops_as_they_ran():
    x = tf.constant([1.0, -2.0, 3.0])
    f = tf.function(positive)
    for e in (tf.explain(f, x, verbose=False), tf.explain(positive, x, verbose=False)):  # before it has run, and without tf.function
        assert e.op_by_op and [op["op"] for op in e.ops][-2:] == ["multiply", "reduce_sum"]
        assert [list(op) for op in e.ops] == [KEYS] * len(e.ops)
        assert all(op["kernel"] and op["reason"] and op["text"] and op["chosen"] == "/CPU:0" for op in e.ops)
        product = e.ops[-2]
        assert product["shape"] == "[2]" and product["predicted_us"]["compute"] > 0 and all("us" in c for c in product["candidates"])
        assert json.loads(e.to_json())["op_by_op"] and "op by op" in str(e) and "<table" in e._repr_html_() and e.to_dot().startswith("digraph")
    assert f(x).numpy() == 8.0 and tf.explain(f, x, verbose=False).op_by_op
    assert not tf.explain(chain, large(), large(), verbose=False).op_by_op


def test_what_a_run_for_an_explanation_changes_is_taken_back():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign_add(positive(x))
        return tf.random.normal([2])

    tf.random.set_seed(5)
    expected = tf.random.normal([2]).numpy()
    tf.random.set_seed(5)
    assert tf.explain(f, tf.ones([3]), verbose=False).op_by_op and v.numpy() == 1.0
    assert (f(tf.ones([3])).numpy() == expected).all() and v.numpy() == 7.0


def test_a_traced_function_called_from_one_that_is_not_shows_its_ops():
    @tf.function
    def inner(x):
        return tf.matmul(tf.matmul(x, x), x)

    @tf.function
    def outer(x):
        y = inner(x)
        return tf.reduce_sum(tf.boolean_mask(y, y > 0))

    e = tf.explain(outer, tf.ones([8, 8]), verbose=False)
    assert e.op_by_op and [op["op"] for op in e.ops][:3] == ["matmul", "matmul", "greater"] and e.ops[-1]["op"] == "reduce_sum"


def test_ops_that_ran_elsewhere_than_asked_for_say_why():
    lines = run(
        """
tf.config.list_logical_devices()
def f(x):
    with tf.device("/GPU:0"):
        y = tf.matmul(x, x)
        s = tf.linalg.svd(x)[0]
    return tf.boolean_mask(y, y > 0), s
e = tf.explain(f, tf.ones([64, 64]), verbose=False)
for op in e.ops:
    if op["op"] in ("matmul", "svd"):
        print(op["op"], op["requested"], op["chosen"], op["reason"], op["bytes_moved"], op["remedy"], sep="|")
print([(c["from"], c["to"]) for c in e.crossings][0])
"""
    )
    assert lines[0].startswith("matmul|/GPU:0|/GPU:0|requested|16384|")
    assert lines[1].startswith("svd|/GPU:0|/CPU:0|no_kernel|0|ask for /CPU:0") and lines[2] == "('/CPU:0', '/GPU:0')"


def test_what_runs_op_by_op_is_placed_on_another_machine_too():
    def f(x, w):
        return tf.boolean_mask(tf.matmul(tf.matmul(x, w), w), tf.ones([512]) > 0)

    e = tf.explain(f, large(), large(), machine=RTX3080, verbose=False)
    assert e.op_by_op and {op["chosen"] for op in e.ops if op["op"] == "matmul"} == {"/GPU:0"}
    assert e.predicted_here_us > e.predicted_us


def test_ragged_arguments_and_functions_run_eagerly_are_explained_op_by_op():
    e = tf.explain(lambda r: tf.reduce_sum(r, axis=1), tf.ragged.constant([[1.0, 2.0], [3.0]]), verbose=False)
    assert e.op_by_op and e.ops
    tf.config.run_functions_eagerly(True)
    try:
        e = tf.explain(chain, large(), large(), verbose=False)
    finally:
        tf.config.run_functions_eagerly(False)
    assert e.op_by_op and [op["op"] for op in e.ops] == ["matmul"] * 3


def test_a_function_that_makes_its_variables_in_the_first_call_is_explained_by_its_plan():
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(tf.random.normal([4, 4])))
        return tf.matmul(x, made[0])

    e = tf.explain(f, tf.ones([4, 4]), verbose=False)
    assert not e.op_by_op and [op["op"] for op in e.ops] == ["matmul"]


def test_a_function_with_tf_gradients_inside_is_explained():
    def f(x):
        return tf.gradients(tf.reduce_sum(tf.matmul(x, x)), x)[0]

    assert "matmul" in [op["op"] for op in tf.explain(f, tf.ones([4, 4]), verbose=False).ops]


def test_specs_stand_for_tensors():
    spec = tf.TensorSpec([4, 4])
    assert [op["op"] for op in tf.explain(chain, spec, spec, verbose=False).ops] == ["matmul"] * 3
    assert tf.explain(positive, tf.TensorSpec([3]), verbose=False).op_by_op
    with pytest.raises(ValueError, match="open sizes"):
        tf.explain(positive, tf.TensorSpec([None]), verbose=False)


def test_what_has_no_plan_cannot_be_locked(tmp_path):
    with pytest.raises(ValueError, match="runs op by op"):
        tf.explain(positive, tf.ones([3]), verbose=False).write_lock(tmp_path / "lock.json")
    assert not list(tmp_path.iterdir())


def test_a_model_that_trains_op_by_op_is_explained_by_its_training_step():
    class Masked(tf.keras.layers.Layer):
        def call(self, x):
            return x * tf.cast(tf.size(tf.boolean_mask(x, x > 0)), tf.float32)

        def compute_output_shape(self, shape):
            return shape

    for layers, eagerly in (([Masked()], False), ([], True)):
        model = tf.keras.Sequential([tf.keras.Input([4]), tf.keras.layers.Dense(3), *layers, tf.keras.layers.Dense(2)])
        model.compile("sgd", "mse", run_eagerly=eagerly)
        if not eagerly:
            assert {op["op"] for op in tf.explain(model, verbose=False).ops} >= {"matmul"}
        model.fit(tf.ones([16, 4]), tf.zeros([16, 2]), batch_size=8, verbose=0)
        weights = [w.copy() for w in model.get_weights()]
        e = tf.explain(model, verbose=False)
        assert e.op_by_op and len([op for op in e.ops if op["op"] == "matmul"]) >= 4  # there and back
        assert all((a == b).all() for a, b in zip(weights, model.get_weights()))


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
    with pytest.raises(TypeError, match="a tensor, a function or a model"):
        tf.explain(None)


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
