"""The base of callbacks: every hook exists and does nothing."""

# Which methods are called for each batch.
BATCH_HOOKS = {
    "train": ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end"),
    "test": ("on_test_batch_begin", "on_test_batch_end"),
    "predict": ("on_predict_batch_begin", "on_predict_batch_end"),
}


class Callback:
    """Subclass it and override the hooks you need; `self.model` and `self.params` are set before the first."""

    def __init__(self):
        self.params = None
        self._model = None

    @property
    def model(self):
        return self.__dict__.get("_model")

    def set_params(self, params):
        self.params = params

    def set_model(self, model):
        self._model = model

    def uses_batches(self, mode):
        """Whether hooks of batches do anything in "train", "test" or "predict"; else training need not stop for them."""
        return any(is_overridden(self, name) for name in BATCH_HOOKS[mode])

    # --- Train ---

    def on_train_begin(self, logs=None):
        pass

    def on_train_end(self, logs=None):
        pass

    def on_epoch_begin(self, epoch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass

    def on_batch_begin(self, batch, logs=None):
        pass

    def on_batch_end(self, batch, logs=None):
        pass

    def on_train_batch_begin(self, batch, logs=None):
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)

    # --- Test ---

    def on_test_begin(self, logs=None):
        pass

    def on_test_end(self, logs=None):
        pass

    def on_test_batch_begin(self, batch, logs=None):
        pass

    def on_test_batch_end(self, batch, logs=None):
        pass

    # --- Predict ---

    def on_predict_begin(self, logs=None):
        pass

    def on_predict_end(self, logs=None):
        pass

    def on_predict_batch_begin(self, batch, logs=None):
        pass

    def on_predict_batch_end(self, batch, logs=None):
        pass


def is_overridden(callback, name):
    """Whether a hook is more than the empty one of Callback; it may be set on the object as well."""
    hook = getattr(callback, name, None)
    return hook is not None and getattr(hook, "__func__", hook) is not getattr(Callback, name)
