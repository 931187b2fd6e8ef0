"""keras.callbacks and the progress bar; what Keras prints was written down by tools/keras_console.py."""
from pathlib import Path

import keras_scenes
import pytest
from tandemflow.keras import callbacks, utils

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
