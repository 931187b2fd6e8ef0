"""The values of each epoch as a table in a file."""
import csv
import os
from collections.abc import Iterable

from .callback import Callback


class CSVLogger(Callback):
    """Writes a line for each epoch; append=True goes on with a file that exists."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename = os.fspath(filename)
        self.sep = separator
        self.append = append
        self._file = self._writer = self._names = None
        self._needs_header = True

    def on_train_begin(self, logs=None):
        self.on_train_end()
        if self.append and os.path.exists(self.filename):
            self._needs_header = os.path.getsize(self.filename) == 0
        self._file = open(self.filename, "a" if self.append else "w", newline="")

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        if self._writer is None:
            self._start(logs)
        row = {name: _cell(logs.get(name, "NA")) for name in self._names}
        self._writer.writerow({"epoch": epoch, **row})
        self._file.flush()

    def _start(self, logs):
        names = sorted(logs)
        if names and not any(name.startswith("val_") for name in names):  # validation may come in a later epoch
            names += [f"val_{name}" for name in names]
        self._names = names
        self._writer = csv.DictWriter(self._file, ["epoch", *names], delimiter=self.sep)
        if self._needs_header:
            self._writer.writeheader()

    def on_train_end(self, logs=None):
        if self._file is not None:
            self._file.close()
        self._file = self._writer = self._names = None


def _cell(value):
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return f'"[{", ".join(map(str, value))}]"'
