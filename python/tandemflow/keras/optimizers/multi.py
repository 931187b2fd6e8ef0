"""Different optimizers for different variables."""
import re
from collections.abc import MutableMapping

from ... import _tandem
from ..._device import device
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from .loss_scale import LossScaleOptimizer
from .optimizer import Optimizer


def _check(optimizer):
    if not isinstance(optimizer, Optimizer) or isinstance(optimizer, (LossScaleOptimizer, MultiOptimizer)):
        raise ValueError(
            "A variable of a MultiOptimizer needs a Keras Optimizer that is neither a LossScaleOptimizer nor a "
            f"MultiOptimizer. Received: {optimizer}"
        )
    return optimizer


class OptimizerMap(MutableMapping):
    """Optimizers by patterns of the whole path of a variable, "dense_1/.*", and one for all others."""

    _keras_module = "keras.optimizers"

    def __init__(self, default_optimizer, optimizer_map=None):
        if not isinstance(default_optimizer, Optimizer):
            raise TypeError(f"default_optimizer must be a Keras Optimizer instance. Received: {default_optimizer}")
        if optimizer_map is not None and not isinstance(optimizer_map, dict):
            raise TypeError(f"optimizer_map must be a dictionary. Received: {optimizer_map}")
        self.default_optimizer, self._optimizers = default_optimizer, dict(optimizer_map or {})

    def __getitem__(self, path):
        if path in self._optimizers:
            return self._optimizers[path]
        fitting = [pattern for pattern in self._optimizers if re.fullmatch(pattern, path)]
        if len(fitting) > 1:
            raise ValueError(f"Multiple optimizers assigned to variable {path}: {fitting}")
        return self._optimizers[fitting[0]] if fitting else self.default_optimizer

    def __setitem__(self, pattern, optimizer):
        if pattern in self._optimizers:
            raise ValueError(f"'{pattern}' already exists in the OptimizerMap. Please make sure to not use duplicated keys.")
        if not isinstance(pattern, str):
            raise ValueError(f"key must be a string. Received: {pattern}")
        self._optimizers[pattern] = _check(optimizer)

    def __delitem__(self, pattern):
        del self._optimizers[pattern]

    def __len__(self):
        return len(self._optimizers)

    def __iter__(self):
        return iter(self._optimizers)

    def __call__(self, variable):
        return self[getattr(variable, "path", None) or variable.name]

    def get_config(self):
        return {
            "default_optimizer": serialize_keras_object(self.default_optimizer),
            "optimizer_map": serialize_keras_object(self._optimizers),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        names = ("default_optimizer", "optimizer_map")
        return cls(*(deserialize_keras_object(config[name], custom_objects) for name in names))


class MultiOptimizer(Optimizer):
    """`optimizer_map(variable)` says which optimizer a variable has: an OptimizerMap, or a function."""

    def __init__(self, optimizer_map, loss_scale_factor=None, name=None):
        super().__init__(0.0, name=name)
        self._map, self.optimizers, self._of_variable = optimizer_map, [], {}
        if isinstance(optimizer_map, OptimizerMap):
            for optimizer in (*optimizer_map.values(), optimizer_map.default_optimizer):
                self._number_of(optimizer)
        self.loss_scale_factor = loss_scale_factor

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "loss_scale_factor":
            for optimizer in self.__dict__.get("optimizers", ()):
                optimizer.loss_scale_factor = value

    def _number_of(self, optimizer):
        """Its place in the list of optimizers, where it is put at the first time."""
        for i, known in enumerate(self.optimizers):
            if known is _check(optimizer):
                return i
        self.optimizers.append(_check(optimizer))
        optimizer.loss_scale_factor, optimizer._around = self.loss_scale_factor, self
        return len(self.optimizers) - 1

    def build(self, variables):
        if self.built:
            return
        self._of_variable = {_tandem.variable_id(v): self._number_of(self._map(v)) for v in variables}
        for optimizer, own in zip(self.optimizers, self._shared_out(variables)):
            if own:
                optimizer.build(own)
        super().build(variables)

    def _shared_out(self, variables, items=None):
        """The items (or the variables themselves), a list for each optimizer."""
        lists = [[] for _ in self.optimizers]
        for variable, item in zip(variables, variables if items is None else items):
            lists[self._of_variable[_tandem.variable_id(variable)]].append(item)
        return lists

    @property
    def variables(self):
        return self._variables + [variable for optimizer in self.optimizers for variable in optimizer.variables]

    def _apply_now(self, grads, variables):
        for optimizer, pairs in zip(self.optimizers, self._shared_out(variables, zip(grads, variables))):
            if pairs:
                optimizer._apply_now(*zip(*pairs))
        with device("/CPU:0"):
            self._iterations.assign_add(1)

    def _compiles(self):
        return super()._compiles() and all(optimizer._compiles() for optimizer in self.optimizers)

    @property
    def learning_rate(self):
        raise AttributeError(
            "Learning rate cannot be accessed on a MultiOptimizer. Access the learning rate on the individual "
            "sub-optimizers instead."
        )

    @learning_rate.setter
    def learning_rate(self, value):
        raise AttributeError(
            "Learning rate cannot be set on a MultiOptimizer. Set the learning rate on the individual sub-optimizers "
            "instead."
        )

    def finalize_variable_values(self, var_list):
        for optimizer, own in zip(self.optimizers, self._shared_out(var_list)):
            if own:
                optimizer.finalize_variable_values(own)

    def get_config(self):
        return {
            "optimizer_map": serialize_keras_object(self._map),
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**{**config, "optimizer_map": deserialize_keras_object(config["optimizer_map"], custom_objects)})
