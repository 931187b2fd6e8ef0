"""Training that goes on where an interruption left it."""
import json
import os
import shutil

from ... import _tandem
from ..._checkpoint_file import write_atomically
from .callback import Callback
from .model_checkpoint import BatchCounter


class BackupAndRestore(Callback):
    """Keeps the weights, the optimizer's state, the epoch and where the random numbers stand in `backup_dir` until training ends."""

    def __init__(self, backup_dir, save_freq="epoch", double_checkpoint=False, delete_checkpoint=True):
        super().__init__()
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(
                f"Invalid value for argument `save_freq`. Received: save_freq={save_freq}. Expected either 'epoch' or an "
                "integer value."
            )
        self.backup_dir = os.fspath(backup_dir)
        self.save_freq = save_freq
        self.double_checkpoint = double_checkpoint
        self.delete_checkpoint = delete_checkpoint
        self._counter = BatchCounter(save_freq)
        self._epoch = 0
        self._weights_path = os.path.join(self.backup_dir, "latest.weights.h5")
        self._metadata_path = os.path.join(self.backup_dir, "training_metadata.json")

    def uses_batches(self, mode):
        return mode == "train" and self.save_freq != "epoch"

    def on_train_begin(self, logs=None):
        try:
            self._restore()
        except (OSError, ValueError):
            if not os.path.exists(self._weights_path + ".bkp"):
                raise
            for path in (self._weights_path, self._metadata_path):  # damaged: the state before
                shutil.copy(path + ".bkp", path)
            self._restore()

    def _restore(self):
        if not self.model.built:
            raise ValueError(
                "To use the BackupAndRestore callback, you model must be built before you call `fit()`. Model "
                f"{self.model} is unbuilt. You can build it beforehand by calling it on a batch of data."
            )
        if os.path.exists(self._weights_path):
            optimizer = getattr(self.model, "optimizer", None)
            if optimizer is not None and not optimizer.built:
                optimizer.build(self.model.trainable_variables)
            self.model.load_weights(self._weights_path)
        if os.path.exists(self._metadata_path):
            with open(self._metadata_path) as file:
                metadata = json.load(file)
            self.model._initial_epoch = metadata["epoch"]
            if "random" in metadata:  # Keras' own files have none
                _tandem.set_random_position(*metadata["random"])

    def on_train_batch_end(self, batch, logs=None):
        if self._counter.is_due(batch):
            self._save()

    def on_epoch_end(self, epoch, logs=None):
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._save()

    def _save(self):
        os.makedirs(self.backup_dir, exist_ok=True)
        if self.double_checkpoint:
            for path in (self._weights_path, self._metadata_path):
                if os.path.exists(path):
                    shutil.copy(path, path + ".bkp")
        self.model.save_weights(self._weights_path, overwrite=True)
        metadata = {"epoch": self._epoch, "batch": self._counter.last or 0, "random": _tandem.random_position()}
        write_atomically(self._metadata_path, [json.dumps(metadata).encode()])

    def on_train_end(self, logs=None):
        if self.delete_checkpoint and os.path.isdir(self.backup_dir):
            shutil.rmtree(self.backup_dir)
