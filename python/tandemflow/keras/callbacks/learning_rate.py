"""Callbacks that set the learning rate."""
import numbers
import warnings

from ..utils.messages import print_message
from .callback import Callback
from .monitor import MonitorCallback, learning_rate_of, log_learning_rates, optimizers_of


class LearningRateScheduler(Callback):
    """schedule(epoch, rate) gives the rate of each epoch; schedule(epoch) does as well."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule = schedule
        self.verbose = verbose

    def on_epoch_begin(self, epoch, logs=None):
        for optimizer, name in optimizers_of(self.model):
            rate = self._scheduled(epoch, learning_rate_of(optimizer))
            optimizer.learning_rate = rate
            if self.verbose > 0:
                whose = f"{name} " if name else ""
                print_message(f"\nEpoch {epoch + 1}: LearningRateScheduler setting {whose}learning rate to {rate}.")

    def _scheduled(self, epoch, current):
        try:
            rate = self.schedule(epoch, current)
        except TypeError:  # takes the epoch alone
            rate = self.schedule(epoch)
        if not isinstance(rate, numbers.Real) or isinstance(rate, numbers.Integral):
            raise ValueError(f"The output of the `schedule` function should be a float. Got: {rate}")
        return rate

    def on_epoch_end(self, epoch, logs=None):
        log_learning_rates(self.model, logs if logs is not None else {})


class ReduceLROnPlateau(MonitorCallback):
    """Multiplies the learning rate by `factor` after `patience` epochs without improvement."""

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0,
                 min_lr=0.0, **kwargs):  # fmt: skip
        super().__init__(monitor, mode, min_delta=min_delta)
        if kwargs:
            raise TypeError(f"ReduceLROnPlateau got unexpected arguments: {', '.join(kwargs)}")
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Received factor={factor}")
        self.factor = factor
        self.min_lr = min_lr
        self.patience = patience
        self.verbose = verbose
        self.cooldown = cooldown
        self.on_train_begin()

    def on_train_begin(self, logs=None):
        self.best = None
        self.cooldown_counter = 0
        self.wait = 0

    def in_cooldown(self):
        return self.cooldown_counter > 0

    def on_epoch_end(self, epoch, logs=None):
        self._find_direction()
        logs = logs if logs is not None else {}
        log_learning_rates(self.model, logs)
        current = logs.get(self.monitor)
        if current is None:
            warnings.warn(
                f"Learning rate reduction is conditioned on metric `{self.monitor}` which is not available. "
                f"Available metrics are: {','.join(logs)}.",
                stacklevel=2,
            )
            return
        if self.in_cooldown():
            self.cooldown_counter -= 1
            self.wait = 0
        if self._is_improvement(current, self.best):
            self.best = current
            self.wait = 0
        elif not self.in_cooldown():
            self.wait += 1
            if self.wait >= self.patience and self._reduce(epoch):
                self.cooldown_counter = self.cooldown
                self.wait = 0

    def _reduce(self, epoch):
        reduced = False
        for optimizer, name in optimizers_of(self.model):
            old = learning_rate_of(optimizer)
            if old <= _as_float32(self.min_lr):
                continue
            new = max(old * self.factor, self.min_lr)
            optimizer.learning_rate = new
            reduced = True
            if self.verbose > 0:
                whose = f" {name}" if name else ""
                print_message(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing{whose} learning rate to {new}.")
        return reduced


def _as_float32(value):
    """Rounded as the optimizer's variable is, so that the two can be compared."""
    import struct

    return struct.unpack("f", struct.pack("f", value))[0]
