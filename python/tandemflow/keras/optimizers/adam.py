"""Adam and its relatives: steps from the means of gradients and of their squares."""
import math

from ... import _dtypes, _ops, _tandem
from ..._ops import records
from .optimizer import Optimizer


def _wide(dtype):
    """The dtype for numbers that many variables share: at least float32."""
    return dtype if dtype == _dtypes.float64 else _dtypes.float32


class Moments(Optimizer):
    """Has beta_1, beta_2 and epsilon, and two numbers for every element."""

    _names = ("momentum", "velocity")
    _row_measure = "square"

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, **options):
        super().__init__(learning_rate, **options)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(variables, self._names)

    def _missing(self, beta, dtype):
        """1 - beta^step: how much of a mean that began with zeros is there."""

        def make():
            # Not as a difference, which loses half its digits in float32 during the first steps.
            exponent = math.log(beta) if beta else -math.inf
            return _ops.cast(-_ops.expm1(self._step(_wide(dtype)) * exponent), dtype)

        return self._once(("missing", beta, dtype.name), make)

    def _mean(self, variable, gradient):
        """The new mean of the gradients."""
        momentum = self._momentums[self._get_variable_index(variable)]
        mean = momentum + (gradient - momentum) * (1.0 - self.beta_1)
        momentum.assign(mean)
        return mean

    def _square_mean(self, variable, gradient):
        """The new mean of their squares."""
        velocity = self._velocities[self._get_variable_index(variable)]
        mean = velocity + (self._square(gradient, variable) - velocity) * (1.0 - self.beta_2)
        velocity.assign(mean)
        return mean

    def _corrected_rate(self, learning_rate, dtype):
        """For the zeros that both means began with."""

        def make():
            wide = _wide(dtype)
            rate = _ops.cast(learning_rate, wide)
            rate = rate * _ops.sqrt(self._missing(self.beta_2, wide)) / self._missing(self.beta_1, wide)
            return _ops.cast(rate, dtype)

        return self._once(("corrected", dtype.name), make)

    def _fused_step(self, gradient, variable, learning_rate, decay=None):
        """Adam's step as one op; `decay`, a number, shrinks the variable first."""
        i = self._get_variable_index(variable)
        state = [variable, self._momentums[i], self._velocities[i]]
        rate = self._corrected_rate(learning_rate, variable.dtype)
        shared = [rate, float(self.beta_1), float(self.beta_2), float(self.epsilon)]
        if (id(variable), "square") in self._measured:  # its squares are not those of the whole gradient
            values = records["apply_adam_rows"](*state, gradient, self._measured[id(variable), "square"], *shared, 0.0 if decay is None else decay)
        elif decay is None:
            values = records["apply_adam"](*state, gradient, *shared)
        else:
            values = records["apply_adamw"](*state, gradient, *shared, decay)
        for target, value in zip(state, values):
            target.assign(value)

    def get_config(self):
        return {**super().get_config(), "beta_1": self.beta_1, "beta_2": self.beta_2, "epsilon": self.epsilon}


class Adam(Moments):
    """D. Kingma, J. Ba: "Adam: A Method for Stochastic Optimization"."""

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, **options):
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.amsgrad = amsgrad

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._velocity_hats = self.add_optimizer_variables(variables, "velocity_hat") if self.amsgrad else []

    def _apply_weight_decay(self, variables, learning_rate):
        """Part of the step itself, but for amsgrad."""
        if self.amsgrad:
            super()._apply_weight_decay(variables, learning_rate)

    def update_step(self, gradient, variable, learning_rate):
        if self.amsgrad:
            self._update_amsgrad(gradient, variable, self._corrected_rate(learning_rate, variable.dtype))
            return
        decays = self.weight_decay is not None and self._use_weight_decay(variable)
        decay = self._decay(learning_rate, variable.dtype) if decays else None
        self._fused_step(gradient, variable, learning_rate, decay)

    def _update_amsgrad(self, gradient, variable, rate):
        mean = self._mean(variable, gradient)
        largest = self._velocity_hats[self._get_variable_index(variable)]
        most = _ops.maximum(largest, self._square_mean(variable, gradient))
        largest.assign(most)
        variable.assign(variable - mean * rate / (_ops.sqrt(most) + float(self.epsilon)))

    def get_config(self):
        return {**super().get_config(), "amsgrad": self.amsgrad}


class AdamW(Adam):
    """Adam whose weights decay apart from the gradient."""

    def __init__(
        self, learning_rate=0.001, weight_decay=0.004, beta_1=0.9, beta_2=0.999, epsilon=1e-7, amsgrad=False, **options
    ):
        if weight_decay is None:
            raise ValueError("Argument `weight_decay` must be a float. Received: weight_decay=None")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options)


class Adamax(Moments):
    """Adam with the largest gradient so far, slowly forgotten, in place of the mean of squares."""

    _row_measure = "abs"
    _names = ("momentum", "norm")

    def build(self, variables):
        super().build(variables)
        self._m, self._u = self._momentums, self._velocities  # Keras' names, which checkpoints have

    def update_step(self, gradient, variable, learning_rate):
        dtype = variable.dtype
        rate = self._rate(learning_rate, dtype)
        scaled = self._once(("scaled", dtype.name), lambda: rate / self._missing(self.beta_1, dtype))
        norm = self._velocities[self._get_variable_index(variable)]
        largest = _ops.maximum(float(self.beta_2) * norm, self._measured.get((id(variable), "abs"), _ops.abs(gradient)))
        norm.assign(largest)
        variable.assign(variable - scaled * self._mean(variable, gradient) / (largest + float(self.epsilon)))


class Nadam(Moments):
    """Adam with Nesterov's momentum."""

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        dtype = variables[0].dtype if variables else "float32"
        self._u_product = self._add(1.0, dtype, "variable")

    def _weight(self, ahead, dtype):
        """The share of the momentum in the step that is `ahead` of this one."""

        def make():
            wide = _wide(dtype)
            power = _ops.pow(_tandem.to_tensor(0.96, wide), self._step(wide) + float(ahead))
            return _ops.cast(float(self.beta_1) * (1.0 - 0.5 * power), dtype)

        return self._once(("weight", ahead, dtype.name), make)

    def _update_all(self, grads, variables, learning_rate):
        product = self._once("product", lambda: self._u_product * self._weight(0, self._u_product.dtype))
        self._u_product.assign(product)
        super()._update_all(grads, variables, learning_rate)

    def _shares(self, learning_rate, dtype):
        """What the mean and the gradient are multiplied with."""

        def make():
            rate, product = self._rate(learning_rate, dtype), _ops.cast(self._scalars["product"], dtype)
            now, then = self._weight(0, dtype), self._weight(1, dtype)
            return rate * then / (1.0 - product * then), rate * (1.0 - now) / (1.0 - product)

        return self._once(("shares", dtype.name), make)

    def update_step(self, gradient, variable, learning_rate):
        of_mean, of_gradient = self._shares(learning_rate, variable.dtype)
        moved = of_mean * self._mean(variable, gradient) + of_gradient * gradient
        square = self._square_mean(variable, gradient) / self._missing(self.beta_2, variable.dtype)
        variable.assign(variable - moved / (_ops.sqrt(square) + float(self.epsilon)))


class Lamb(Moments):
    """Adam with steps as long as the weights of the layer are.

    Y. You et al.: "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes".
    """

    def update_step(self, gradient, variable, learning_rate):
        dtype = variable.dtype
        rate = self._rate(learning_rate, dtype)
        mean = self._mean(variable, gradient) / self._missing(self.beta_1, dtype)
        square = self._square_mean(variable, gradient) / self._missing(self.beta_2, dtype)
        update = mean / (_ops.sqrt(square) + float(self.epsilon))
        weight, length = (_ops.sqrt(_ops.reduce_sum(_ops.square(x))) for x in (variable, update))
        both = _ops.logical_and(weight > 0, length > 0)
        ratio = _ops.where(both, weight / _ops.maximum(length, 1e-30), 1.0)
        variable.assign(variable - ratio * rate * update)
