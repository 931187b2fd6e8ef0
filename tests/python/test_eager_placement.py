"""Where ops without a scope and outside functions run."""
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# PoCL computes; where it would pay to do so is decided by the figures of a card.
CARD = {"TANDEM_MACHINE": str(Path(__file__).parent.parent.parent / "machines" / "rtx3080.json")}


def machine(folder, cpu, gpu, link):
    """The card's machine with these bandwidths, as a file."""
    content = json.loads(Path(CARD["TANDEM_MACHINE"]).read_text())
    content["devices"][0]["gb_per_s"], content["devices"][1]["gb_per_s"] = cpu, gpu
    for way in content["links"]:
        way["gb_per_s"] = link
    file = folder / f"{link}.json"
    file.write_text(json.dumps(content))
    return str(file)


def run(code, **environment):
    """The lines printed by a program in a process of its own: one thread for the CPU, PoCL as the GPU on all cores."""
    environment = {**os.environ, "TANDEM_OPENCL_CPU_AS_GPU": "1", **environment}
    begin = "import tandemflow as tf\ntf.config.threading.set_intra_op_parallelism_threads(1)\n"
    done = subprocess.run([sys.executable, "-c", begin + code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_chain_of_large_products_ends_on_the_gpu_and_a_small_one_on_the_cpu():
    lines = run("""
w = tf.random.normal((1024, 1024), stddev=1 / 32)
x = w
for _ in range(12):
    x = tf.matmul(x, w)
print(tf.explain(x, verbose=False).device, tf.explain(x, verbose=False).reason)
print(tf.explain(tf.matmul(tf.ones((2, 2)), tf.ones((2, 2))), verbose=False).device)
""", **CARD)
    assert lines == ["/GPU:0 cheaper_here", "/CPU:0"]


SQUARE = """
tf.config.list_logical_devices()
x = tf.ones((16 << 20,))
places = [tf.explain(tf.square(x), verbose=False).device for _ in range(%d)]
print(places[0], places[-1], places == sorted(places))
"""


# GB/s of the CPU on one core, the GPU and the link; microseconds of 64 MB: a square here and there, the copy.
DESKTOP = (25, 760, 25)  # 5370, 180, 2690
POCL_ON_TWO_CORES = (46, 80, 19)  # 2920, 1680, 3530; as measured on the host of this project


@pytest.mark.parametrize("figures, squares, where", [
    (DESKTOP, 1, "/GPU:0 /GPU:0 True"),
    (POCL_ON_TWO_CORES, 1, "/CPU:0 /CPU:0 True"),  # copy and square there take longer than a square here
    (POCL_ON_TWO_CORES, 4, "/CPU:0 /GPU:0 True"),  # what three lose is the price of the copy
])  # fmt: skip
def test_the_square_of_64_mb_moves_when_what_is_lost_by_staying_pays_for_the_copy(tmp_path, figures, squares, where):
    assert run(SQUARE % squares, TANDEM_MACHINE=machine(tmp_path, *figures)) == [where]
    throttled = machine(tmp_path, *figures[:2], 2)
    assert run(SQUARE % squares, TANDEM_MACHINE=throttled) == ["/CPU:0 /CPU:0 True"]


def test_a_slow_link_keeps_the_square_of_64_mb_on_the_cpu():
    assert run(SQUARE % 2, TANDEM_LINK="/CPU:0>/GPU:0:gb_per_s=2") == ["/CPU:0 /CPU:0 True"]


def test_gpus_are_looked_for_when_enough_work_has_come_together():
    lines = run("""
import os
def loaded():
    return "pocl" in open("/proc/self/maps").read()
x = tf.random.normal((256, 256))
for _ in range(3):
    tf.matmul(x, x)
y = tf.ones((4 << 20,))
tf.square(y)                # some milliseconds: not worth the drivers
print(loaded())
for _ in range(60):
    tf.square(y)
print(loaded())
""")
    assert lines == ["False", "True"]
