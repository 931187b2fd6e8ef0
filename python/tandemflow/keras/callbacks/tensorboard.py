"""Training as TensorBoard shows it."""
import os
import time
import warnings

from ... import summary
from .callback import Callback
from .monitor import log_learning_rates


class TensorBoard(Callback):
    """Writes metrics (and histograms and images of variables every `histogram_freq` epochs) to `log_dir`.

    update_freq="epoch", or every so many batches as well ("batch": each).
    """

    def __init__(self, log_dir="logs", histogram_freq=0, write_graph=True, write_images=False, write_steps_per_second=False,
                 update_freq="epoch", profile_batch=0, embeddings_freq=0, embeddings_metadata=None):  # fmt: skip
        super().__init__()
        self.log_dir = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        self.write_images = write_images
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = 1 if update_freq == "batch" else update_freq
        if self.update_freq != "epoch" and (not isinstance(self.update_freq, int) or self.update_freq < 1):
            raise ValueError(f"update_freq must be 'epoch', 'batch' or a number of batches, got {update_freq!r}")
        if profile_batch not in (0, None):
            raise ValueError(f"Profiling is not available in this callback. Received: profile_batch={profile_batch} (must be 0)")
        if embeddings_freq or embeddings_metadata:
            raise ValueError("The projector of embeddings is not supported; save the weights with ModelCheckpoint instead")
        self._writers = {}
        self._train_batch = 0

    def set_model(self, model):
        super().set_model(model)
        self._close()
        if self.write_graph and getattr(model, "_graph", None) is not None:
            self._write_model()

    def uses_batches(self, mode):
        return mode == "train" and (self.update_freq != "epoch" or self.write_steps_per_second)

    def _writer(self, run):
        if run not in self._writers:
            self._writers[run] = summary.create_file_writer(os.path.join(self.log_dir, run))
        return self._writers[run]

    def _close(self):
        for writer in self._writers.values():
            writer.close()
        self._writers = {}

    def _write_model(self):
        """The layers, which TensorBoard draws as the conceptual graph."""
        try:
            text = self.model.to_json()
        except Exception as error:  # a model that cannot be written down can be trained
            warnings.warn(f"Model failed to serialize as JSON. Ignoring... {error}", stacklevel=2)
            return
        with self._writer("train").as_default():
            summary.keras_model("keras", text, step=0)

    def on_train_begin(self, logs=None):
        self._train_batch = 0

    def on_train_end(self, logs=None):
        self._close()

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch_begin = (time.time(), int(self.model.optimizer.iterations)) if self.write_steps_per_second else None

    def on_train_batch_begin(self, batch, logs=None):
        self._train_batch += 1
        self._batch_begin = time.time()

    def on_train_batch_end(self, batch, logs=None):
        values = {}
        if self.write_steps_per_second:
            values["batch_steps_per_second"] = 1 / max(time.time() - self._batch_begin, 1e-9)
        if self.update_freq != "epoch" and self._train_batch % self.update_freq == 0:
            values.update({f"batch_{name}": value for name, value in (logs or {}).items()})
        self._write("train", values, self._train_batch)

    def on_epoch_end(self, epoch, logs=None):
        logs = dict(logs or {})
        if logs:
            self._write_epoch(epoch, logs)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_variables(epoch)

    def _write_epoch(self, epoch, logs):
        validation = {name[4:]: value for name, value in logs.items() if name.startswith("val_")}
        training = {name: value for name, value in logs.items() if not name.startswith("val_")}
        log_learning_rates(self.model, training)
        if self.write_steps_per_second:
            begin, iterations = self._epoch_begin
            training["steps_per_second"] = (int(self.model.optimizer.iterations) - iterations) / (time.time() - begin)
        for run, values in (("train", training), ("validation", validation)):
            self._write(run, {f"epoch_{name}": value for name, value in values.items()}, epoch)

    def _write(self, run, values, step):
        if values:
            with self._writer(run).as_default():
                for name, value in values.items():
                    summary.scalar(name, value, step=step)

    def on_test_end(self, logs=None):
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            values = {f"evaluation_{name}_vs_iterations": value for name, value in (logs or {}).items()}
            self._write("validation", values, int(optimizer.iterations))

    def _write_variables(self, epoch):
        with self._writer("train").as_default(epoch):
            for variable in [v for layer in self.model.layers for v in layer.weights]:
                name = f"{self.model.name}/{getattr(variable, 'path', variable.name)}".replace(":", "_")
                value = variable.numpy()
                summary.histogram(f"{name}/histogram", value)
                image = _as_images(value) if self.write_images else None
                if image is not None:
                    summary.image(f"{name}/image", image)


def _as_images(value):
    """(count, height, width, 1), or None for what has too many axes."""
    value = value.squeeze()
    if value.ndim == 1:
        return value.reshape(1, -1, 1, 1)
    if value.ndim == 2:
        value = value.T if value.shape[0] > value.shape[1] else value
        return value.reshape(1, *value.shape, 1)
    if value.ndim == 3:
        return value.transpose(2, 0, 1)[..., None]
    return None
