"""Ends training at a loss that is no number."""
import math

from ..utils.messages import print_message
from .callback import Callback


class TerminateOnNaN(Callback):
    """Stops after a batch whose loss is NaN or infinite, or raises there."""

    def __init__(self, raise_error=False):
        super().__init__()
        self.raise_error = raise_error

    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is None or math.isfinite(loss):
            return
        if self.raise_error:
            raise RuntimeError(
                f"NaN or Inf loss encountered at batch {batch}. Loss value: {loss}. Terminating training immediately."
            )
        print_message(f"Batch {batch}: Invalid loss, terminating training")
        self.model.stop_training = True
