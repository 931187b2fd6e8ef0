"""Writes the model while it trains."""
import os
import warnings

from ..utils.messages import print_message
from .monitor import MonitorCallback


class BatchCounter:
    """Says when `every` batches have gone by, over epochs; "epoch": never."""

    def __init__(self, every):
        self.every = every
        self.last = None
        self._since = 0

    def is_due(self, batch):
        if self.every == "epoch" or not self.every:
            return False
        self._since += batch + 1 if self.last is None or batch <= self.last else batch - self.last
        self.last = batch
        if self._since < self.every:
            return False
        self._since = 0
        return True


class ModelCheckpoint(MonitorCallback):
    """Saves to `filepath` ("{epoch:02d}-{val_loss:.2f}.keras"), after each epoch or every `save_freq` batches."""

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto",
                 save_freq="epoch", initial_value_threshold=None):  # fmt: skip
        super().__init__(monitor, mode, initial_value_threshold)
        self.filepath = os.fspath(filepath)
        self.verbose = verbose
        self.save_best_only = save_best_only
        self.save_weights_only = save_weights_only
        self.save_freq = save_freq
        self._epoch = 0
        self._counter = BatchCounter(save_freq)
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values")
        if save_weights_only and not self.filepath.endswith(".weights.h5"):
            raise ValueError(
                "When using `save_weights_only=True` in `ModelCheckpoint`, the filepath provided must end in `.weights.h5` "
                f"(Keras weights format). Received: filepath={self.filepath}"
            )
        if not save_weights_only and not self.filepath.endswith((".keras", ".h5")):
            raise ValueError(
                f"The filepath provided must end in `.keras` (Keras model format). Received: filepath={self.filepath}"
            )

    def uses_batches(self, mode):
        return mode == "train" and self.save_freq != "epoch"

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self._counter.is_due(batch):
            self._save_model(self._epoch, batch, logs or {})

    def on_epoch_end(self, epoch, logs=None):
        if self.save_freq == "epoch":
            self._save_model(epoch, None, logs or {})

    def _save_model(self, epoch, batch, logs):
        path = self._path(epoch, batch, logs)
        if not self._is_worth_saving(epoch, logs, path):
            return
        if os.path.isdir(path):
            raise IOError(
                f"Please specify a non-directory filepath for ModelCheckpoint. Filepath used is an existing directory: {path}"
            )
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        if self.save_weights_only:
            self.model.save_weights(path, overwrite=True)
        else:
            self.model.save(path, overwrite=True)
        self._tell(epoch, f"finished saving model to {path}")

    def _path(self, epoch, batch, logs):
        numbers = {"epoch": epoch + 1} if batch is None or "batch" in logs else {"epoch": epoch + 1, "batch": batch + 1}
        try:
            return self.filepath.format(**numbers, **logs)
        except KeyError as error:
            raise KeyError(f'Failed to format this callback filepath: "{self.filepath}". Reason: {error}') from None

    def _is_worth_saving(self, epoch, logs, path):
        if not self.save_best_only:
            self._tell(epoch, f"saving model to {path}")
            return True
        current = logs.get(self.monitor)
        if current is None:
            warnings.warn(f"Can save best model only with {self.monitor} available.", stacklevel=2)
            return True
        self._find_direction()
        before = "None" if self.best is None else f"{self.best:.5f}"
        if not self._is_improvement(current, self.best):
            self._tell(epoch, f"{self.monitor} did not improve from {before}")
            return False
        self._tell(epoch, f"{self.monitor} improved from {before} to {current:.5f}, saving model to {path}")
        self.best = current
        return True

    def _tell(self, epoch, text):
        if self.verbose > 0:
            print_message(f"\nEpoch {epoch + 1}: {text}")
