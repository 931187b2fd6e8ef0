"""Scenes that real Keras and TandemFlow play alike; tools/keras_console.py writes down what Keras prints."""
import contextlib
import io
import os
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


def _nested_models(keras, layers):
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.Dense(2)], name="inner")
    entry = keras.Input((4,), name="entry")
    drawn = keras.Model(entry, layers.Dense(2, name="deep")(inner(entry)), name="drawn")
    first, second = keras.Input((4,), name="first"), keras.Input((4,), name="second")
    both = layers.Concatenate(name="joined")([drawn(first), drawn(second), inner(first)])
    return keras.Model([first, second], [layers.Dense(1, name="a_rather_long_name_for_an_output")(both), both], name="outer")


def _subclassed(keras, layers):
    class Mine(keras.Model):
        def __init__(self):
            super().__init__(name="mine")
            self.hidden = layers.Dense(5, activation="relu")
            self.drop = layers.Dropout(0.5)
            self.out = layers.Dense(2)

        def call(self, x):
            return self.out(self.drop(self.hidden(x)))

    return Mine()


def summaries(keras, np):
    """What summary() prints for models of all kinds."""
    layers = keras.layers
    keras.utils.clear_session()
    out = Terminal()

    def show(title, model, **options):
        print(f"--- {title}", file=out)
        for terminal in ("pipe", "xterm"):
            stream = io.StringIO() if terminal == "pipe" else Terminal()
            environment = {"COLUMNS": "80", "TERM": terminal, "COLORTERM": ""}
            with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(stream):
                model.summary(**options)
            out.write(stream.getvalue())
        model.summary(print_fn=lambda text: out.write(f"printed {len(text)}\n"), **options)

    tiny = keras.Sequential(
        [keras.Input((12, 12, 1)), layers.Conv2D(4, 3, activation="relu"), layers.BatchNormalization(),
         layers.MaxPooling2D(), layers.Dropout(0.3), layers.Flatten(), layers.Dense(8), layers.Dense(3)],
        name="tiny",
    )  # fmt: skip
    show("sequential", tiny)
    tiny.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    tiny.fit(np.zeros((8, 12, 12, 1), "float32"), np.zeros((8,), "int32"), verbose=0)
    show("trained", tiny)
    tiny.layers[0].trainable = False
    show("trainable", tiny, show_trainable=True)
    show("narrow", tiny, line_length=65)
    show("too wide", tiny, line_length=120)
    show("positions", tiny, positions=[0.3, 0.5, 0.7])
    show("range", tiny, layer_range=["max_pool", "dense"])
    show("unbuilt", keras.Sequential([layers.Dense(3, name="waits")], name="unbuilt"))
    outer = _nested_models(keras, layers)
    show("functional", outer)
    show("nested", outer, expand_nested=True, show_trainable=True)
    chain = keras.Input((4,), name="begin")
    show("chain", keras.Model(chain, layers.Dense(2, name="end")(layers.Dense(3, name="middle")(chain)), name="chain"))
    mine = _subclassed(keras, layers)
    show("subclassed, unbuilt", mine)
    mine(np.zeros((2, 4), "float32"))
    show("subclassed", mine)
    return out.getvalue()


class _Optimizer:
    def __init__(self):
        self.learning_rate = 0.5


class _Model:
    """Enough of a model for callbacks; notes what they do to it."""

    built = True

    def __init__(self):
        self.optimizer, self.metrics, self.stop_training, self.weights, self.did = _Optimizer(), [], False, 0, []

    def get_weights(self):
        return [self.weights]

    def set_weights(self, weights):
        self.did.append(f"set_weights {weights}")

    def save(self, path, overwrite=True):
        self.did.append(f"save {os.path.basename(path)}")

    def save_weights(self, path, overwrite=True):
        self.did.append(f"save_weights {os.path.basename(path)}")


def _epochs(callback, values, batches=0):
    """Plays epochs whose val_loss (or val_accuracy) are the values; what was done, printed and logged."""
    model = _Model()
    callback.set_model(model)
    callback.set_params({"epochs": len(values), "steps": batches, "verbose": 0})
    rates = []
    with console() as (out, _):
        callback.on_train_begin()
        for epoch, value in enumerate(values):
            callback.on_epoch_begin(epoch)
            for batch in range(batches):
                callback.on_train_batch_begin(batch, {})
                callback.on_train_batch_end(batch, {"loss": float(batch)})
            model.weights = epoch
            logs = {"loss": 1.0, "val_loss": value, "val_accuracy": value}
            callback.on_epoch_end(epoch, logs)
            rates.append(logs.get("learning_rate"))
            if model.stop_training:
                break
        callback.on_train_end()
    return {"epochs": epoch + 1, "did": model.did, "printed": out.getvalue(), "rates": rates, "stopped": model.stop_training}


def watchers(callbacks, folder):
    """What the callbacks that watch values do."""
    falling = [1.0, 0.8, 0.79, 0.795, 0.9, 0.78, 0.9, 0.9, 0.9, 0.1]
    play = {}
    stop = callbacks.EarlyStopping
    play["stop"] = _epochs(stop(), falling)
    play["stop, patience"] = _epochs(stop(patience=2, verbose=1), falling)
    play["stop, best weights"] = _epochs(stop(patience=3, restore_best_weights=True, verbose=1), falling)
    play["stop, delta"] = _epochs(stop(min_delta=0.05, patience=2, restore_best_weights=True), falling)
    play["stop, baseline"] = _epochs(stop(patience=2, baseline=0.5, restore_best_weights=True, verbose=1), falling)
    play["stop, later"] = _epochs(stop(patience=1, start_from_epoch=4), falling)
    play["stop, max"] = _epochs(stop(monitor="val_accuracy", mode="max", patience=1), falling)
    plateau = callbacks.ReduceLROnPlateau
    play["plateau"] = _epochs(plateau(factor=0.5, patience=1, verbose=1), falling)
    play["plateau, cooldown"] = _epochs(plateau(factor=0.5, patience=1, cooldown=2, min_lr=0.2), falling)
    play["plateau, delta"] = _epochs(plateau(patience=2, min_delta=0.2), falling)
    play["schedule"] = _epochs(callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5, verbose=1), falling[:3])
    play["schedule, old"] = _epochs(callbacks.LearningRateScheduler(lambda epoch: 0.25 / (epoch + 1)), falling[:3])
    play["nan"] = _epochs(callbacks.TerminateOnNaN(), [1.0], 2)
    file = callbacks.ModelCheckpoint
    play["file"] = _epochs(file(f"{folder}/{{epoch:02d}}-{{val_loss:.2f}}.keras"), falling[:3])
    play["file, best"] = _epochs(file(f"{folder}/m.keras", save_best_only=True), falling)
    play["file, threshold"] = _epochs(file(f"{folder}/m.keras", save_best_only=True, initial_value_threshold=0.5), falling)
    play["file, weights"] = _epochs(file(f"{folder}/{{epoch}}.weights.h5", save_weights_only=True, mode="max",
                                         monitor="val_accuracy", save_best_only=True), falling)  # fmt: skip
    play["file, batches"] = _epochs(file(f"{folder}/{{epoch}}-{{batch}}.keras", save_freq=4), falling[:4], 3)
    for append in (False, True):
        play[f"csv, append {append}"] = _epochs(callbacks.CSVLogger(f"{folder}/log.csv", ";", append), falling[:2])
    with open(f"{folder}/log.csv", newline="") as file:
        play["csv"] = file.read()
    return play
