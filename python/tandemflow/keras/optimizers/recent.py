"""Muon and the schedule-free AdamW."""
import math
import re

from ... import _ops
from .._engine.lifted import lifted
from .adam import Moments
from .optimizer import Optimizer


class Muon(Moments):
    """Matrices move by the nearest orthogonal matrix to their momentum; all else by AdamW.

    K. Jordan et al.: "Muon: An optimizer for hidden layers in neural networks".
    """

    def __init__(
        self, learning_rate=0.001, adam_beta_1=0.9, adam_beta_2=0.999, adam_weight_decay=0.004, epsilon=1e-7,
        weight_decay=0.004, exclude_layers=None, exclude_embeddings=True, muon_a=3.4445, muon_b=-4.7750, muon_c=2.0315,
        adam_lr_ratio=1, momentum=0.95, ns_steps=5, nesterov=True, rms_rate=0.2, **options,
    ):  # fmt: skip
        super().__init__(learning_rate, adam_beta_1, adam_beta_2, epsilon, weight_decay=weight_decay, **options)
        self.adam_beta_1, self.adam_beta_2, self.adam_weight_decay = adam_beta_1, adam_beta_2, adam_weight_decay
        self.exclude_layers, self.exclude_embeddings = exclude_layers or [], exclude_embeddings
        self.muon_a, self.muon_b, self.muon_c = muon_a, muon_b, muon_c
        self.adam_lr_ratio, self.momentum, self.ns_steps = adam_lr_ratio, momentum, ns_steps
        self.nesterov, self.rms_rate = nesterov, rms_rate

    def _by_adam(self, variable):
        path = getattr(variable, "path", variable.name)
        if len(variable.shape) != 2 or self.exclude_embeddings and "embedding" in path.lower():
            return True
        return any(re.search(keyword, path) for keyword in self.exclude_layers)

    def build(self, variables):
        if self.built:
            return
        Optimizer.build(self, variables)
        self._momentums, self._velocities = [], []
        for variable in variables:
            self._momentums.append(self.add_variable_from_reference(variable, "momentum"))
            by_adam = self._by_adam(variable)
            self._velocities.append(self.add_variable_from_reference(variable, "velocity") if by_adam else None)

    def _apply_weight_decay(self, variables, learning_rate):
        for variable in variables:
            decay = self.adam_weight_decay if self._by_adam(variable) else self.weight_decay
            if decay is not None and self._use_weight_decay(variable):
                rate = self._rate(learning_rate, variable.dtype)
                variable.assign(variable - variable * (rate * float(decay)))

    def update_step(self, gradient, variable, learning_rate):
        i = self._get_variable_index(variable)
        if self._velocities[i] is not None:
            self._fused_step(gradient, variable, self._once("adam rate", lambda: learning_rate * float(self.adam_lr_ratio)))
            return
        momentum = gradient + self._momentums[i] * float(self.momentum)
        self._momentums[i].assign(momentum)
        ahead = gradient + float(self.momentum) * momentum if self.nesterov else momentum
        update = self._rate(learning_rate, variable.dtype) * self._orthogonal(ahead)
        if self.rms_rate is not None:
            update = update * (math.sqrt(max(variable.shape)) * float(self.rms_rate))
        variable.assign(variable - update)

    def _orthogonal(self, x):
        """By Newton and Schulz' iteration, roughly: the singular values end between 0.7 and 1.2."""
        tall = x.shape[0] > x.shape[1]
        x = x / (_ops.sqrt(_ops.reduce_sum(_ops.square(x))) + 1e-7)
        for _ in range(self.ns_steps):
            square = _ops.matmul(x, x, transpose_a=tall, transpose_b=not tall)  # of the shorter side
            mixed = self.muon_b * square + self.muon_c * _ops.matmul(square, square)
            x = self.muon_a * x + (_ops.matmul(x, mixed) if tall else _ops.matmul(mixed, x))
        return x

    def get_config(self):
        config = {key: value for key, value in super().get_config().items() if key not in ("beta_1", "beta_2")}
        names = (
            "adam_beta_1", "adam_beta_2", "exclude_layers", "muon_a", "muon_b", "muon_c", "adam_lr_ratio", "momentum",
            "ns_steps", "nesterov", "exclude_embeddings", "adam_weight_decay", "rms_rate",
        )  # fmt: skip
        return {**config, **{name: getattr(self, name) for name in names}}


class ScheduleFreeAdamW(Moments):
    """AdamW that needs no schedule: gradients are taken between the last point and the mean of all.

    A. Defazio et al.: "The Road Less Scheduled".
    """

    def __init__(self, learning_rate=0.0025, beta_1=0.9, beta_2=0.999, epsilon=1e-8, warmup_steps=0, **options):
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **options)
        self.warmup_steps = warmup_steps

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        with lifted():
            for momentum, variable in zip(self._momentums, variables):
                momentum.assign(variable)

    def _numbers(self, learning_rate, dtype):
        """The rate, warmed up, and the share of this step in the mean."""

        def make():
            step, rate = self._step(dtype), self._rate(learning_rate, dtype)
            if self.warmup_steps > 0:
                rate = rate * _ops.minimum(step / float(self.warmup_steps), 1.0)
            return rate, 1.0 / step

        return self._once(("numbers", dtype.name), make)

    def update_step(self, gradient, variable, learning_rate):
        rate, share = self._numbers(learning_rate, variable.dtype)
        last, mixed = self._momentums[self._get_variable_index(variable)], float(self.beta_1)
        square = self._square_mean(variable, gradient) / self._missing(self.beta_2, variable.dtype)
        mean = (variable - (1.0 - mixed) * last) / mixed
        moved = last - rate * gradient / (_ops.sqrt(square) + float(self.epsilon))
        last.assign(moved)
        mean = (1.0 - share) * mean + share * moved
        variable.assign((1.0 - mixed) * moved + mixed * mean)

    def get_config(self):
        return {**super().get_config(), "warmup_steps": self.warmup_steps}
