"""Loss scaling, so that small float16 gradients do not vanish."""
from ... import _ops, _tandem
from .. import initializers
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from . import rows
from .optimizer import Optimizer, only_if

_INNER_ONLY = {
    "weight_decay": None, "clipnorm": None, "global_clipnorm": None, "clipvalue": None, "use_ema": False,
    "ema_momentum": 0.99, "ema_overwrite_frequency": None, "loss_scale_factor": None, "gradient_accumulation_steps": None,
}  # fmt: skip


class LossScaleOptimizer(Optimizer):
    """Multiplies the loss and divides the gradients by a scale, which it halves when a gradient is not finite (that step
    is left out) and doubles after so many steps that were."""

    def __init__(self, inner_optimizer, initial_scale=2.0**15, dynamic_growth_steps=2000, name=None, **kwargs):
        if not kwargs.pop("dynamic", True):
            raise ValueError(
                "LossScaleOptimizer no longer supports `dynamic=False`. Instead, simply set `loss_scale_factor` directly "
                "on the `inner_optimizer`."
            )
        for key, value in kwargs.items():  # old files have them, with their defaults
            if key not in _INNER_ONLY or value != _INNER_ONLY[key]:
                raise ValueError(f"LossScaleOptimizer does not support `{key}`. Instead, set it on the `inner_optimizer`.")
        super().__init__(0.0, name=name)
        self.inner_optimizer, self.initial_scale = inner_optimizer, initial_scale
        self.dynamic_growth_steps = dynamic_growth_steps
        self.inner_optimizer.loss_scale_factor = None  # else gradients would be scaled twice
        self.inner_optimizer._around = self

    def build(self, variables):
        if self.built:
            return
        self.step_counter = self.add_variable((), dtype="int64", name="step_counter")
        start = initializers.Constant(self.initial_scale)
        self.dynamic_scale = self.add_variable((), start, "float32", name="dynamic_scale")
        self.inner_optimizer.build(variables)
        super().build(variables)

    @property
    def variables(self):
        return self._variables + self.inner_optimizer.variables

    def _apply_now(self, grads, variables):
        given = [gradient for gradient in grads if gradient is not None]
        finite = _ops.reduce_all(_ops.is_finite(given[0])) if given else None
        for gradient in given[1:]:
            finite = _ops.logical_and(finite, _ops.reduce_all(_ops.is_finite(gradient)))
        scale = self.dynamic_scale.value()
        unscaled = [None if g is None else g / _ops.cast(scale, g.dtype) for g in grads]
        inner = self.inner_optimizer
        inner._measured = rows.scaled(self._measured, 1.0 / scale)
        self._measured = {}
        with only_if(finite, [*variables, *self.inner_optimizer.variables]):
            self.inner_optimizer._apply_now(unscaled, variables)
        grows = _ops.equal(self.step_counter, self.dynamic_growth_steps - 1)
        self.dynamic_scale.assign(_ops.where(finite, _ops.where(grows, scale * 2.0, scale), scale * 0.5))
        counted = _ops.logical_and(finite, _ops.logical_not(grows))
        self.step_counter.assign(_ops.where(counted, self.step_counter + 1, 0 * self.step_counter))

    @property
    def _measures(self):
        return self.inner_optimizer._measures

    def _compiles(self):
        return super()._compiles() and self.inner_optimizer._compiles()

    @property
    def learning_rate(self):
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value):
        self.inner_optimizer.learning_rate = value

    @property
    def iterations(self):
        return self.inner_optimizer.iterations

    def scale_loss(self, loss):
        loss = _tandem.to_tensor(loss)
        return loss * _ops.cast(self.dynamic_scale if self.built else self.initial_scale, loss.dtype)

    def finalize_variable_values(self, var_list):
        self.inner_optimizer.finalize_variable_values(var_list)

    def get_config(self):
        return {
            "name": self.name,
            "inner_optimizer": serialize_keras_object(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        return cls(deserialize_keras_object(config.pop("inner_optimizer"), custom_objects), **config)
