"""What callbacks share that watch one value: is it better than before?"""
import warnings

from .callback import Callback


class MonitorCallback(Callback):
    """`mode` says whether less ("min") or more ("max") is better; "auto" asks the metric."""

    def __init__(self, monitor="val_loss", mode="auto", baseline=None, min_delta=0):
        super().__init__()
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{type(self).__name__} mode '{mode}' is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        self.monitor = monitor
        self.mode = mode
        self.best = baseline
        self.min_delta = abs(min_delta)
        self._direction = {"min": "down", "max": "up"}.get(mode)

    def _find_direction(self):
        """At the end of an epoch, when the metrics of the model exist."""
        if self._direction is not None:
            return
        name = self.monitor.removeprefix("val_")
        if name == "loss":
            self._direction = "down"
        for metric in _metrics_of(self.model):
            if metric.name == name and getattr(metric, "_direction", None) is not None:
                self._direction = metric._direction
        if self._direction is None:
            raise ValueError(
                f"{type(self).__name__} callback received monitor={self.monitor}, but Keras isn't able to automatically "
                "determine whether that metric should be maximized or minimized. Pass `mode='max'` in order to monitor based "
                "on the highest metric value, or pass `mode='min'` in order to use the lowest value."
            )

    def _is_improvement(self, value, reference):
        if reference is None:
            return True
        if self._direction == "up":
            return value - self.min_delta > reference
        return value + self.min_delta < reference


def _metrics_of(model):
    """All metrics, those inside of compiled ones too."""
    for metric in getattr(model, "metrics", None) or ():
        inner = getattr(metric, "metrics", None)
        if inner:
            yield from inner
        else:
            yield metric


def optimizers_of(model):
    """(the optimizer, "") or, where several share the work, each with its name."""
    several = getattr(model.optimizer, "optimizers", None)
    return [(optimizer, optimizer.name) for optimizer in several] if several else [(model.optimizer, "")]


def learning_rate_of(optimizer):
    if not hasattr(optimizer, "learning_rate"):
        raise ValueError('Optimizer must have a "learning_rate" attribute.')
    rate = optimizer.learning_rate
    return float(rate.numpy() if hasattr(rate, "numpy") else rate)


def log_learning_rates(model, logs):
    for optimizer, name in optimizers_of(model):
        logs[f"learning_rate_{name}" if name else "learning_rate"] = learning_rate_of(optimizer)
