"""A function of keras.ops as part of a functional model."""
import functools
import operator

from .keras_tensor import Node, keras_tensors
from .layer import Layer
from .naming import unique_name
from .shapes import infer_outputs


class Operation(Layer):
    """One op; its constant arguments are part of it, KerasTensors are its inputs."""

    _keras_module = "keras.src.ops.numpy"

    def __init__(self, function, name=None, **constants):
        super().__init__(name=name or unique_name(function.rpartition(".")[2]))
        self.function = function
        self.constants = constants
        self.built = True

    def call(self, *args, **kwargs):
        from .. import ops

        return operator.attrgetter(self.function)(ops)(*args, **{**self.constants, **kwargs})

    def __call__(self, *args, **kwargs):
        if not keras_tensors(args) and not keras_tensors(kwargs):
            return self.call(*args, **kwargs)
        outputs = infer_outputs(self.call, args, kwargs)
        Node(self, args, kwargs, outputs)
        return outputs

    def get_config(self):
        return {"function": self.function, **self.constants, "name": self.name}


def drawable(function, name=None):
    """Lets a function of keras.ops take KerasTensors: then it becomes part of a model. `name` is its name in keras.ops."""
    name = name or function.__name__

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        if keras_tensors(args) or keras_tensors(kwargs):
            return Operation(name)(*args, **kwargs)
        return function(*args, **kwargs)

    return wrapped
