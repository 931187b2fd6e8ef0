"""keras.callbacks and the progress bar; what Keras prints was written down by tools/keras_console.py."""
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import keras_scenes
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import keras
from tandemflow.keras import callbacks, layers, utils

FOLDER = Path(__file__).resolve().parent.parent / "data" / "keras"


def reference(name):
    with open(FOLDER / name, encoding="utf-8", newline="") as file:
        return file.read()


class Model:
    stop_training = False


def test_progress_bars_print_the_bytes_of_keras():
    assert keras_scenes.progress_bars(utils.Progbar) == reference("progress_bars.txt")


def test_fit_evaluate_and_predict_print_the_bytes_of_keras():
    assert keras_scenes.fit_and_evaluate(callbacks) == reference("fit_and_evaluate.txt")


def test_show_prints_what_the_hooks_of_batches_print():
    def play(use_hooks):
        with keras_scenes.console() as (out, clock):
            several = callbacks.CallbackList(add_progbar=True, model=Model(), verbose=1, epochs=2, steps=None)
            several.on_train_begin()
            for epoch in range(2):
                several.on_epoch_begin(epoch)
                for batch in range(3):
                    clock.now += 0.1
                    logs = {"loss": 1.0 + batch}
                    several.on_train_batch_end(batch, logs) if use_hooks else several.show(batch + 1, logs)
                several.on_epoch_end(epoch, {"loss": 2.0})
        return out.getvalue()

    assert play(False) == play(True)


def test_only_callbacks_that_look_at_batches_ask_for_them():
    class Epochs(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            pass

    class Batches(callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            pass

    class Tests(callbacks.Callback):
        def on_test_batch_begin(self, batch, logs=None):
            pass

    def modes(*several):
        several = callbacks.CallbackList(list(several), add_history=True, add_progbar=True)
        return [mode for mode in ("train", "test", "predict") if several.batch_hooks(mode)]

    assert modes(Epochs()) == []
    assert modes(Batches()) == ["train"]
    assert modes(Epochs(), Tests()) == ["test"]
    own = Epochs()
    own.on_predict_batch_end = print
    assert modes(own) == ["predict"]


def test_callbacks_share_sorted_logs_of_floats_and_history_keeps_what_they_add():
    class Adds(callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            assert list(logs) == ["a", "loss"]
            logs["learning_rate"] = 0.5

    model = Model()
    several = callbacks.CallbackList([[Adds()]], add_history=True, model=model, verbose=0, epochs=1, steps=1)
    several.on_train_begin()
    several.on_epoch_end(4, {"loss": 1, "inner": {"a": 2}})
    assert model.history.history == {"a": [2.0], "loss": [1.0], "learning_rate": [0.5]}
    assert model.history.epoch == [4]
    assert model.history.params == {"verbose": 0, "epochs": 1, "steps": 1}


def test_what_is_no_callback_is_refused():
    with pytest.raises(TypeError, match="expected objects of keras.callbacks.Callback, got <class .*; derive from"):
        callbacks.CallbackList([callbacks.History])


# --- Callbacks that watch values ---


def test_callbacks_that_watch_values_do_what_those_of_keras_do(tmp_path):
    wanted = json.loads(reference("watchers.json"))
    done = keras_scenes.watchers(callbacks, str(tmp_path))
    assert list(done) == list(wanted)
    for title in wanted:
        assert done[title] == wanted[title], title


def _regression(seed=0):
    utils.set_random_seed(seed)
    random = np.random.RandomState(1)
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4, activation="tanh"), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    return model, random.rand(32, 3).astype("float32"), random.rand(32, 1).astype("float32")


def test_training_stops_early_with_the_weights_of_the_best_epoch():
    model, x, y = _regression()
    stop = callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True)
    history = model.fit(x, y, epochs=200, validation_data=(x[:8] + 1, y[:8]), verbose=0, callbacks=[stop]).history
    assert len(history["val_loss"]) < 200
    best = int(np.argmin(history["val_loss"]))
    assert stop.best_epoch == best
    np.testing.assert_allclose(model.evaluate(x[:8] + 1, y[:8], verbose=0)[0], history["val_loss"][best], rtol=1e-5)


def test_the_direction_of_a_metric_is_known_and_of_an_unknown_one_asked_for():
    model, x, y = _regression()
    model.compile("sgd", "mse", metrics=["mae", "r2_score"])
    for metric, direction in (("mae", "down"), ("r2_score", "up")):
        stop = callbacks.EarlyStopping(metric)
        model.fit(x, y, verbose=0, callbacks=[stop])
        assert stop._direction == direction
    with pytest.raises(ValueError, match="isn't able to automatically determine.*mode='max'"):
        model.fit(x, y, verbose=0, callbacks=[callbacks.EarlyStopping("elsewhere")])


def test_checkpoints_are_files_that_load(tmp_path):
    model, x, y = _regression()
    path = str(tmp_path / "deep" / "{epoch}-{loss:.3f}.keras")
    history = model.fit(x, y, epochs=2, verbose=0, callbacks=[callbacks.ModelCheckpoint(path)]).history
    names = sorted(file.name for file in (tmp_path / "deep").iterdir())
    assert names == [f"{i + 1}-{loss:.3f}.keras" for i, loss in enumerate(history["loss"])]
    again = keras.saving.load_model(tmp_path / "deep" / names[1])
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))
    with pytest.raises(KeyError, match="Failed to format this callback filepath.*none"):
        model.fit(x, y, verbose=0, callbacks=[callbacks.ModelCheckpoint(str(tmp_path / "{none}.keras"))])
    with pytest.raises(ValueError, match="must end in `.weights.h5`"):
        callbacks.ModelCheckpoint("a.keras", save_weights_only=True)


class Interrupt(callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 2:
            raise KeyboardInterrupt


def test_an_interrupted_training_goes_on_and_ends_as_the_whole_one(tmp_path):
    def train(*extra):
        model, x, y = _regression()
        backup = callbacks.BackupAndRestore(tmp_path / "backup", double_checkpoint=True)
        history = model.fit(x, y, epochs=6, shuffle=False, verbose=0, callbacks=[backup, *extra])
        return model.get_weights(), history.epoch

    with pytest.raises(KeyboardInterrupt):
        train(Interrupt())
    (tmp_path / "backup" / "latest.weights.h5").write_bytes(b"cut")  # the kill came while writing: the one before is used
    resumed, epochs = train()
    assert epochs == [2, 3, 4, 5]
    assert not (tmp_path / "backup").exists()
    whole, epochs = train()
    assert epochs == list(range(6))
    for ours, theirs in zip(resumed, whole):
        np.testing.assert_array_equal(ours, theirs)


class Killed(BaseException):
    """Nobody handles it, as nobody handles a kill."""


@pytest.mark.parametrize("double", [False, True])
def test_a_kill_before_any_change_of_the_backup_leaves_one_that_fits(tmp_path, monkeypatch, double):
    """The files change in few steps; the program ends before each of them in turn, and soon after it goes on once more."""
    from tandemflow.keras.callbacks import backup_and_restore as module

    left = [10**9]

    def counted(change):
        def run(*args, **kwargs):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return change(*args, **kwargs)

        return run

    for owner, name in ((module.os, "replace"), (module.os, "unlink"), (module, "write_atomically"), (module._files, "write_file_atomically")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name)))

    def train(folder, changes):
        model, x, y = _regression()
        left[0] = changes
        try:
            model.fit(x, y, epochs=3, shuffle=False, verbose=0, callbacks=[callbacks.BackupAndRestore(folder, double_checkpoint=double)])
        finally:
            used, left[0] = changes - left[0], 10**9
        return model.get_weights(), used

    whole, needed = train(tmp_path / "whole", 10**9)
    assert needed > 8
    for changes in range(needed):
        folder = tmp_path / f"killed_{changes}"
        with pytest.raises(Killed):
            train(folder, changes)
        with contextlib.suppress(Killed):  # it may end before
            train(folder, 2 + changes % 4)
        for ours, theirs in zip(train(folder, 10**9)[0], whole):
            np.testing.assert_array_equal(ours, theirs)


def test_a_backup_whose_weights_were_changed_is_refused(tmp_path):
    model, x, y = _regression()
    with pytest.raises(KeyboardInterrupt):
        model.fit(x, y, epochs=6, verbose=0, callbacks=[callbacks.BackupAndRestore(tmp_path / "backup"), Interrupt()])
    for name in ("latest.weights.h5", "latest.weights.h5.bkp"):
        data = bytearray((tmp_path / "backup" / name).read_bytes())
        data[-1] ^= 1
        (tmp_path / "backup" / name).write_bytes(bytes(data))
    before = model.get_weights()
    with pytest.raises(ValueError, match="is damaged: no file of weights has the checksum"):
        model.fit(x, y, epochs=6, verbose=0, callbacks=[callbacks.BackupAndRestore(tmp_path / "backup")])
    for was, now in zip(before, model.get_weights()):
        np.testing.assert_array_equal(was, now)


RESUMED = """
import sys
import numpy as np
import tandemflow as tf

folder, result, stop = sys.argv[1:]
tf.config.experimental.enable_op_determinism()
tf.keras.utils.set_random_seed(3)
layers = tf.keras.layers
model = tf.keras.Sequential([layers.Dense(16, activation="relu", input_shape=(8,)), layers.Dropout(0.3), layers.BatchNormalization(), layers.Dense(3)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
random = np.random.default_rng(0)
x, y = random.normal(size=(100, 8)).astype("float32"), random.integers(0, 3, 100)


class Stop(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == int(stop):
            import os, signal
            os.kill(os.getpid(), signal.SIGKILL)


model.fit(x, y, epochs=5, verbose=0, callbacks=[tf.keras.callbacks.BackupAndRestore(folder), Stop()])
np.savez(result, *model.get_weights(), *[v.numpy() for v in model.optimizer.variables])
"""


def test_a_killed_training_with_dropout_and_shuffling_ends_with_the_same_bits(tmp_path):
    def run(name, stop):
        command = [sys.executable, "-c", RESUMED, str(tmp_path / f"backup_{name}"), str(tmp_path / f"{name}.npz"), str(stop)]
        return subprocess.run(command, env={**os.environ, "TANDEM_LOG": "error"}).returncode

    assert run("whole", 99) == 0
    assert run("cut", 3) == -signal.SIGKILL
    assert run("cut", 99) == 0
    whole, resumed = (np.load(tmp_path / f"{name}.npz") for name in ("whole", "cut"))
    assert len(whole.files) > 10
    for key in whole.files:
        np.testing.assert_array_equal(whole[key], resumed[key])


def test_a_loss_that_is_no_number_ends_training(capsys):
    model, x, y = _regression()
    x[20] = np.nan
    history = model.fit(x, y, batch_size=8, shuffle=False, epochs=3, verbose=0, callbacks=[callbacks.TerminateOnNaN()])
    assert capsys.readouterr().out == "Batch 2: Invalid loss, terminating training\n"
    assert len(history.epoch) == 1
    with pytest.raises(RuntimeError, match="NaN or Inf loss encountered at batch"):
        model.fit(x, y, verbose=0, callbacks=[callbacks.TerminateOnNaN(raise_error=True)])


def test_evaluation_uses_averaged_weights():
    model, x, y = _regression()
    model.compile(keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.5), "mse")
    seen = []

    class Look(callbacks.Callback):
        def on_test_batch_begin(self, batch, logs=None):
            seen.append(self.model.get_weights()[0].copy())

        def on_train_batch_begin(self, batch, logs=None):
            seen.append(None)

    swap = callbacks.SwapEMAWeights()
    before = model.get_weights()[0]
    model.fit(x, y, batch_size=32, validation_data=(x, y), verbose=0, callbacks=[swap, Look()])
    average = next(weights for weights in seen if weights is not None)
    assert (average != before).any()
    plain = _regression()[0]
    plain.fit(x, y, verbose=0)
    with pytest.raises(ValueError, match="must be used when `use_ema=True` is set"):
        plain.fit(x, y, validation_data=(x, y), verbose=0, callbacks=[callbacks.SwapEMAWeights()])


# --- TensorBoard ---


def _records(folder):
    (file,) = folder.iterdir()
    return [record.numpy() for record in tf.data.TFRecordDataset(str(file))]


def test_training_is_written_for_tensorboard(tmp_path):
    model, x, y = _regression()
    board = callbacks.TensorBoard(tmp_path, histogram_freq=1, update_freq=2, write_images=True)
    model.fit(x, y, batch_size=8, epochs=2, validation_data=(x, y), verbose=0, callbacks=[board])
    train, validation = _records(tmp_path / "train"), _records(tmp_path / "validation")

    def count(records, tag):
        return sum(tag in record for record in records)

    assert count(train, b"epoch_loss") == count(train, b"epoch_mae") == count(train, b"epoch_learning_rate") == 2
    assert count(train, b"batch_loss") == 4  # of 8 batches every second
    assert count(train, b"graph_keras_model") == 1 and count(train, f"{model.name}/dense".encode()) > 0
    assert count(train, b"/kernel/histogram") == 4 and count(train, b"/kernel/image") == 4
    assert count(validation, b"epoch_loss") == count(validation, b"evaluation_mae_vs_iterations") == 2
    with pytest.raises(ValueError, match="profile_batch=3"):
        callbacks.TensorBoard(profile_batch=3)


def test_validation_sees_the_averages_of_the_weights_with_swap_ema_weights():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    model.set_weights([np.zeros((1, 1))])
    model.compile(keras.optimizers.SGD(0.25, use_ema=True, ema_momentum=0.5), "mse")
    ones = np.ones((2, 1))  # the weight goes 0.5, 0.75; its average 0.5, 0.625
    history = model.fit(ones, ones, batch_size=1, shuffle=False, validation_data=(ones, ones), verbose=0, callbacks=[callbacks.SwapEMAWeights()]).history
    np.testing.assert_allclose(history["val_loss"], [(1 - 0.625) ** 2], rtol=1e-5)
