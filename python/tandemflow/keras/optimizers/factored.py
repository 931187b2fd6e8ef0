"""Ftrl and Adafactor."""
from ... import _ops, _tandem
from .. import initializers
from .optimizer import Optimizer


def _not_negative(**values):
    for name, value in values.items():
        if value < 0:
            raise ValueError(f"`{name}` needs to be positive or zero. Received: {name}={value}.")


class Ftrl(Optimizer):
    """Follow the regularized leader: for wide models, with many weights exactly zero.

    H. McMahan et al.: "Ad Click Prediction: a View from the Trenches".
    """

    _row_measure = "square"

    def __init__(
        self, learning_rate=0.001, learning_rate_power=-0.5, initial_accumulator_value=0.1,
        l1_regularization_strength=0.0, l2_regularization_strength=0.0, l2_shrinkage_regularization_strength=0.0,
        beta=0.0, **options,
    ):  # fmt: skip
        super().__init__(learning_rate, **options)
        _not_negative(
            initial_accumulator_value=initial_accumulator_value,
            l1_regularization_strength=l1_regularization_strength,
            l2_regularization_strength=l2_regularization_strength,
            l2_shrinkage_regularization_strength=l2_shrinkage_regularization_strength,
        )
        if learning_rate_power > 0:
            raise ValueError(
                f"`learning_rate_power` needs to be negative or zero. Received: learning_rate_power={learning_rate_power}."
            )
        self.learning_rate_power, self.initial_accumulator_value = learning_rate_power, initial_accumulator_value
        self.l1_regularization_strength, self.l2_regularization_strength = (
            l1_regularization_strength, l2_regularization_strength,
        )  # fmt: skip
        self.l2_shrinkage_regularization_strength, self.beta = l2_shrinkage_regularization_strength, beta

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        start = initializers.Constant(self.initial_accumulator_value)
        self._accumulators, self._linears = self.add_optimizer_variables(
            variables, ["accumulator", "linear"], [start, "zeros"]
        )

    def _quadratic(self, rate, power):
        l2 = 2.0 * self.l2_regularization_strength
        return power / rate + (l2 + self.beta / rate if self.beta else l2)

    def update_step(self, gradient, variable, learning_rate):
        i = self._get_variable_index(variable)
        rate, exponent = self._rate(learning_rate, variable.dtype), -float(self.learning_rate_power)
        shrunk = gradient + 2.0 * self.l2_shrinkage_regularization_strength * variable
        total = self._accumulators[i] + self._square(gradient, variable)
        power, old_power = (_ops.sqrt(x) if exponent == 0.5 else x**exponent for x in (total, self._accumulators[i]))
        linear = self._linears[i] + shrunk - (power - old_power) / rate * variable
        l1 = float(self.l1_regularization_strength)
        self._linears[i].assign(linear)
        variable.assign((_ops.clip_by_value(linear, -l1, l1) - linear) / self._quadratic(rate, power))
        self._accumulators[i].assign(total)

    def get_config(self):
        names = (
            "learning_rate_power", "initial_accumulator_value", "l1_regularization_strength",
            "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta",
        )  # fmt: skip
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _root_mean_square(x):
    return _ops.sqrt(_ops.reduce_mean(_ops.square(x)))


class Adafactor(Optimizer):
    """The squares of gradients of a matrix are kept as one number a row and one a column.

    N. Shazeer, M. Stern: "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost".
    """

    _row_measure = "square"

    def __init__(
        self, learning_rate=0.001, beta_2_decay=-0.8, epsilon_1=1e-30, epsilon_2=1e-3, clip_threshold=1.0,
        relative_step=True, **options,
    ):  # fmt: skip
        super().__init__(learning_rate, **options)
        self.beta_2_decay, self.epsilon_1, self.epsilon_2 = beta_2_decay, epsilon_1, epsilon_2
        self.clip_threshold, self.relative_step = clip_threshold, relative_step

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._r, self._c, self._v = [], [], []
        for variable in variables:
            shape, dtype, name = variable.shape.as_list(), variable.dtype, variable.name
            if len(shape) < 2:  # not taken apart: the two are there only because files have them
                self._r.append(self._add(0, "int32", name))
                self._c.append(self._add(0, "int32", name))
            else:
                self._r.append(self.add_variable(shape[:-1], dtype=dtype, name=name))
                self._c.append(self.add_variable(shape[:-2] + shape[-1:], dtype=dtype, name=name))
            self._v.append(self.add_variable_from_reference(variable, "velocity"))

    def _rates(self, learning_rate, dtype):
        """The step size, and the share of the old in the means of squares."""

        def make():
            step = self._step(dtype)
            return _ops.minimum(self._rate(learning_rate, dtype), _ops.rsqrt(step)), 1.0 - step ** float(
                self.beta_2_decay
            )

        return self._once(("rates", dtype.name), make)

    def _new_squares(self, i, square, kept):
        def blend(old, new):
            return kept * old + (1.0 - kept) * new

        if square.ndim < 2:
            return blend(self._v[i], square)
        rows = blend(self._r[i], _ops.reduce_mean(square, -1))
        columns = blend(self._c[i], _ops.reduce_mean(square, -2))
        self._r[i].assign(rows)
        self._c[i].assign(columns)
        shares = rows / _ops.reduce_mean(rows, -1, True)
        return _tandem.expand_dims(shares, -1) * _tandem.expand_dims(columns, -2)

    def update_step(self, gradient, variable, learning_rate):
        i = self._get_variable_index(variable)
        rate, kept = self._rates(learning_rate, variable.dtype)
        size = _ops.maximum(float(self.epsilon_2), _root_mean_square(variable)) * rate
        square = self._square(gradient, variable)
        squares = self._new_squares(i, square + float(self.epsilon_1), kept)
        self._v[i].assign(squares)
        length = _ops.sqrt(_ops.reduce_mean(square / squares))
        update = gradient / _ops.sqrt(squares) / _ops.maximum(1.0, length / float(self.clip_threshold))
        variable.assign(variable - size * update)

    def get_config(self):
        names = ("beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step")
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}
