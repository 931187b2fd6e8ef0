"""What an optimizer keeps: its variables, made, found and stored."""
import warnings

from ... import _ops, _tandem
from .. import initializers
from .._engine.floats import floatx
from .._engine.lifted import lifted


def _path(variable):
    """ "dense_kernel": the name of a variable as names of the optimizer's variables begin."""
    path = getattr(variable, "path", None) or variable.name
    return str(path).replace("/", "_").replace(":", "_")


class State:
    """The variables of an optimizer, named after those it trains."""

    def __init__(self):
        self._variables, self._trainable_variables, self._indices = [], [], {}

    def _add(self, value, dtype, name):
        with lifted():  # state outlives the trace that asks for it first
            variable = _tandem.Variable(value, trainable=False, name=name, dtype=dtype)
        variable.path = f"{self.name}/{name}"
        self._variables.append(variable)
        return variable

    @property
    def variables(self):
        """All state: iterations, the learning rate unless it is a schedule, then what `build` made."""
        return self._variables[:]

    def add_variable(self, shape, initializer="zeros", dtype=None, aggregation="none", layout=None, name=None):
        with lifted():
            value = initializers.get(initializer)(shape, dtype or floatx())
        return self._add(value, dtype or floatx(), name or "variable")

    def add_variable_from_reference(self, reference_variable, name=None, initializer="zeros"):
        """State of the shape and dtype of a variable, named after it."""
        return self.add_variable(
            reference_variable.shape,
            initializer,
            reference_variable.dtype,
            name=f"{_path(reference_variable)}_{name or 'var'}",
        )

    def add_optimizer_variables(self, trainable_variables, name, initializer="zeros"):
        """A list of state, one for each variable; with a list of names, as many lists."""
        names = [name] if isinstance(name, str) else list(name)
        makers = list(initializer) if isinstance(initializer, (list, tuple)) else [initializer] * len(names)
        if len(makers) != len(names):
            raise ValueError(
                "The number of provided names must match the number of provided initializers. "
                f"Received name='{name}', initializer='{initializer}'"
            )
        lists = tuple([] for _ in names)
        for variable in trainable_variables:
            for made, slot, maker in zip(lists, names, makers):
                made.append(self.add_variable_from_reference(variable, slot, maker))
        return lists[0] if isinstance(name, str) else lists

    def _checkpoint_children(self):
        """(name, part) for tf.train.Checkpoint: attributes as Keras has them."""
        from ..._object_graph import is_part

        return [(name, value) for name, value in self.__dict__.items() if is_part(value) and name not in ("_indices", "_plans", "_around", "_scalars")]

    def _get_variable_index(self, variable):
        return self._indices[_tandem.variable_id(variable)]

    def set_weights(self, weights):
        if not self.built:
            raise ValueError(
                "You are calling `set_weights()` on an optimizer that has not yet been built. Please call "
                "`optimizer.build(trainable_variables)` to create the optimizer weights before calling `set_weights()`."
            )
        for variable, weight in zip(self.variables, weights):
            if tuple(variable.shape) != tuple(weight.shape):
                raise ValueError(
                    f"Optimizer variable {variable.path} has shape {variable.shape} not compatible with provided "
                    f"weight shape {weight.shape}."
                )
            variable.assign(weight)

    def get_weights(self):
        return [variable.numpy().copy() for variable in self.variables]

    def save_own_variables(self, store):
        for i, variable in enumerate(self.variables):
            store[str(i)] = variable.numpy()

    def load_own_variables(self, store):
        if len(store.keys()) != len(self.variables):
            warnings.warn(
                f"Skipping variable loading for optimizer '{self.name}', because it has {len(self.variables)} variables "
                f"whereas the saved optimizer has {len(store.keys())} variables.",
                stacklevel=2,
            )
            return
        for i, variable in enumerate(self.variables):
            variable.assign(_ops.cast(_tandem.to_tensor(store[str(i)]), variable.dtype))
