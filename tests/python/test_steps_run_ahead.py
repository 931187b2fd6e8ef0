"""Mirrored steps are handed over: the program goes on, and what it reads is as if it had waited for each."""
from test_distribute import run

PROGRAM = """
import sys
import numpy as np
import tandemflow as tf
from tandemflow import _tandem

keras = tf.keras
x = np.random.RandomState(0).rand(64, 6).astype("float32")
y = x.sum(1, keepdims=True)


def program(strategy):
    tf.random.set_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
        optimizer = keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)
        seen = keras.metrics.Mean()

    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(tf.reduce_sum(tf.square(model(x, training=True) - y), 1))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        seen.update_state(loss)
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(replica, args=(x, y)), axis=None)

    batches = list(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(16)))
    return model, optimizer, seen, step, batches


mirrored = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"])
"""


def test_a_program_hands_steps_over_without_waiting_for_any_of_them():
    lines = run(PROGRAM + """
model, optimizer, seen, step, batches = program(mirrored)
step(*batches[0])
tf.test.experimental.sync_devices()
runs, waits = _tandem.run_counts()
losses = [step(*batch) for batch in batches[:_tandem.MOST_RUNS]]
print([now - before for now, before in zip(_tandem.run_counts(), (runs, waits))])
values = [float(loss) for loss in losses]
for epoch in range(10):
    losses += [step(*batch) for batch in batches]
assert float(losses[-1]) < values[0]
print("read")
""")  # fmt: skip
    assert lines == ["[4, 0]", "read"]


def test_variables_metrics_and_random_numbers_are_those_of_a_program_that_waits():
    lines = run(PROGRAM + """
def train(waits):
    model, optimizer, seen, step, batches = program(mirrored)
    values = []
    for i in range(13):
        loss = step(*batches[i % 4])
        if waits:
            tf.test.experimental.sync_devices()
        if i == 3:
            optimizer.learning_rate.assign(0.001)
        if i == 5:
            model.layers[0].kernel.assign(model.layers[0].kernel * 0.5)
        if i == 7:
            values.append(float(seen.result()))
            seen.reset_state()
        if i == 9:
            values.append(float(tf.random.normal([])))
        if i % 4 == 0:
            values.append(float(loss))
    return values + [float(seen.result())] + [w.tolist() for w in model.get_weights()]


assert train(False) == train(True)
print("equal")
""")
    assert lines == ["equal"]


def test_a_device_that_fails_in_a_pass_over_a_dataset_leaves_and_the_losses_stay_those_of_one_device():
    lines = run("""
import numpy as np
import tandemflow as tf

keras = tf.keras
x = np.random.RandomState(0).rand(128, 6).astype("float32")
y = x.sum(1, keepdims=True)


def train(strategy):
    tf.random.set_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.2), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01), "mse")
    tf.random.set_seed(2)
    history = model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(16), epochs=3, verbose=0).history
    return history["loss"], model.get_weights()


strategy = tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0", "/GPU:1"])
strategy.set_speeds([1, 1, 1])
one, several = train(tf.distribute.OneDeviceStrategy("/CPU:0")), train(strategy)
np.testing.assert_allclose(several[0], one[0], rtol=1e-4)
for a, b in zip(several[1], one[1]):
    np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
print(strategy.devices)
""", TANDEM_FAULT="plan.device:10")  # fmt: skip
    assert lines[-1] == "['/CPU:0', '/GPU:0']"


def test_a_step_that_fails_for_good_is_told_by_what_is_read_or_called_next_and_changes_nothing():
    lines = run(PROGRAM + """
model, optimizer, seen, step, batches = program(tf.distribute.MirroredStrategy(["/CPU:0", "/GPU:0"], on_failure="stop"))
before = model.get_weights()
loss = step(*batches[0])
for ask in (lambda: float(loss), lambda: float(loss), lambda: None):
    try:
        ask()
        print("nothing")
    except tf.errors.OpError as error:
        print("failed on /GPU:0" in str(error))
print(all((a == b).all() for a, b in zip(before, model.get_weights())))
loss = step(*batches[0])
print(float(loss) > 0)
""", TANDEM_FAULT="plan.device:1")  # fmt: skip
    assert lines == ["True", "True", "nothing", "True", "True"]


def test_a_process_that_ends_before_its_steps_waits_for_them_and_tells_of_a_failure():
    lines = run(PROGRAM + """
import os, subprocess
if len(sys.argv) > 1:
    model, optimizer, seen, step, batches = program(mirrored)
    for batch in batches:
        step(*batch)
    sys.exit()
ended = subprocess.run([sys.executable, sys.argv[0], "inner"], capture_output=True, text=True, env=dict(os.environ, TANDEM_FAULT="plan.device:4"))
print(ended.returncode, "failed on /GPU:0" in ended.stderr)
""")  # fmt: skip
    assert lines == ["0 True"]


def test_threads_and_forked_processes_may_go_on_with_the_variables():
    lines = run(PROGRAM + """
import os, threading
model, optimizer, seen, step, batches = program(mirrored)
for batch in batches:
    step(*batch)
read = []
threads = [threading.Thread(target=lambda: read.append(model.layers[0].kernel.numpy().sum())) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(set(read)) == 1
step(*batches[0])
child = os.fork()
if not child:
    os._exit(0 if np.isfinite(model.get_weights()[0]).all() else 1)
print(os.waitpid(child, 0)[1])
""")  # fmt: skip
    assert lines == ["0"]
