"""What fit returns."""
from .callback import Callback


class History(Callback):
    """`history`: the values of each epoch by name; `epoch`: the numbers of the epochs."""

    def __init__(self):
        super().__init__()
        self.history = {}

    def on_train_begin(self, logs=None):
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        self.model.history = self
