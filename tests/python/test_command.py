"""python -m tandemflow: check, run, and the command line."""
import os
import subprocess
import sys
from pathlib import Path

import tandemflow
from tandemflow._check import check_source

PACKAGE_ROOT = Path(tandemflow.__file__).parent.parent


def command(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run([sys.executable, "-m", "tandemflow", *map(str, arguments)], env=environment, capture_output=True, encoding="utf-8", **options)


PROGRAM = """
import tensorflow as tf
import tensorflow.keras.layers as L
from tensorflow import keras
from tensorflow.data import Dataset, Datset
import tensorflow_hub as hub
import numpy as np

layers = tf.keras.layers
x = tf.constant([1.0])
y = tf.matmull(x, x)
z = layers.Dense(3)(x).no_such_thing
tf.nn.relu6(x)
tf.nn.no_such(x)
Dataset.from_tensor_slices(x)
Dataset.from_tensor_slizes(x)
np.not_looked_at
"""


def test_check_lists_missing_names_with_line_and_nearest():
    missing, used = check_source(PROGRAM)
    assert [(m.line, m.name) for m in missing] == [
        (5, "tensorflow.data.Datset"), (6, "tensorflow_hub"), (11, "tensorflow.matmull"), (14, "tensorflow.nn.no_such"),
        (16, "tensorflow.data.Dataset.from_tensor_slizes"),
    ]  # fmt: skip
    assert [m.nearest for m in missing][0] == "tf.data.Dataset" and missing[2].nearest == "tf.matmul"
    assert missing[4].nearest == "tf.data.Dataset.from_tensor_slices" and used == 13


def test_check_prints_and_fails_when_something_is_missing(tmp_path):
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text("import tensorflow as tf\ntf.constnat(1)\n")
    good.write_text("import tensorflow as tf\nprint(tf.constant(1))\n")
    done = command("check", bad)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [f"{bad}:2: tensorflow.constnat is missing; the nearest is tf.constant", f"{bad}: 1 of 2 names are there"]
    done = command("check", good)
    assert done.returncode == 0 and done.stdout == f"{good}: 2 of 2 names are there\n"


def test_run_maps_tensorflow_and_keras(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "import tensorflow as tf\n"
        "from tensorflow import keras\n"
        "import tensorflow.keras.losses as losses\n"
        "import keras as k\n"
        "from keras import losses as again\n"
        "@tf.function\n"
        "def f(x):\n"
        "    if x > 0:\n"
        "        return x * 2\n"
        "    return x\n"
        "print(f(tf.constant(3.0)).numpy(), sys.argv[1:], __name__)\n"
        "print(keras is k is tf.keras, losses is again, tf.__name__, tf.__spec__.name)\n"
    )
    done = command("run", program, "one", "two")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["6.0 ['one', 'two'] __main__", "True True tandemflow tandemflow"]


def test_run_says_which_module_is_missing(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import tensorflow.no_such_module\n")
    done = command("run", program)
    assert done.returncode == 1 and "No module named 'tensorflow.no_such_module'" in done.stderr


def test_the_command_line_helps():
    assert command().returncode == 2 and "check FILE" in command("--help").stdout
    assert command("version").stdout.strip() == tandemflow.__version__
    assert command("check").returncode == 2 and "which file" in command("check").stderr
    assert "/physical_device:CPU:0" in command("devices").stdout
    missing = command("no-such-command")
    assert missing.returncode != 0
