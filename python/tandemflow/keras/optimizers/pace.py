"""The learning rate of an optimizer, and which step this is."""
from ... import _ops, _tandem
from ..._ops import records
from .._engine.floats import floatx
from .schedules import LearningRateSchedule
from .state import State


class Paced(State):
    """Has a learning rate (a variable, a schedule or a function) and counts its steps."""

    def __init__(self, learning_rate):
        super().__init__()
        self._plans = {}  # compiled steps, by the ids of their variables
        self._iterations = self._add(0, "int64", "iteration")
        self._learning_rate = self._as_learning_rate(learning_rate)

    def _forget_plans(self):
        """Also those of an optimizer around this one."""
        self._plans = {}
        around = self.__dict__.get("_around")
        if around is not None:
            around._forget_plans()

    def _as_learning_rate(self, value):
        if callable(value) and not hasattr(value, "dtype"):
            return value
        if not isinstance(value, (int, float)) and not hasattr(value, "dtype"):
            raise ValueError(
                "Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable "
                "(that takes in the current iteration value and returns the corresponding learning rate value). "
                f"Received instead: learning_rate={value}"
            )
        return self._add(float(value), floatx(), "learning_rate")

    @property
    def learning_rate(self):
        """A variable, or what the schedule says for the current step."""
        rate = self._learning_rate
        if isinstance(rate, LearningRateSchedule):
            return rate(self._iterations)
        return rate() if callable(rate) else rate

    @learning_rate.setter
    def learning_rate(self, value):
        if callable(value) and not hasattr(value, "dtype"):
            if isinstance(self._learning_rate, _tandem.Variable):
                self._variables = [v for v in self._variables if v is not self._learning_rate]
            self._learning_rate = value
            self._forget_plans()
        elif isinstance(self._learning_rate, _tandem.Variable):
            self._learning_rate.assign(_ops.cast(_tandem.to_tensor(value), self._learning_rate.dtype))
        elif isinstance(self._learning_rate, LearningRateSchedule):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor "
                "argument, hence its learning rate is not settable. If you need the learning rate to be settable, you "
                "should instantiate the optimizer with a float `learning_rate` argument."
            )
        else:
            self._learning_rate = self._as_learning_rate(value)

    lr = learning_rate

    @property
    def iterations(self):
        """How many steps were made."""
        if self.gradient_accumulation_steps:
            return records["floordiv"](self._iterations, self.gradient_accumulation_steps)
        return self._iterations
