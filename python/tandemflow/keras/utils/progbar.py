"""The progress bar."""
import time

from .messages import print_message

_BOLD, _GREEN, _GREY, _END = "\x1b[1m", "\x1b[32m", "\x1b[37m", "\x1b[0m"


class Progbar:
    """Counts to `target` (None: unknown); verbose=1 draws a bar, 2 one line at the end, 0 nothing.

    Values are averages over the steps, except those of `stateful_metrics`, or all but those of `stateless_metrics`.
    """

    def __init__(self, target, width=20, verbose=1, interval=0.05, stateful_metrics=None, stateless_metrics=None,
                 unit_name="step"):  # fmt: skip
        if stateful_metrics is not None and stateless_metrics is not None:
            raise ValueError("Only one of `stateful_metrics` or `stateless_metrics` can be provided.")
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.unit_name = unit_name
        self._averaged = None if stateless_metrics is None else set(stateless_metrics)  # None: all but the next
        self._as_is = set(stateful_metrics or ())
        self._values = {}  # name -> (sum, count), in the order of their coming
        self._seen = 0
        self._start = time.time()
        self._after_first = None
        self._last_update = 0
        self._shown_width = 0

    def add(self, n, values=None):
        self.update(self._seen + n, values)

    def update(self, current, values=None, finalize=None):
        """`current` steps are done; `values` are pairs of a name and the value of the last step."""
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        for name, value in values or ():
            self._note(name, value, max(current - self._seen, 1), finalize)
        self._seen = current
        now = time.time()
        per_step = self._step_seconds(current, now)
        if self.verbose == 1:
            if now - self._last_update < self.interval and not finalize:
                return
            self._draw(current, now, per_step, finalize)
        elif self.verbose == 2 and finalize and self.target:
            text = f"{self._counter(current)} - {now - self._start:.0f}s - {self._speed(per_step)}"
            # Without abs, as Keras has it: negative values come in scientific notation.
            print_message(text + self._metrics(lambda value: value > 1e-3))
        self._last_update = now

    def _note(self, name, value, steps, finalize):
        averaged = name in self._averaged if self._averaged is not None else name not in self._as_is
        if not averaged or finalize:
            self._values[name] = (value, 1)
        else:
            total, count = self._values.get(name, (-0.0, 0))  # the zero that keeps the sign of what is added
            self._values[name] = (total + value * steps, count + steps)

    def _step_seconds(self, current, now):
        """Without the first step, which prepares things, as soon as there are others."""
        if not current:
            return 0
        if self._after_first is not None and current > 1:
            return (now - self._after_first) / (current - 1)
        if current == 1:
            self._after_first = now
        return (now - self._start) / current

    def _draw(self, current, now, per_step, finalize):
        known = self.target is not None and self.target > 0
        clock = _eta(per_step * (self.target - current)) if known and not finalize else f"{now - self._start:.0f}s"
        speed = f" {self._speed(per_step)}{self._metrics(lambda value: abs(value) > 1e-3)}"
        if known:
            done = int(self.width * (current / self.target))
            filled = f"{_GREEN}{'━' * done}{_END}" if done > 0 else ""
            counter = self._counter(current)
            head = f"{_BOLD}{counter}{_END} {filled}{_GREY}{'━' * (self.width - done)}{_END}"
            width = len(counter) + 1 + max(self.width, done)
        else:
            head = "%7d/Unknown" % current
            width = len(head)
        width += 1 + len(clock) + len(speed)
        text = "\b" * self._shown_width + "\r" + head + f" {_BOLD}{clock}{_END}" + speed
        text += " " * (self._shown_width - width) + ("\n" if finalize else "")
        print_message(text, line_break=False)
        self._shown_width = width

    def _counter(self, current):
        return f"{current:{len(str(self.target))}d}/{self.target}"

    def _speed(self, seconds):
        if seconds >= 1 or seconds == 0:
            return f"{seconds:.0f}s/{self.unit_name}"
        if seconds >= 1e-3:
            return f"{seconds * 1e3:.0f}ms/{self.unit_name}"
        return f"{seconds * 1e6:.0f}us/{self.unit_name}"

    def _metrics(self, plain):
        text = ""
        for name, (total, count) in self._values.items():
            value = _number(total) / count
            text += f" - {name}: {value:.4f}" if plain(value) else f" - {name}: {value:.4e}"
        return text


def _eta(seconds):
    if seconds > 3600:
        return "%d:%02d:%02d" % (seconds // 3600, seconds % 3600 // 60, seconds % 60)
    return "%d:%02d" % (seconds // 60, seconds % 60) if seconds > 60 else "%ds" % seconds


def _number(value):
    """A float; the mean of an array."""
    try:
        return float(value)
    except TypeError:
        import numpy

        return float(numpy.mean(value))
