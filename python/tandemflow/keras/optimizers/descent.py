"""Gradient descent, with momentum, and with a step size for every element."""
from ... import _ops
from ..._ops import records
from .. import initializers
from .optimizer import Optimizer


class SGD(Optimizer):
    """Gradient descent, with momentum or Nesterov's momentum."""

    def __init__(self, learning_rate=0.01, momentum=0.0, nesterov=False, **options):
        super().__init__(learning_rate, **options)
        if not isinstance(momentum, (int, float)) or not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must be a float between [0, 1]. Received: momentum={momentum}")
        self.momentum, self.nesterov = float(momentum), nesterov

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.momentums = self.add_optimizer_variables(variables, "momentum") if self.momentum else []

    def update_step(self, gradient, variable, learning_rate):
        rate = self._rate(learning_rate, variable.dtype)
        if not self.momentum:
            variable.assign(records["apply_sgd"](variable, gradient, rate))
            return
        moved = self.momentums[self._get_variable_index(variable)]
        op = records["apply_nesterov" if self.nesterov else "apply_momentum"]
        value, new_moved = op(variable, moved, gradient, rate, self.momentum)
        variable.assign(value)
        moved.assign(new_moved)

    def get_config(self):
        return {**super().get_config(), "momentum": self.momentum, "nesterov": self.nesterov}


class RMSprop(Optimizer):
    """Each element's step is divided by the root of the mean of its squared gradients."""

    def __init__(self, learning_rate=0.001, rho=0.9, momentum=0.0, epsilon=1e-7, centered=False, **options):
        super().__init__(learning_rate, **options)
        self.rho, self.momentum, self.epsilon, self.centered = rho, momentum, epsilon, centered
        self._row_measure = None if centered else "square"  # the squares of rows may be less than that of their mean

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._velocities = self.add_optimizer_variables(variables, "velocity")
        self._momentums = self.add_optimizer_variables(variables, "momentum") if self.momentum > 0 else []
        self._average_gradients = self.add_optimizer_variables(variables, "average_gradient") if self.centered else []

    def update_step(self, gradient, variable, learning_rate):
        i = self._get_variable_index(variable)
        rate, rho = self._rate(learning_rate, variable.dtype), float(self.rho)
        if self.momentum > 0 and not self.centered and (id(variable), "square") not in self._measured:
            state = [variable, self._velocities[i], self._momentums[i]]
            values = records["apply_rmsprop"](*state, gradient, rate, rho, float(self.momentum), float(self.epsilon))
            for target, value in zip(state, values):
                target.assign(value)
            return
        velocity = rho * self._velocities[i] + (1.0 - rho) * self._square(gradient, variable)
        self._velocities[i].assign(velocity)
        spread = velocity
        if self.centered:
            mean = rho * self._average_gradients[i] + (1.0 - rho) * gradient
            self._average_gradients[i].assign(mean)
            spread = velocity - _ops.square(mean)
        step = rate * gradient / _ops.sqrt(spread + float(self.epsilon))
        if self.momentum > 0:
            step = float(self.momentum) * self._momentums[i] + step
            self._momentums[i].assign(step)
        variable.assign(variable - step)

    def get_config(self):
        config = {"rho": self.rho, "momentum": self.momentum, "epsilon": self.epsilon, "centered": self.centered}
        return {**super().get_config(), **config}


class Adagrad(Optimizer):
    """Each element's step is divided by the root of the sum of its squared gradients."""

    _row_measure = "square"

    def __init__(self, learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-7, **options):
        super().__init__(learning_rate, **options)
        self.initial_accumulator_value, self.epsilon = initial_accumulator_value, epsilon

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        start = initializers.Constant(self.initial_accumulator_value)
        self._accumulators = self.add_optimizer_variables(variables, "accumulator", start)

    def update_step(self, gradient, variable, learning_rate):
        rate = self._rate(learning_rate, variable.dtype)
        accumulator = self._accumulators[self._get_variable_index(variable)]
        total = accumulator + self._square(gradient, variable)
        accumulator.assign(total)
        variable.assign(variable - rate * gradient / _ops.sqrt(total + float(self.epsilon)))

    def get_config(self):
        config = {"initial_accumulator_value": self.initial_accumulator_value, "epsilon": self.epsilon}
        return {**super().get_config(), **config}


class Adadelta(Optimizer):
    """Like RMSprop, with steps in the units of the variable: the root of the mean of its squared steps."""

    _row_measure = "square"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-7, **options):
        super().__init__(learning_rate, **options)
        self.rho, self.epsilon = rho, epsilon

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        names = ["accumulated_grad", "accumulated_delta_var"]
        self._accumulated_grads, self._accumulated_delta_vars = self.add_optimizer_variables(variables, names)

    def update_step(self, gradient, variable, learning_rate):
        i, rho, epsilon = self._get_variable_index(variable), float(self.rho), float(self.epsilon)
        rate = self._rate(learning_rate, variable.dtype)
        square = self._square(gradient, variable)
        gradients = rho * self._accumulated_grads[i] + (1.0 - rho) * square
        size = (self._accumulated_delta_vars[i] + epsilon) / (gradients + epsilon)  # squared
        self._accumulated_grads[i].assign(gradients)
        self._accumulated_delta_vars[i].assign(rho * self._accumulated_delta_vars[i] + (1.0 - rho) * size * square)
        variable.assign(variable - rate * _ops.sqrt(size) * gradient)

    def get_config(self):
        return {**super().get_config(), "rho": self.rho, "epsilon": self.epsilon}


class Lion(Optimizer):
    """Steps of one size, in the direction of the sign of the momentum.

    X. Chen et al.: "Symbolic Discovery of Optimization Algorithms".
    """

    def __init__(self, learning_rate=0.001, beta_1=0.9, beta_2=0.99, **options):
        super().__init__(learning_rate, **options)
        if not 0 < beta_1 <= 1:
            raise ValueError(
                "Argument `beta_1` must be in the [0, 1] range. Otherwise, the optimizer degenerates to SignSGD. "
                f"Received: beta_1={beta_1}."
            )
        self.beta_1, self.beta_2 = beta_1, beta_2

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._momentums = self.add_optimizer_variables(variables, "momentum")

    def update_step(self, gradient, variable, learning_rate):
        rate = self._rate(learning_rate, variable.dtype)
        momentum = self._momentums[self._get_variable_index(variable)]
        one, two = float(self.beta_1), float(self.beta_2)
        variable.assign(variable - rate * _ops.sign(momentum * one + gradient * (1.0 - one)))
        momentum.assign(momentum * two + gradient * (1.0 - two))

    def get_config(self):
        return {**super().get_config(), "beta_1": self.beta_1, "beta_2": self.beta_2}
