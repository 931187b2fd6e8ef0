"""keras.Function: the operations between given inputs and outputs, as a function."""
from .model import Functional
from .naming import unique_name


class Function:
    """Function(inputs, outputs): what computes the outputs, KerasTensors of a functional model, from the inputs."""

    def __init__(self, inputs, outputs, name=None):
        self.name = name or unique_name("function")
        self._model = Functional(inputs, outputs)

    @property
    def inputs(self):
        return list(self._model.inputs)

    @property
    def outputs(self):
        return list(self._model.outputs)

    @property
    def operations(self):
        """The layers and functions in the order they are computed."""
        return list(self._model.layers)

    def __call__(self, inputs):
        return self._model(inputs)

    call = __call__

    def compute_output_spec(self, inputs):
        return self._model.compute_output_spec(inputs)

    def compute_output_shape(self, input_shape):
        return self._model.compute_output_shape(input_shape)
