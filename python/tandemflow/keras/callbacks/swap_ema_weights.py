"""Evaluates with averaged weights."""
from .callback import Callback


class SwapEMAWeights(Callback):
    """While evaluating (and, with swap_on_epoch, between epochs) the model has the optimizer's averaged weights."""

    def __init__(self, swap_on_epoch=False):
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        self._swapped = False

    def _pairs(self):
        """(variable, its average) of every optimizer that keeps averages."""
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        several = [o for o in getattr(optimizer, "optimizers", [optimizer]) if getattr(o, "use_ema", False)]
        if not several:
            raise ValueError(
                "SwapEMAWeights must be used when `use_ema=True` is set on the optimizer. Received: use_ema="
                f"{getattr(optimizer, 'use_ema', False)}"
            )
        return [
            pair for o in several for pair in zip(o._trainable_variables, getattr(o, "_model_variables_moving_average", ()))
        ]

    def _swap(self, to_averages):
        if self._swapped == to_averages:
            return
        for variable, average in self._pairs():
            value = variable.numpy()
            variable.assign(average)
            average.assign(value)
        self._swapped = to_averages

    def on_epoch_begin(self, epoch, logs=None):
        if self.swap_on_epoch:
            self._swap(False)

    def on_epoch_end(self, epoch, logs=None):
        if not self.swap_on_epoch:
            return
        self._swap(True)
        if epoch == self.params["epochs"] - 1:
            # At the end of fit the optimizer gives the averages to the model: let them be what it has.
            for variable, average in self._pairs():
                average.assign(variable)

    def on_test_begin(self, logs=None):
        self._swap(True)

    def on_test_end(self, logs=None):
        self._swap(False)

    def on_predict_begin(self, logs=None):
        self._swap(True)

    def on_predict_end(self, logs=None):
        self._swap(False)
