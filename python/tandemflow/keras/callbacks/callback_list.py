"""Several callbacks as one."""
from .callback import Callback
from .history import History
from .progbar_logger import ProgbarLogger


class CallbackList(Callback):
    """Passes every hook on, in order; the logs are Python floats, sorted by name, one dict for all."""

    def __init__(self, callbacks=None, add_history=False, add_progbar=False, model=None, **params):
        super().__init__()
        self.callbacks = _flatten(callbacks)
        for callback in self.callbacks:
            if not hasattr(callback, "set_model") or isinstance(callback, type):
                raise TypeError(
                    f"callbacks: expected objects of keras.callbacks.Callback, got {callback!r}; derive from Callback and "
                    "pass an instance"
                )
        self._history = next((c for c in self.callbacks if isinstance(c, History)), None)
        self._progbar = next((c for c in self.callbacks if isinstance(c, ProgbarLogger)), None)
        if self._history is None and add_history:
            self._history = History()
            self.callbacks.append(self._history)
        if self._progbar is None and add_progbar:
            self._progbar = ProgbarLogger()
            self.callbacks.append(self._progbar)
        if model:
            self.set_model(model)
        self.set_params(params)

    def append(self, callback):
        self.callbacks.append(callback)

    def set_params(self, params):
        self.params = params
        if params:
            for callback in self.callbacks:
                callback.set_params(params)

    def set_model(self, model):
        super().set_model(model)
        if self._history is not None:
            model.history = self._history
        for callback in self.callbacks:
            callback.set_model(model)

    def batch_hooks(self, mode):
        """Whether a callback other than the progress bar wants each batch of "train", "test" or "predict"."""
        return any(_uses_batches(c, mode) for c in self.callbacks if type(c) is not ProgbarLogger)

    def show(self, step, logs):
        """Refreshes the progress bar after `step` batches, without the hooks of batches.

        A loop that runs without them calls this every 50 ms or so.
        """
        if self._progbar is not None:
            self._progbar.show(step, _floats(logs))

    def note_steps(self, count):
        """How many batches an epoch had, for a progress bar that did not know."""
        if self._progbar is not None:
            self._progbar.note_steps(count)


def _uses_batches(callback, mode):
    if isinstance(callback, Callback):
        return callback.uses_batches(mode)
    return Callback.uses_batches(callback, mode)


def _flatten(callbacks):
    if callbacks is None:
        return []
    if isinstance(callbacks, (list, tuple)):
        return [c for item in callbacks for c in _flatten(item)]
    return [callbacks]


def _floats(logs):
    """A dict of floats, sorted by name; dicts inside are merged into it."""
    out = {}
    for name, value in sorted((logs or {}).items()):
        if isinstance(value, dict):
            out.update(_floats(value))
            continue
        try:
            out[name] = value if getattr(value, "ndim", 0) else float(value)  # outputs of one sample stay arrays
        except (TypeError, ValueError):
            out[name] = value  # a callback may log text
    return out


def _pass_on(hook, numbered):
    if numbered:

        def method(self, number, logs=None):
            logs = _floats(logs)
            for callback in self.callbacks:
                getattr(callback, hook)(number, logs)

    else:

        def method(self, logs=None):
            logs = _floats(logs)
            for callback in self.callbacks:
                getattr(callback, hook)(logs)

    method.__name__ = hook
    return method


for _hook in [name for name in vars(Callback) if name.startswith("on_")]:
    setattr(CallbackList, _hook, _pass_on(_hook, "epoch" in _hook or "batch" in _hook))
