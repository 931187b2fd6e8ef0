"""Times TandemFlow from Python: python_rows.py NAME… prints one JSON object {row name: value}.

ROWS says what each is measured in and held to; `reference` names a row of tandem_bench that it is compared with, `of` the
benchmark that has it.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = {
    "python_add_2x2": {"unit": "us", "goal": 0.5},
    "python_100_adds": {"unit": "us", "goal": 60},
    "python_numpy": {"unit": "us", "goal": 0.3},
    "python_import_time": {"unit": "ms", "goal": 150},
    "python_import_memory": {"unit": "MB", "goal": 60},
    "python_fit_dense_64_10_step": {"unit": "us", "reference": "fit_dense_64_10_step", "of": "fit_step", "at_most": 1.1},
    "python_new_size": {"unit": "x", "goal": 1},
    "python_mixed_bfloat16": {"unit": "x", "goal": 0.77},
    "python_seed_programs": {"unit": "s", "goal": 40},
}


def best_microseconds(body, calls=100_000, rounds=7):
    best = 1e9
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            body()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best * 1e6


def add_2x2(tf):
    a, b, add = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([[5.0, 6.0], [7.0, 8.0]]), tf.add
    return best_microseconds(lambda: add(a, b))


def hundred_adds(tf):
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    def chain():
        x = a
        for _ in range(100):
            x = x + a
        return x

    return best_microseconds(chain, calls=2_000)


def numpy(tf):
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    return best_microseconds(a.numpy)


def fit_step(tf):
    import numpy as np

    x = np.random.default_rng(0).normal(size=(100_000, 100)).astype("float32")
    y = np.random.default_rng(1).integers(0, 10, 100_000).astype("int32")
    model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10, activation="softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x[:64], y[:64], verbose=0)
    return best_microseconds(lambda: model.fit(x, y, verbose=0), calls=1, rounds=4) / (len(x) / 32)


def new_size(tf):
    """The first call with a size that a signature leaves open, as a multiple of what a trace for that size takes."""
    weights = [tf.Variable(tf.random.normal([32, 32]) * 0.1) for _ in range(8)]

    def step(x, y):
        with tf.GradientTape() as tape:
            u = x
            for w in weights:
                u = tf.tanh(tf.matmul(u, w))
            loss = tf.reduce_mean(tf.square(u - y))
        return tape.gradient(loss, weights)

    def seconds(function, size):
        x = tf.ones([size, 32])
        begin = time.perf_counter()
        function(x, x)
        return time.perf_counter() - begin

    by_signature, by_size = tf.function(step, input_signature=[tf.TensorSpec([None, 32])] * 2), tf.function(step)
    times = [(seconds(by_signature, 2 * i + 2), seconds(by_size, 2 * i + 3)) for i in range(20)]
    return min(t[0] for t in times[1:]) / min(t[1] for t in times[1:])


def mixed_bfloat16(tf):
    """A training step of layers of 1024 under the policy mixed_bfloat16, as a multiple of what it takes in float32; the reason
    why not, where the processor cannot multiply bfloat16."""
    if "avx512_bf16" not in Path("/proc/cpuinfo").read_text():
        return "the processor has no instructions for bfloat16 (avx512_bf16)"
    import numpy as np

    random = np.random.default_rng(0)
    x, y = random.normal(size=(512, 1024)).astype("float32"), random.integers(0, 10, 512)

    def step_of(policy):
        layers = [tf.keras.layers.Dense(1024, activation="relu", dtype=policy) for _ in range(3)]
        model = tf.keras.Sequential([*layers, tf.keras.layers.Dense(10, dtype="float32")])
        model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.train_on_batch(x, y)
        return lambda: model.train_on_batch(x, y)

    steps, best = [step_of("mixed_bfloat16"), step_of("float32")], [1e9, 1e9]
    for _ in range(5):  # in turn
        best = [min(known, best_microseconds(step, calls=5, rounds=1)) for known, step in zip(best, steps)]
    return best[0] / best[1]


_IMPORT = """
import resource, time, numpy
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
memory, begin = resident(), time.perf_counter()
import tandemflow
print((time.perf_counter() - begin) * 1e3, (resident() - memory) / 1e6)
"""


def imported():
    """The best of several processes: milliseconds and megabytes beyond NumPy."""
    runs = [subprocess.run([sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True).stdout.split() for _ in range(7)]
    return [min(float(run[i]) for run in runs) for i in range(2)]


_ARRAYS = "import numpy as np\nx_train, y_train = np.random.rand(60000, 784).astype('float32'), tf.keras.utils.to_categorical(np.random.randint(0, 10, 60000), 10)\n"
_DATASET = "import numpy as np\ntrain_dataset = tf.data.Dataset.from_tensor_slices((np.random.rand(60000, 100).astype('float32'), np.random.randint(0, 10, 60000))).batch(32)\n"


def seed_programs():
    """Seconds for the fifteen programs of tests/python/programs, one after another, with data for those that leave it out."""
    begin = time.perf_counter()
    for program in sorted((ROOT / "tests/python/programs").glob("*.py")):
        source = re.sub(r"(\w+)_preprocessed = \.\.\.", r"\1_preprocessed = \1", program.read_text())
        supplied = _DATASET if program.name == "mirrored_dataset.py" else _ARRAYS if "x_train" in source else ""
        run_program(source.replace("import tensorflow as tf", "import tandemflow as tf\n" + supplied))
    return time.perf_counter() - begin


def run_program(source):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(source)
        subprocess.run([sys.executable, "-m", "tandemflow._run", file], check=True, capture_output=True, env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2"))


def main(names):
    values = {}
    if {"python_import_time", "python_import_memory"} & set(names):
        values["python_import_time"], values["python_import_memory"] = imported()
    if "python_seed_programs" in names:
        values["python_seed_programs"] = seed_programs()
    inside = {"python_add_2x2": add_2x2, "python_100_adds": hundred_adds, "python_numpy": numpy, "python_fit_dense_64_10_step": fit_step, "python_new_size": new_size, "python_mixed_bfloat16": mixed_bfloat16}
    for name in inside.keys() & set(names):
        import tandemflow as tf

        values[name] = inside[name](tf)
    print(json.dumps({name: values[name] for name in names}))


if __name__ == "__main__":
    main(sys.argv[1:])
