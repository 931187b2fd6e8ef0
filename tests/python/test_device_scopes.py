"""tf.device: threads that share a scope, names that leave the index open, variables made inside. With two GPUs, in processes of their own."""
import os
import subprocess
import sys

DEVICE = "where = lambda x: x.device.rsplit('device:')[-1]\nplaced = lambda: where(tf.constant([1.0]) + 1)\n"


def run(code):
    environment = {**os.environ, "TANDEM_OPENCL_CPU_AS_GPU": "2", "TF_CPP_MIN_LOG_LEVEL": "2"}
    begin = "import threading\nimport tandemflow as tf\n" + DEVICE
    done = subprocess.run([sys.executable, "-c", begin + code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_thread_leaves_the_scope_it_has_entered_itself():
    assert run("""
scope, barrier = tf.device("/GPU:1"), threading.Barrier(2)

def first():
    with scope:
        barrier.wait()
        barrier.wait()  # the second is inside, too
    barrier.wait()

def second():
    barrier.wait()
    with scope:
        barrier.wait()
        barrier.wait()  # the first has left
        print(placed())
    print(placed())

threads = [threading.Thread(target=body) for body in (first, second)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""") == ["GPU:1", "CPU:0"]


def test_a_scope_that_another_thread_leaves_stays_where_it_was_entered():
    assert run("""
def pieces():
    with tf.device("/GPU:1"):
        yield placed()
        yield placed()

values = pieces()
print(next(values))
thread = threading.Thread(target=lambda: print(list(values)))
thread.start()
thread.join()
print(placed())
""") == ["GPU:1", "['CPU:0']", "GPU:1"]


def test_a_thread_may_end_inside_a_scope():
    assert run("""
scope = tf.device("/GPU:1")
thread = threading.Thread(target=scope.__enter__)
thread.start()
thread.join()
scope.__exit__(None, None, None)
print(placed())
""") == ["CPU:0"]


def test_an_index_that_is_left_open_is_that_of_the_scope_outside():
    assert run("""
for outer, inner in [("/GPU:1", "/GPU"), ("/GPU:1", "/device:GPU:*"), ("/GPU:1", "/job:localhost"), ("/GPU:1", "/CPU"), ("/CPU:0", "GPU")]:
    with tf.device(outer), tf.device(inner):
        print(placed())
with tf.device("/GPU:1"), tf.device(None), tf.device("/GPU"):
    print(placed())
""") == ["GPU:1", "GPU:1", "GPU:1", "CPU:0", "GPU:0", "GPU:0"]


def test_a_variable_lies_on_the_device_of_the_scope_it_is_made_in():
    assert run("""
with tf.device("/GPU:1"):
    v, counter = tf.Variable([1.0, 2.0]), tf.Variable(3)
    with tf.device("/CPU:0"):
        host = tf.Variable(tf.identity(v))
print(where(v), where(counter), where(host), where(tf.Variable([1.0])))
v.assign_add([1.0, 1.0])
print(v.numpy().tolist(), int(counter))
""") == ["GPU:1 GPU:1 CPU:0 CPU:0", "[2.0, 3.0] 3"]


def test_without_soft_placement_a_variable_for_a_missing_device_is_an_error():
    assert run("""
with tf.device("/GPU:7"):
    print(where(tf.Variable([1.0])))
    tf.config.set_soft_device_placement(False)
    try:
        tf.Variable([1.0])
    except tf.errors.InvalidArgumentError as error:
        print("GPU:7" in str(error))
""") == ["CPU:0", "True"]


def test_a_constant_lies_on_the_device_of_its_scope_and_the_host_still_has_it():
    assert run("""
import numpy as np
moved = lambda: {way: figures["bytes"] for way, figures in tf.config.experimental.get_transfer_stats().items()}
with tf.device("/GPU:1"):
    a, b = tf.constant(np.ones((10, 10), "float32")), tf.convert_to_tensor([1, 2])
    print(where(a), where(b), where(tf.constant("words")), where(tf.constant(1.0, shape=[3])))
    before = moved()
    with tf.device("/CPU:0"):
        print(where(a + 1), where(tf.constant([1.0])))
    a.numpy()
    print(where(tf.matmul(a, a)), moved() == before)
    tf.explain(a)

@tf.function
def traced():
    with tf.device("/GPU:1"):
        return tf.constant([1.0, 2.0])

print(where(a), traced().numpy(), where(tf.constant([1.0])))
""") == ["GPU:1 GPU:1 CPU:0 GPU:1", "CPU:0 CPU:0", "GPU:1 True", "constant() on /GPU:1: /GPU:1 was requested", "GPU:1 [1. 2.] CPU:0"]


def test_a_constant_that_its_device_cannot_hold_stays_on_the_host():
    assert run("""
import numpy as np
gpu = tf.config.list_physical_devices("GPU")[0]
tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1)])
with tf.device("/GPU:0"):
    large = tf.constant(np.ones(1 << 20, "float32"))
    print(where(large), where(tf.constant([1.0])))
with tf.device("/GPU:7"):
    print(where(tf.constant([1.0])))
""") == ["CPU:0 GPU:0", "CPU:0"]


def test_a_constant_names_the_logical_cpu_of_its_scope():
    assert run("""
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
with tf.device("/CPU:1"):
    print(where(tf.constant([1.0])), placed())
print(where(tf.constant([1.0])))
""") == ["CPU:1 CPU:1", "CPU:0"]
