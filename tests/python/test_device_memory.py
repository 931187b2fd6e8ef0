"""Devices whose memory runs short, is shared with the host, or fails. Each program runs in a process of its own."""

import pytest
from test_config import POCL, raised, run

LIMITED = """
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit={limit})])
"""


def bits(lines):
    return lines[-1]


TRACED = """
import hashlib
tf.random.set_seed(3)
start, factor = tf.random.normal([512, 512], stddev=0.04), tf.random.normal([512, 512], stddev=0.04)
total = tf.Variable(tf.zeros([512, 512]))

@tf.function
def chain(x, f):
    kept = [x]
    for _ in range(15):
        kept.append(tf.tanh(tf.matmul(kept[-1], f)))
    noise = tf.random.normal([512, 512])
    back = noise
    for value in reversed(kept):
        back = tf.matmul(back, value) + value
    total.assign_add(back)
    return back

with tf.device("/GPU:0"):
    for _ in range(3):
        result = chain(start, factor)
print(hashlib.sha256(result.numpy().tobytes() + total.numpy().tobytes()).hexdigest())
"""


def test_a_traced_function_that_does_not_fit_spills_and_gives_the_same_bits():
    whole = run(TRACED, **POCL)
    for limit in (16, 8):  # 1 MiB each tensor; 16 of them are kept
        assert bits(run(LIMITED.format(limit=limit) + TRACED, **POCL)) == bits(whole), limit


FIT = """
import hashlib, numpy as np
tf.keras.utils.set_random_seed(5)
with tf.device("/GPU:0"):
    model = tf.keras.Sequential([
        tf.keras.layers.Input((256,)),
        tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(10)])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((512, 256), dtype=np.float32), rng.integers(0, 10, 512)
    history = model.fit(x, y, batch_size=128, epochs=2, verbose=0)
print(hashlib.sha256(b"".join(w.tobytes() for w in model.get_weights())).hexdigest())
"""


def test_fit_on_a_device_that_is_too_small_gives_the_same_weights():
    whole = run(FIT, **POCL)
    assert bits(run(LIMITED.format(limit=4) + FIT, **POCL)) == bits(whole)  # weights and Adam's moments alone are 4.8 MB


def test_an_op_larger_than_the_device_runs_on_the_host_and_says_so():
    code = LIMITED.format(limit=8) + """
with tf.device("/GPU:0"):
    x = tf.random.normal([2048, 2048])
print(x.device, tf.explain(x, verbose=False).reason)
"""
    lines = run(code, **POCL)
    assert lines[-1].startswith("/job:localhost/replica:0/task:0/device:CPU:0") and "memory" in lines[-1]


def test_without_spill_it_is_one_error_of_three_classes_that_lists_what_lies_there():
    setup = """gpu = tf.config.list_physical_devices("GPU")[0]
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=8)])
    tf.config.experimental.set_spill(False)
    scope = tf.device("/GPU:0")
    scope.__enter__()
    kept = [tf.ones([1024, 1024]) for _ in range(1)]"""
    classes, message = raised("tf.random.normal([2048, 2048])", setup, **POCL)
    assert {"ResourceExhaustedError", "MemoryError", "RuntimeError"} <= set(classes.split())
    for part in ("E0301", "16.7 MB", "8.3 MB", "float32 [1024, 1024]", "set_spill"):
        assert part in message, message


def test_everything_works_after_the_memory_ran_out():
    code = LIMITED.format(limit=16) + """
tf.config.experimental.set_spill(False)
with tf.device("/GPU:0"):
    kept = tf.ones([1024, 1024])
    try:
        tf.ones([4096, 2048])
    except tf.errors.ResourceExhaustedError:
        print("full")
    print(int((kept + 1).numpy().sum()))
"""
    assert run(code, **POCL)[-2:] == ["full", "2097152"]


@pytest.mark.parametrize("how", ["variable", "call"])
def test_shared_memory_needs_no_copies(how):
    code = """
with tf.device("/GPU:0"):
    a = tf.random.normal([500, 500])
b = tf.random.normal([500, 500])
with tf.device("/GPU:0"):
    c = tf.matmul(a, b)
difference = abs(c.numpy() - a.numpy() @ b.numpy()).max()
stats = tf.config.experimental.get_transfer_stats()
print(c.device, difference < 1e-2, stats["h2d"]["count"], stats["d2h"]["count"])
print(tf.config.experimental.get_opencl_shared_memory())
"""
    environment = {**POCL, "TANDEM_OPENCL_SHARED_MEMORY": "1"} if how == "variable" else POCL
    before = "" if how == "variable" else "tf.config.experimental.set_opencl_shared_memory(True)\n"
    assert run(before + code, **environment) == ["/job:localhost/replica:0/task:0/device:GPU:0 True 0 0", "True"]


def test_a_link_is_a_call_and_a_variable():
    code = """
import time
x = tf.ones([1024, 1024])
with tf.device("/GPU:0"):
    tf.ones([2]) + 1
    begin = time.perf_counter()
    y = x + 1
print(tf.config.experimental.get_links(), time.perf_counter() - begin > 0.04)
"""
    link = "/CPU:0>/GPU:0:gb_per_s=0.1"
    assert run(code, TANDEM_LINK=link, **POCL) == [f"{link} True"]
    assert run(f"tf.config.experimental.set_links({link!r})\n" + code, **POCL) == [f"{link} True"]


@pytest.mark.parametrize(
    "variable, value",
    [("TANDEM_SPILL", "perhaps"), ("TANDEM_OPENCL_STYLE", "card"), ("TANDEM_OPENCL_SHARED_MEMORY", "yes"), ("TANDEM_OPENCL_GEMM", "fast"), ("TANDEM_PROGRAM_CACHE", "perhaps")],
)
def test_a_switch_with_a_value_that_makes_no_sense_is_named(variable, value):
    setup = "gpu = None"
    call = "scope = tf.device('/GPU:0'); scope.__enter__(); tf.ones([4]) + 1"
    classes, message = raised(call, setup, **{variable: value}, **POCL)
    assert "ValueError" in classes and f"{variable}='{value}'" in message, message


@pytest.mark.parametrize("variable, value, part", [("TANDEM_FAULT", "opencl.alloc", "site:3"), ("TANDEM_LINK", "/CPU:0>/BPU:0:gb_per_s=1", "'/BPU:0', which is no device")])
def test_a_plan_that_makes_no_sense_names_its_variable(variable, value, part):
    classes, message = raised("scope = tf.device('/GPU:0'); scope.__enter__(); tf.ones([4]) + 1", "gpu = None", **{variable: value}, **POCL)
    assert "ValueError" in classes and variable in message and part in message, message


@pytest.mark.parametrize("plan, code", [("opencl.launch:1", "E0405"), ("opencl.copy:1", "E0405"), ("opencl.build:*", "E0405"), ("opencl.lost:1", "E0404")])
def test_a_driver_that_fails_is_an_error_that_names_device_and_op(tmp_path, plan, code):
    setup = """x = tf.constant([1.0, 2.0])
    kept = tf.constant([5.0])
    scope = tf.device("/GPU:0")
    scope.__enter__()"""
    environment = {**POCL, "TANDEM_CACHE_DIR": str(tmp_path), "TANDEM_FAULT": plan}
    classes, message = raised("print(tf.tanh(x).numpy())", setup, **environment)
    assert code in message and "/GPU:0" in message and "tanh" in message, (classes, message)
    after = run(f"""
x, kept = tf.constant([1.0, 2.0]), tf.constant([5.0])
with tf.device("/GPU:0"):
    try:
        tf.tanh(x).numpy()
    except Exception:
        pass
tf.debugging.set_faults("")
with tf.device("/GPU:0"):
    print((kept + x).numpy().tolist())
""", **environment)
    assert after[-1] == "[6.0, 7.0]"


def test_a_failure_is_told_to_whoever_depends_on_it_and_not_to_who_measures_the_machine(tmp_path):
    code = """
import numpy as np
table, a = tf.constant(np.ones((10, 3), "float32")), tf.constant(np.ones((1000, 1000), "float32"))
with tf.device("/GPU:0"):
    b = a + a
    bad = tf.gather(table, [99])
    after = tf.gather(table, [9]) + 1
    doubled = bad * 2
c = a * a  # where it should run is asked for the first time, and measured
d = tf.matmul(b, a)
print(float(tf.reduce_sum(c)), float(d[0, 0]), after.numpy().tolist())
for value in (bad, doubled):
    try:
        print(value.numpy())
    except tf.errors.InvalidArgumentError as error:
        print(str(error))
"""
    lines = run(code, **POCL, TANDEM_CACHE_DIR=str(tmp_path))
    assert lines[0] == "1000000.0 2000.0 [[2.0, 2.0, 2.0]]"
    assert len(lines) == 3 and all("gather: index 99 at position 0 is outside 0..9 (on /GPU:0)" in line for line in lines[1:])


FAILING_FIT = """
import numpy as np
tf.keras.utils.set_random_seed(5)
rng = np.random.default_rng(1)
x, y = rng.standard_normal((256, 20), dtype=np.float32), rng.standard_normal((256, 3), dtype=np.float32)
with tf.device("/GPU:0"):
    model = tf.keras.Sequential([tf.keras.layers.Input((20,)), tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(3)])
    model.compile("adam", "mse")
    first = model.fit(x, y, batch_size=32, epochs=2, verbose=0).history["loss"][0]
    tf.debugging.set_faults("{fault}")
    try:
        model.fit(x, y, batch_size=32, epochs=50, verbose=0)
        print("no error")
    except RuntimeError as error:
        print("/GPU:0" in str(error))
    tf.debugging.set_faults("")
    print(all(np.isfinite(weights).all() for weights in model.get_weights()))
    print(model.fit(x, y, batch_size=32, epochs=3, verbose=0).history["loss"][-1] < first)
"""


@pytest.mark.parametrize("fault", ["opencl.run:1", "opencl.run:7", "opencl.run:100", "opencl.transfer:20", "opencl.launch:33"])
def test_after_a_failure_on_the_device_weights_are_as_they_were_and_fit_goes_on(fault):
    done = run(FAILING_FIT.format(fault=fault), check=False, **POCL)
    assert done.stdout.split() == ["True"] * 3, done.stdout + done.stderr
    if "run" in fault:
        assert "They are again what they were" in done.stderr


def test_a_bad_index_in_a_batch_costs_no_more_than_that_batch():
    code = """
    import numpy as np
    with tf.device("/GPU:0"):
        model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Embedding(10, 8), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        good, bad, y = np.full((8, 4), 3), np.full((8, 4), 99), np.ones((8, 1))
        model.train_on_batch(good, y)
        try:
            model.fit(np.concatenate([good, bad, good]), np.concatenate([y, y, y]), batch_size=8, shuffle=False, verbose=0)
        except Exception as error:
            print("index 99" in str(error))
        print(np.isfinite(model.get_weights()[0]).all(), np.isfinite(model.train_on_batch(good, y)))
    """
    assert run(code, **POCL) == ["True", "True True"]
