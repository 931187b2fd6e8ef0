"""One op on several devices: in programs of their own, with the speeds of devices given."""
import json
import os
import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
import tandemflow as tf

if "deterministic" in sys.argv:
    tf.config.experimental.enable_op_determinism()
tf.config.list_logical_devices()
rng = np.random.default_rng(1)
x, y = (tf.constant(rng.normal(size=(16, 256, 256)).astype("float32")) for _ in range(2))
product = tf.function(tf.matmul)
e = tf.explain(product, x, y, verbose=False)
parts = [op for op in e.ops if op["op"] == "matmul"]
print(len(parts), sorted(op["chosen"] for op in parts), all("; split: rows " in op["text"] for op in parts))
print(np.abs(product(x, y).numpy() - x.numpy() @ y.numpy()).max() < 1e-3)
"""


def run(tmp_path, *arguments):
    device = {"peak_gflops": {"float32": 50}, "gb_per_s": 10, "launch_us": 1}
    links = [{"from": a, "to": b, "latency_us": 10, "gb_per_s": 10} for a, b in [("/CPU:0", "/GPU:0"), ("/GPU:0", "/CPU:0")]]
    machine = {"devices": [{"name": "/CPU:0", "cores": [0], **device}, {"name": "/GPU:0", "cores": [1], **device}], "links": links}
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    environment = {**os.environ, "TANDEM_OPENCL_CPU_AS_GPU": "1", "TANDEM_MACHINE": str(tmp_path / "machine.json")}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_large_product_is_split_among_devices_and_says_so(tmp_path):
    assert run(tmp_path) == ["2 ['/CPU:0', '/GPU:0'] True", "True"]


def test_determinism_keeps_ops_whole(tmp_path):
    lines = run(tmp_path, "deterministic")
    assert lines[0].startswith("1 ") and lines[0].endswith("False") and lines[1] == "True"
