"""keras.optimizers.schedules: learning rates that depend on the step."""
import math

from ... import _names, _ops, _tandem
from .._engine.floats import floatx
from .._engine.registry import Family


def _number(step):
    return _ops.cast(_tandem.to_tensor(step), floatx())


def _positive(name, value):
    if value <= 0:
        raise ValueError(f"Argument `{name}` must be > 0. Received: {name}={value}")


class LearningRateSchedule:
    """Subclasses write __call__(step), made of tensor ops, and get_config."""

    _keras_module = "keras.optimizers.schedules"
    _arguments = ()

    def __call__(self, step):
        raise NotImplementedError(
            f"Learning rate schedule '{type(self).__name__}' must override `__call__(self, step)`."
        )

    def get_config(self):
        if not self._arguments:
            raise NotImplementedError(
                f"Learning rate schedule '{type(self).__name__}' must override `get_config()` in order to be "
                "serializable."
            )
        return {name: getattr(self, name) for name in self._arguments}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class ExponentialDecay(LearningRateSchedule):
    """initial * decay_rate ^ (step / decay_steps)"""

    _arguments = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase", "name")

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name="ExponentialDecay"):
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate, self.decay_steps, self.decay_rate = initial_learning_rate, decay_steps, decay_rate
        self.staircase, self.name = staircase, name

    def _periods(self, step):
        periods = _number(step) / float(self.decay_steps)
        return _ops.floor(periods) if self.staircase else periods

    def __call__(self, step):
        periods = self._periods(step)
        rate = _tandem.to_tensor(float(self.decay_rate), periods.dtype)
        return float(self.initial_learning_rate) * _ops.pow(rate, periods)


class InverseTimeDecay(ExponentialDecay):
    """initial / (1 + decay_rate * step / decay_steps)"""

    def __init__(self, initial_learning_rate, decay_steps, decay_rate, staircase=False, name="InverseTimeDecay"):
        super().__init__(initial_learning_rate, decay_steps, decay_rate, staircase, name)

    def __call__(self, step):
        return float(self.initial_learning_rate) / (1.0 + float(self.decay_rate) * self._periods(step))


class PiecewiseConstantDecay(LearningRateSchedule):
    """values[0] up to boundaries[0], values[1] up to boundaries[1], …"""

    _arguments = ("boundaries", "values", "name")

    def __init__(self, boundaries, values, name="PiecewiseConstant"):
        if len(boundaries) != len(values) - 1:
            raise ValueError(
                "The length of boundaries should be 1 less than the length of values. Received: "
                f"boundaries={boundaries} of length {len(boundaries)}, and values={values} of length {len(values)}."
            )
        self.boundaries, self.values, self.name = boundaries, values, name

    def __call__(self, step):
        step = _tandem.to_tensor(step)
        rate = _tandem.to_tensor(float(self.values[-1]), floatx())
        for boundary, value in zip(reversed(self.boundaries), reversed(self.values[:-1])):
            rate = _ops.where(step <= _ops.cast(boundary, step.dtype), float(value), rate)
        return rate


class PolynomialDecay(LearningRateSchedule):
    """From initial to end along (1 - step / decay_steps) ^ power; with `cycle` again and again, longer each time."""

    _arguments = ("initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle", "name")

    def __init__(
        self, initial_learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False,
        name="PolynomialDecay",
    ):  # fmt: skip
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate, self.decay_steps = initial_learning_rate, decay_steps
        self.end_learning_rate, self.power, self.cycle, self.name = end_learning_rate, power, cycle, name

    def __call__(self, step):
        step, length = _number(step), float(self.decay_steps)
        if self.cycle:
            length = length * _ops.maximum(_ops.ceil(step / length), 1.0)
        else:
            step = _ops.minimum(step, length)
        span = float(self.initial_learning_rate) - float(self.end_learning_rate)
        return span * (1.0 - step / length) ** float(self.power) + float(self.end_learning_rate)


def _half_cosine(fraction):
    """From 1 to 0 while the fraction goes from 0 to 1."""
    return 0.5 * (1.0 + _ops.cos(math.pi * fraction))


class CosineDecay(LearningRateSchedule):
    """From initial to alpha * initial along half a cosine; before it a straight warmup to warmup_target."""

    _arguments = ("initial_learning_rate", "decay_steps", "alpha", "name", "warmup_target", "warmup_steps")

    def __init__(
        self, initial_learning_rate, decay_steps, alpha=0.0, name="CosineDecay", warmup_target=None, warmup_steps=0
    ):
        _positive("decay_steps", decay_steps)
        self.initial_learning_rate, self.decay_steps, self.alpha, self.name = (
            initial_learning_rate, decay_steps, alpha, name,
        )  # fmt: skip
        self.warmup_target, self.warmup_steps = warmup_target, warmup_steps

    def _decayed(self, top, step):
        cosine = _half_cosine(_ops.minimum(step, float(self.decay_steps)) / float(self.decay_steps))
        return float(top) * ((1.0 - self.alpha) * cosine + float(self.alpha))

    def __call__(self, step):
        step = _number(step)
        if self.warmup_target is None:
            return self._decayed(self.initial_learning_rate, step)
        warmup = float(self.warmup_steps)
        after = self._decayed(self.warmup_target, step - warmup)
        if not warmup:
            return after
        rise = float(self.warmup_target) - float(self.initial_learning_rate)
        return _ops.where(step < warmup, rise * (step / warmup) + float(self.initial_learning_rate), after)


class CosineDecayRestarts(LearningRateSchedule):
    """Half cosines one after the other, each t_mul times longer and m_mul times lower than the one before."""

    _arguments = ("initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha", "name")

    def __init__(
        self, initial_learning_rate, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name="SGDRDecay"
    ):
        _positive("first_decay_steps", first_decay_steps)
        self.initial_learning_rate, self.first_decay_steps = initial_learning_rate, first_decay_steps
        self.t_mul, self.m_mul, self.alpha, self.name = t_mul, m_mul, alpha, name

    def _restarts(self, passed):
        """How many cosines are complete, and how much of this one is."""
        if self.t_mul == 1:
            restarts = _ops.floor(passed)
            return restarts, passed - restarts
        ratio = float(self.t_mul)
        restarts = _ops.floor(_ops.log(1.0 - passed * (1.0 - ratio)) / math.log(ratio))
        power = _ops.pow(_tandem.to_tensor(ratio, passed.dtype), restarts)
        return restarts, (passed - (1.0 - power) / (1.0 - ratio)) / power

    def __call__(self, step):
        restarts, fraction = self._restarts(_number(step) / float(self.first_decay_steps))
        height = _ops.pow(_tandem.to_tensor(float(self.m_mul), fraction.dtype), restarts)
        decayed = (1.0 - self.alpha) * (height * _half_cosine(fraction)) + float(self.alpha)
        return float(self.initial_learning_rate) * decayed


family = Family(
    "learning rate schedule",
    "keras.optimizers.schedules",
    [
        LearningRateSchedule, ExponentialDecay, InverseTimeDecay, PiecewiseConstantDecay, PolynomialDecay, CosineDecay,
        CosineDecayRestarts,
    ],
)  # fmt: skip
get, serialize, deserialize = family.get, family.serialize, family.deserialize


__getattr__, __dir__ = _names.lazy(__name__)
