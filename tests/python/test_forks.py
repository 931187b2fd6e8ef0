"""A process that is forked off one that used a GPU: drivers do not follow there, and nobody may wait for them."""
import os
import subprocess
import sys

CHILD = """
import multiprocessing, os, sys, tandemflow as tf
x = tf.ones((300, 300))

def in_child(body):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            body()
        except Exception as error:
            print(type(error).__name__, "forked" in str(error), "/GPU:0" in str(error))
        sys.stdout.flush()
        os._exit(0)
    print("ended", os.waitpid(child, 0)[1])

def compute():
    with tf.device("/GPU:0"):
        y = x + 1
    print(y.device[-5:], float(tf.reduce_sum(y)), float(tf.reduce_sum(tf.matmul(x, x))))
"""


def run(code):
    environment = {**os.environ, "TANDEM_OPENCL_CPU_AS_GPU": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([sys.executable, "-c", CHILD + code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_ops_of_the_child_run_on_the_cpu_and_the_parent_goes_on():
    assert run("""
compute()
in_child(compute)
compute()
""") == ["GPU:0 180000.0 27000000.0", "CPU:0 180000.0 27000000.0", "ended 0", "GPU:0 180000.0 27000000.0"]


def test_the_parent_may_fork_while_the_gpu_computes():
    assert run("""
x = tf.ones((600, 600))
with tf.device("/GPU:0"):
    y = tf.matmul(x, x)
in_child(lambda: print([float(tf.reduce_sum(tf.matmul(x, x))) for _ in range(20)] == [600.0 ** 3] * 20))
print(float(tf.reduce_sum(y)))
""") == ["True", "ended 0", "216000000.0"]


def test_a_value_that_only_the_gpu_holds_is_an_error_that_names_the_fork():
    assert run("""
with tf.device("/GPU:0"):
    y = x + 1
in_child(lambda: print(y.numpy().sum()))
print(y.numpy().sum())
""") == ["UnavailableError True True", "ended 0", "180000.0"]


def test_what_the_host_holds_too_can_be_read():
    assert run("""
with tf.device("/GPU:0"):
    y = x + 1
y.numpy()
in_child(lambda: print(float(tf.reduce_sum(y))))
""") == ["180000.0", "ended 0"]


def test_a_process_that_only_listed_devices_may_fork_too():
    assert run("""
print(len(tf.config.list_physical_devices("GPU")))
in_child(lambda: print(tf.config.list_physical_devices("GPU")))
in_child(compute)
""") == ["1", "[]", "ended 0", "CPU:0 180000.0 27000000.0", "ended 0"]


def test_a_child_that_uses_the_gpu_first_has_it():
    assert run("in_child(compute)") == ["GPU:0 180000.0 27000000.0", "ended 0"]


def test_a_pool_of_forked_processes_ends():
    assert run("""
def work(n):
    return float(tf.reduce_sum(tf.ones((n, n)) + 1))

compute()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, [2, 3, 4]))
""") == ["GPU:0 180000.0 27000000.0", "[8.0, 18.0, 32.0]"]
