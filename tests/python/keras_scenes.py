"""Scenes that real Keras and TandemFlow play alike; tools/keras_console.py writes down what Keras prints."""
import contextlib
import io
import time
from unittest import mock


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@contextlib.contextmanager
def console():
    """(what is printed inside, the clock that time.time reads)."""
    clock, out = Clock(), io.StringIO()
    with mock.patch.object(time, "time", clock), contextlib.redirect_stdout(out):
        yield out, clock


def progress_bars(Progbar):
    """What bars of all kinds print."""
    with console() as (out, clock):

        def play(target, verbose, durations, values, **options):
            bar = Progbar(target, verbose=verbose, **options)
            for step, seconds in enumerate(durations):
                clock.now += seconds
                bar.update(step + 1, values(step))
            if target is None:
                clock.now += 1
                bar.target = len(durations)
                bar.update(len(durations), values(7), finalize=True)

        def metrics(step):
            return [("loss", 1.5 / (step + 1)), ("acc", 0.0001 * step), ("neg", -0.25 * step)]

        for verbose in (0, 1, 2):
            play(3, verbose, [0.5, 0.01, 0.1], metrics)
            play(12, verbose, [0.5] * 12, metrics, stateful_metrics=["acc"])
            play(1234, verbose, [10, 0.0001, 3, 0.2], metrics, stateless_metrics=set())
            play(100, verbose, [100, 1.5], lambda step: [])
            play(100, verbose, [0.0004] * 5, lambda step: [] if step else metrics(0))
            play(None, verbose, [0.2] * 5, metrics)
            play(20, verbose, [0.2] * 20, lambda step: [("v", 3)], width=33, unit_name="sample")
    return out.getvalue()


def fit_and_evaluate(callbacks_module):
    """What the callbacks of fit, evaluate and predict print, with validation inside of fit."""

    class Model:
        pass

    def make(verbose, epochs, steps):
        # Hooks of batches keep Keras from calling the progress bar in another thread, which has no clock to rely on.
        hooks = {f"on_{mode}batch_end": lambda batch, logs=None: None for mode in ("", "test_", "predict_")}
        return callbacks_module.CallbackList(
            [callbacks_module.LambdaCallback(**hooks)], add_history=True, add_progbar=True, model=Model(), verbose=verbose,
            epochs=epochs, steps=steps,
        )  # fmt: skip

    with console() as (out, clock):

        def batches(callbacks, mode, count, logs):
            for batch in range(count):
                getattr(callbacks, f"on_{mode}_batch_begin")(batch)
                clock.now += 0.06
                getattr(callbacks, f"on_{mode}_batch_end")(batch, logs(batch))

        def fit(verbose, epochs, steps, initial_epoch=0):
            callbacks = make(verbose, epochs, steps)
            callbacks.on_train_begin()
            for epoch in range(initial_epoch, epochs):
                callbacks.on_epoch_begin(epoch)
                batches(callbacks, "train", 3, lambda i: {"loss": 1.0 / (i + 1), "accuracy": 0.1 * i})
                callbacks.on_test_begin()
                batches(callbacks, "test", 2, lambda i: {"loss": 9.0})
                callbacks.on_test_end({"loss": 9.0})
                callbacks.on_epoch_end(epoch, {"loss": 0.25, "accuracy": 0.5, "val_loss": 2.0, "a": {"mae": 3.0}})
            callbacks.on_train_end()

        for verbose in (0, 1, 2, "auto"):
            fit(verbose, 2, 3)
            fit(verbose, 1, None)
            fit(verbose, 3, None, 1)
            for mode in ("test", "predict"):
                callbacks = make(verbose, 1, 4)
                getattr(callbacks, f"on_{mode}_begin")()
                batches(callbacks, mode, 4, lambda i: {"loss": 1.0})
                getattr(callbacks, f"on_{mode}_end")({"loss": 1.0} if mode == "test" else None)
    return out.getvalue()
