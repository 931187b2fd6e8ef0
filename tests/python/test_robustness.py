"""Threads, forks, the interpreter's end and values that are no tensors: correct work or a clear exception, never a crash."""
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import tandemflow as tf

PACKAGE_ROOT = Path(tf.__file__).parent.parent


def run(program, **environment):
    """A program of its own; what it printed."""
    program = "import os, sys, threading, time\nimport numpy as np\nimport tandemflow as tf\n" + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout.split()


def small_model():
    model = tf.keras.Sequential([tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(2, activation="softmax")])
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def in_threads(bodies):
    """Runs them all at once; raises what one of them raised."""
    failures = []

    def guarded(body):
        try:
            body()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def test_threads_predict_with_one_model_at_once():
    model, x = small_model(), np.random.default_rng(0).normal(size=(100, 8)).astype("float32")
    expected = model.predict(x, verbose=0)
    results = {}

    def work(k):
        for _ in range(5):
            results[k] = model.predict(x[: 10 * k + 10], verbose=0)

    in_threads([lambda k=k: work(k) for k in range(6)])
    for k, result in results.items():
        assert np.allclose(result, expected[: 10 * k + 10], atol=1e-6)


def test_threads_build_call_and_train_one_model_at_once():
    model, x, y = small_model(), np.random.default_rng(0).normal(size=(64, 8)).astype("float32"), np.arange(64) % 2
    in_threads([lambda: model(x) for _ in range(4)])
    assert len(model.weights) == 4
    in_threads([lambda: model.fit(x, y, epochs=2, verbose=0) for _ in range(3)] + [lambda: model.predict(x, verbose=0)])
    assert all(np.isfinite(weight).all() for weight in model.get_weights())


def test_a_process_that_forks_after_use_computes_in_both():
    words = run(
        """
        a = tf.random.normal((512, 512))
        want = tf.matmul(a, a).numpy()  # the pool is at work
        child = os.fork()
        same = np.array_equal(tf.matmul(a, a).numpy(), want)
        if child == 0:
            os._exit(0 if same else 1)
        print(same, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert words == ["True", "0"]


def test_processes_of_multiprocessing_compute_after_use():
    words = run(
        """
        import multiprocessing
        def work(k):
            a = tf.fill((300, 300), float(k))
            return float(tf.reduce_sum(tf.matmul(a, a)).numpy())
        if __name__ == "__main__":
            work(1)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, [1, 2]) == [work(1), work(2)])
        """
    )
    assert words == ["True"]


@pytest.mark.parametrize("gpus", ["", "1"])
@pytest.mark.parametrize(
    "work",
    [
        "tf.matmul(a, a)",
        "threading.Thread(target=lambda: [tf.matmul(a, a) for _ in range(50)], daemon=True).start(); time.sleep(0.05)",
        "it = iter(tf.data.Dataset.range(10**6).map(lambda x: x + 1, num_parallel_calls=2).batch(8).prefetch(4)); next(it)",
        "it = iter(tf.data.Dataset.range(1000).map(lambda x: tf.py_function(lambda v: v, [x], tf.int64)).prefetch(2)); next(it)",
        "keep = tf.function(lambda x: tf.matmul(x, x))(a)",
    ],
)
def test_the_interpreter_ends_with_work_in_flight(work, gpus):
    scope = "tf.device('/GPU:0').__enter__()" if gpus else ""
    program = f"a = tf.random.normal((700, 700))\n{scope}\n{work}\nprint('end')"
    assert run(program, TANDEM_OPENCL_CPU_AS_GPU=gpus) == ["end"]


@pytest.mark.parametrize(
    "endless",
    [
        "tf.function(lambda x: tf.while_loop(lambda x: x > 0.0, lambda x: (x + 1.0,), (x,)))(tf.constant(1.0))",
        "for x in tf.data.Dataset.range(10**12).map(lambda x: x + 1): pass",
        "for x in tf.data.Dataset.from_generator(lambda: iter(int, 1), tf.int32).batch(100).prefetch(2): pass",
        "tf.function(lambda data: data.reduce(np.int64(0), lambda s, x: s + x))(tf.data.Dataset.range(10**13))",
        "model.fit(tf.ones([64, 4]), tf.ones([64, 1]), epochs=10**7, verbose=0)",
        "model.predict(tf.data.Dataset.from_tensors(tf.ones([4, 4])).repeat(10**9), verbose=0)",
        "tf.py_function(lambda: time.sleep(60), [], [])",
    ],
)
def test_an_interrupt_ends_what_would_not_end_and_work_goes_on(endless):
    program = f"""
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            {endless}
        except KeyboardInterrupt:
            print("interrupted", (tf.constant(1) + 1).numpy())
        """
    assert run(program) == ["interrupted", "2"]


class Strange:
    pass


@pytest.mark.parametrize("value", [Strange(), object, lambda x: x, {1: 2}, {1, 2}, [Strange()], ..., np.array([Strange()])])
def test_objects_that_are_no_tensors_are_refused(value):
    for use in (tf.constant, tf.exp, lambda v: tf.ones(2) + v, lambda v: tf.concat([tf.ones(2), v], 0), tf.Variable):
        with pytest.raises((TypeError, ValueError)) as caught:
            use(value)
        assert len(str(caught.value)) > 20


@pytest.mark.parametrize("value", [[[1, 2], [3]], [[1.0], 2.0], [[], [1]], [[[1]], [2]], [np.zeros(2), np.zeros(3)], [tf.zeros(2), tf.zeros(3)]])
def test_ragged_lists_are_refused(value):
    for use in (tf.constant, tf.reduce_sum, tf.convert_to_tensor, tf.data.Dataset.from_tensor_slices):
        with pytest.raises((TypeError, ValueError)) as caught:
            use(value)
        assert len(str(caught.value)) > 20
    model = small_model()
    with pytest.raises((TypeError, ValueError)):
        model.predict(value, verbose=0)


def test_strings_where_numbers_are_expected_are_refused():
    for bad in (lambda: tf.exp("a"), lambda: tf.ones(2) + "a", lambda: tf.zeros("ab"), lambda: tf.reduce_sum([1.0], axis="x"),
                lambda: tf.matmul([["a"]], [["b"]]), lambda: tf.keras.layers.Dense("many"), lambda: tf.random.normal(["a"])):  # fmt: skip
        with pytest.raises((TypeError, ValueError)) as caught:
            bad()
        assert len(str(caught.value)) > 10
    with pytest.raises((TypeError, ValueError)):
        small_model().fit(np.array(["a", "b"]), np.array([0, 1]), verbose=0)


def test_wrong_dtypes_name_both():
    with pytest.raises((TypeError, ValueError), match="(?s)int32.*float32|float32.*int32"):
        tf.constant([1]) + tf.constant([1.0])
    with pytest.raises((TypeError, ValueError), match="float32"):
        tf.gather([1.0, 2.0], tf.constant([0.5]))
    with pytest.raises((TypeError, ValueError)):
        tf.constant([1.5], tf.int32)


def test_a_deeply_nested_list_is_refused():
    nested = 1.0
    for _ in range(2000):
        nested = [nested]
    with pytest.raises((TypeError, ValueError, RecursionError)):
        tf.constant(nested)


@pytest.mark.parametrize(
    "bad, message",
    [
        (lambda: tf.TensorShape([1, "a"]), "Dimension value must be integer or None"),
        (lambda: tf.TensorSpec("a"), "Dimension value must be integer or None"),
        (lambda: tf.sparse.to_dense(5), "must be a SparseTensor, got int"),
        (lambda: tf.gather([1, 2], "a"), "indices must be int32 or int64, got string"),
        (lambda: tf.data.Dataset.range("a"), "a limit must be a whole number, got 'a'"),
        (lambda: tf.data.Dataset.range(3).batch("a"), "batch_size must be a whole number, got 'a'"),
        (lambda: tf.data.Dataset.range(3).take([1, 2]), r"count must be a whole number, got \[1, 2\]"),
        (lambda: tf.data.Dataset.range(3).shuffle(None), "buffer_size must be a whole number, got None"),
    ],
)
def test_what_is_no_size_and_no_index_is_a_type_error_that_says_so(bad, message):
    with pytest.raises(TypeError, match=message):
        bad()
