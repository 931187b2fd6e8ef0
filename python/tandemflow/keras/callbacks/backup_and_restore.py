"""Training that goes on where an interruption left it.

The metadata name the weights they belong to by their checksum, and the weights before are kept until the new metadata are
there: whenever the program is killed, one pair fits.
"""
import hashlib
import json
import os
import shutil

from ... import _files, _tandem
from ..._atomic_file import write_atomically
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
        if not self.model.built:
            raise ValueError(
                "To use the BackupAndRestore callback, you model must be built before you call `fit()`. Model "
                f"{self.model} is unbuilt. You can build it beforehand by calling it on a batch of data."
            )
        found = [_read_json(path) for path in self._metadata_paths() if os.path.exists(path)]
        for metadata in found:
            for path in (self._weights_path, self._weights_path + ".bkp"):
                weights = _matching_bytes(path, metadata)
                if weights is not None:
                    return self._restore(metadata, weights, path)
        if found:
            raise ValueError(
                f"{self.backup_dir} is damaged: no file of weights has the checksum that {os.path.basename(self._metadata_path)} "
                "names; remove the folder to train from the beginning"
            )

    def _metadata_paths(self):
        return self._metadata_path, self._metadata_path + ".bkp"

    def _restore(self, metadata, weights, path):
        from ..saving.weight_files import load_weights_bytes

        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        load_weights_bytes(self.model, weights)
        self.model._initial_epoch = metadata["epoch"]
        if "random" in metadata:
            _tandem.set_random_position(*metadata["random"])
        if path != self._weights_path:  # the next backup moves the latest aside: that must be the one in use
            os.replace(path, self._weights_path)
            write_atomically(self._metadata_path, [json.dumps(metadata).encode()])

    def on_train_batch_end(self, batch, logs=None):
        if self._counter.is_due(batch):
            self._save()

    def on_epoch_end(self, epoch, logs=None):
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._save()

    def _save(self):
        from ..saving.weight_files import weights_bytes

        os.makedirs(self.backup_dir, exist_ok=True)
        weights = weights_bytes(self.model)
        metadata = {
            "epoch": self._epoch, "batch": self._counter.last or 0, "random": _tandem.random_position(),
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
        }  # fmt: skip
        if self.double_checkpoint and os.path.exists(self._metadata_path):
            with open(self._metadata_path, "rb") as file:
                write_atomically(self._metadata_path + ".bkp", [file.read()])
        if os.path.exists(self._weights_path):
            os.replace(self._weights_path, self._weights_path + ".bkp")
        _files.write_file_atomically(self._weights_path, weights)
        write_atomically(self._metadata_path, [json.dumps(metadata).encode()])

    def on_train_end(self, logs=None):
        if self.delete_checkpoint and os.path.isdir(self.backup_dir):
            for path in self._metadata_paths():  # first: weights without them are no backup
                if os.path.exists(path):
                    os.unlink(path)
            shutil.rmtree(self.backup_dir)


def _read_json(path):
    """None where the file holds none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError:
        return None


def _matching_bytes(path, metadata):
    """The weights in a file, if the metadata are theirs."""
    if not isinstance(metadata, dict) or "epoch" not in metadata or not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        data = file.read()
    # Keras' own metadata have no checksum.
    return data if metadata.get("weights_sha256") in (None, hashlib.sha256(data).hexdigest()) else None
