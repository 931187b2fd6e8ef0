"""Hooks from functions."""
from .callback import Callback


class LambdaCallback(Callback):
    """LambdaCallback(on_epoch_end=lambda epoch, logs: …); any hook of Callback may be given."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None,
                 on_train_batch_begin=None, on_train_batch_end=None, **kwargs):  # fmt: skip
        super().__init__()
        named = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
        }
        self.__dict__.update(kwargs)
        self.__dict__.update({name: function for name, function in named.items() if function is not None})
