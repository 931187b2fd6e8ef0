"""A function of keras.ops as part of a functional model."""
import functools
import inspect
import operator

from .keras_tensor import Node, keras_tensors
from .layer import Layer
from .naming import snake_case, unique_name
from .operation_config import class_name_of, first_name
from .shapes import infer_outputs


class Operation(Layer):
    """One op; its constant arguments are part of it, KerasTensors are its inputs."""

    _keras_module = "keras.src.ops.numpy"

    def __new__(cls, function, name=None, **constants):
        """Of a class with the name of Keras' own, which programs print."""
        return super().__new__(_class_named(class_name_of(function)), function, name, **constants)

    def __init__(self, function, name=None, **constants):
        super().__init__(name=name or unique_name(snake_case(class_name_of(function))))
        self.function = first_name(function)
        self.constants = constants
        self.built = True

    def call(self, *args, **kwargs):
        from .. import ops

        function = operator.attrgetter(self.function)(ops)
        constants = {**self.constants, **kwargs}
        first = [constants.pop(name) for name in _before_operands(function) if name in constants]
        return function(*first, *args, **constants)

    def __call__(self, *args, **kwargs):
        if not keras_tensors(args) and not keras_tensors(kwargs):
            return self.call(*args, **kwargs)
        outputs = infer_outputs(self.call, args, kwargs)
        Node(self, args, kwargs, outputs)
        return outputs

    def get_config(self):
        return {"function": self.function, **self.constants, "name": self.name}


@functools.lru_cache(maxsize=None)
def _class_named(name):
    return type(name, (Operation,), {})


@functools.lru_cache(maxsize=None)
def _before_operands(function):
    """What stands before *operands, and so cannot be given by name: the equation of einsum."""
    parameters = list(inspect.signature(function).parameters.values())
    places = [i for i, parameter in enumerate(parameters) if parameter.kind is parameter.VAR_POSITIONAL]
    return tuple(parameter.name for parameter in parameters[: places[0]]) if places else ()


def drawable(function, name=None):
    """Lets a function of keras.ops take KerasTensors: then it becomes part of a model. `name` is its name in keras.ops."""
    name = name or function.__name__

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if keras_tensors(args) or keras_tensors(kwargs):
            return Operation(name)(*args, **kwargs)
        return function(*args, **kwargs)

    return wrapped
