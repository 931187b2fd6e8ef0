"""The base of all metrics."""
import contextlib
import functools

from ... import _ops, _replica, _tandem
from .. import initializers
from .._engine import floats
from .._engine.lifted import lifted
from .._engine.mirrored import current_strategy
from .._engine.naming import snake_case, unique_name
from .._engine.stateless import read, values_in
from .._engine.tracking import held, held_variables, unique


def _of_all_replicas(result):
    """Replicas share the state of a metric: what a replica reads is read once, when all have updated it."""

    @functools.wraps(result)
    def of_all(self, *args, **kwargs):
        replica = _replica.current()
        if replica is None:
            with self._strategy.at_home() if self._strategy is not None else contextlib.nullcontext():
                return result(self, *args, **kwargs)
        return replica.together(f"the result of {self.name}", lambda: result(self, *args, **kwargs))

    return of_all


class Metric:
    """Subclasses make state with add_variable and write update_state, of tensor ops, and result.

    class Largest(keras.metrics.Metric):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.most = self.add_weight(name="most", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.most.assign(tf.maximum(self.most, tf.reduce_max(y_pred)))

        def result(self):
            return self.most.value()
    """

    _keras_module = "keras.metrics"
    _direction = None  # "up" where more is better, "down" where less is
    _strategy = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "result" in vars(cls):
            cls.result = _of_all_replicas(cls.result)

    def __init__(self, dtype=None, name=None):
        self.name = name or unique_name(snake_case(type(self).__name__))
        dtype = getattr(dtype, "compute_dtype", dtype)
        strategy = current_strategy()  # whose replicas update it; its home survives the loss of a device
        self._strategy = strategy if strategy is not None and strategy.num_replicas_in_sync > 1 else None
        self._dtype = None if dtype is None else _tandem.as_dtype("int64" if dtype == "int" else dtype).name
        self._variables = []

    @property
    def dtype(self):
        return self._dtype or floats.floatx()

    def add_variable(self, shape=(), initializer="zeros", dtype=None, aggregation="sum", name=None):
        """A variable of the metric's state; reset_state sets it to zero."""
        dtype = _tandem.as_dtype(dtype or self.dtype)
        with lifted():  # it outlives the trace that asks for it first
            value = initializers.get(initializer or "zeros")(shape, dtype)
            variable = _tandem.Variable(value, trainable=False, name=name or "variable")
        if hasattr(variable, "_mirrored"):
            variable._mirrored = False  # every replica adds what it has seen
        variable.path = f"{self.name}/{name or 'variable'}"
        self._variables.append(variable)
        return variable

    def add_weight(self, shape=(), initializer=None, dtype=None, name=None, **kwargs):
        if isinstance(shape, str):  # Keras 2: the name came first
            shape, name = (), shape
        return self.add_variable(shape, initializer, dtype, name=name)

    @property
    def variables(self):
        """The state, with that of metrics it holds."""
        own = held_variables(self)
        return unique(own + [v for metric in held(self, Metric) for v in metric.variables])

    weights = non_trainable_variables = variables

    @property
    def trainable_variables(self):
        return []

    def reset_state(self):
        for variable in self.variables:
            variable.assign(_ops.zeros_like(variable))

    def reset_states(self):
        self.reset_state()

    def update_state(self, *args, **kwargs):
        raise NotImplementedError

    def result(self):
        raise NotImplementedError

    def stateless_update_state(self, metric_variables, *args, **kwargs):
        """What the variables become by an update that begins with these values."""
        with values_in(self.variables, metric_variables, "metric_variables"):
            self.update_state(*args, **kwargs)
            return read(self.variables)

    def stateless_result(self, metric_variables):
        """The result for these values of the variables."""
        with values_in(self.variables, metric_variables, "metric_variables"):
            return _ops.identity(self.result())

    def stateless_reset_state(self):
        """The values that reset_state sets."""
        variables = self.variables
        with values_in(variables, read(variables), "metric_variables"):
            self.reset_state()
            return read(variables)

    def __call__(self, *args, **kwargs):
        self.update_state(*args, **kwargs)
        return self.result()

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}>"
