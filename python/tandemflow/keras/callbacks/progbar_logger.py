"""The progress bar of fit, evaluate and predict."""
from ..utils.messages import print_message
from ..utils.progbar import Progbar
from .callback import Callback


class ProgbarLogger(Callback):
    """Shows a bar (verbose=1) or a line for each epoch (verbose=2)."""

    def __init__(self):
        super().__init__()
        self.seen = 0
        self.progbar = None
        self.target = None
        self.verbose = 1
        self.epochs = 1
        self._in_fit = False
        self._validating = False  # inside of fit: silent
        self._shows_logs = True

    def set_params(self, params):
        self.verbose = 1 if params["verbose"] == "auto" else params["verbose"]
        self.epochs = params["epochs"]
        self.target = params["steps"]

    def on_train_begin(self, logs=None):
        self._in_fit = True

    def on_epoch_begin(self, epoch, logs=None):
        self._start()
        if self.verbose and self.epochs > 1:
            print_message(f"Epoch {epoch + 1}/{self.epochs}")

    def on_test_begin(self, logs=None):
        self._validating = self._in_fit
        if not self._validating:
            self._start()

    def on_predict_begin(self, logs=None):
        self._shows_logs = False  # they are the predictions
        self._start()

    def on_train_batch_end(self, batch, logs=None):
        self.show(batch + 1, logs)

    def on_test_batch_end(self, batch, logs=None):
        self.show(batch + 1, logs)

    def on_predict_batch_end(self, batch, logs=None):
        self.show(batch + 1, logs)

    def on_epoch_end(self, epoch, logs=None):
        self._finish(logs)

    def on_test_end(self, logs=None):
        if not self._validating:
            self._finish(logs)
        self._validating = False

    def on_predict_end(self, logs=None):
        self._finish(None)

    def _start(self):
        self.seen = 0
        self.progbar = Progbar(self.target, verbose=self.verbose, unit_name="step", stateless_metrics=())

    def show(self, step, logs):
        """`step` batches are done."""
        if self._validating:
            return
        if self.progbar is None:
            self._start()
        self.seen = step
        if self.verbose == 1:
            logs = logs if logs and self._shows_logs else {}
            self.progbar.update(step, list(logs.items()), finalize=False)

    def note_steps(self, count):
        """How many batches there were in all, for a length that was not known."""
        if not self._validating:
            self.seen = count

    def _finish(self, logs):
        if self.target is None:  # known now, and for the epochs to come
            self.target = self.progbar.target = self.seen
        self.progbar.update(self.target, list((logs or {}).items()), finalize=True)
