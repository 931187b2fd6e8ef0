"""ONNX files as functions of tensors."""
import os

import numpy as np

from .. import _control_flow, _dtypes, _tandem
from .._function import Function
from . import messages
from .narrow import BFLOAT16, Narrow, declared
from .support import Attributes, ValuesNeeded, as_tensor, as_value, find, is_known, name_of
from .tensors import dtype_of, to_array


def load(source, trainable=False):
    """The model in a file, a path or bytes. With trainable=True its weights are variables (`.trainable_variables`)."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return OnnxModel(messages.Model.parse(source), None, trainable)
    with open(source, "rb") as file:
        data = file.read()
    try:
        return OnnxModel(messages.Model.parse(data), os.path.dirname(os.path.abspath(source)), trainable)
    except (ValueError, NotImplementedError) as error:
        raise type(error)(f"{os.fspath(source)}: {error}") from error


class OnnxModel:
    """Call it with the inputs in order or by name; outputs come as one tensor or a tuple, run() gives them by name."""

    def __init__(self, model, folder=None, trainable=False):
        graph = model.graph
        if graph is None or not graph.output:
            raise ValueError("no graph with outputs: this is no ONNX model")
        self.producer = model.producer_name
        self.opset = max([entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")], default=1)
        weights = {tensor.name: to_array(tensor, folder) for tensor in graph.initializer}
        self._inputs = [info for info in graph.input if info.name not in weights]
        self.input_names = [info.name for info in self._inputs]
        self.output_names = [info.name for info in graph.output]
        self.trainable_variables = []
        self._weights = {name: self._weight(name, value, trainable) for name, value in weights.items()}
        self._graph = graph
        for node in graph.node:  # what is missing is said now, not when it runs
            find(node)
        self._is_traced = True
        self._function = Function(self._run, name=graph.name or "onnx", autograph=False)

    def _weight(self, name, value, trainable):
        if not trainable or value.dtype.kind != "f" or value.ndim == 0:
            return value
        variable = _tandem.Variable(_tandem.to_tensor(value), True, name)
        self.trainable_variables.append(variable)
        return variable

    def __call__(self, *args, **kwargs):
        outputs = self._outputs(self._ordered(args, kwargs))
        return outputs[0] if len(outputs) == 1 else outputs

    def run(self, inputs):
        """Outputs by name, for inputs by name."""
        return dict(zip(self.output_names, self._outputs(self._ordered((), dict(inputs)))))

    def _outputs(self, inputs):
        """As one plan, or op by op where shapes depend on values."""
        if self._is_traced:
            try:
                return self._function(*inputs)
            except ValuesNeeded:
                self._is_traced = False
        return self._run(*inputs)

    def __repr__(self):
        return f"<OnnxModel {', '.join(self.input_names)} -> {', '.join(self.output_names)}, opset {self.opset}>"

    def _ordered(self, args, kwargs):
        names = self.input_names
        given = dict(zip(names, args))
        if len(args) > len(names) or set(kwargs) & set(given) or set(kwargs) - set(names):
            raise TypeError(f"the model's inputs are {', '.join(names)}; got {len(args)} by place and {sorted(kwargs)} by name")
        given.update(kwargs)
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"the model's input {', '.join(missing)} is missing; its inputs are {', '.join(names)}")
        return [self._as_declared(info, given[info.name]) for info in self._inputs]

    @staticmethod
    def _as_declared(info, value):
        kind = info.type.tensor_type if info.type is not None else None
        if kind is None or not kind.elem_type or dtype_of(kind.elem_type) == np.object_:
            return as_value(value)
        if not isinstance(value, _tandem.Tensor):
            value = as_tensor(np.asarray(value).astype(dtype_of(kind.elem_type)))
        if kind.elem_type == BFLOAT16:
            value = as_tensor(value, _dtypes.bfloat16)
        sizes = [d.dim_value for d in kind.shape.dim] if kind.shape is not None else None
        if sizes is not None and (len(sizes) != value.ndim or any(s > 0 and s != v for s, v in zip(sizes, value.shape))):
            wanted = [d.dim_value or d.dim_param or "?" for d in kind.shape.dim]
            raise ValueError(f"input '{info.name}' must have shape {wanted}, got {list(value.shape)}")
        return value

    def _run(self, *inputs):
        values = {"": None, **self._weights, **dict(zip(self.input_names, inputs))}
        return run_graph(self._graph, values, self.opset)


def run_graph(graph, values, opset):
    """The outputs of a graph whose inputs are in `values`, as tensors and sequences of them."""
    return tuple(as_value(value) for value in graph_values(graph, values, opset))


def graph_values(graph, values, opset):
    """The outputs of a graph whose inputs are in `values`; what depends on nothing but known values is computed at once."""
    for tensor in graph.initializer:  # of a graph inside a node; the model's own are there already
        if tensor.name not in values:
            values[tensor.name] = to_array(tensor)
    numbers = declared(graph)
    for node in graph.node:
        inputs = [_value_of(values, name, node, numbers) for name in node.input]
        function, attributes = find(node), Attributes(node, opset, [numbers.get(name) for name in node.input])
        if getattr(function, "takes_graphs", False):
            outputs = function(attributes, values, *inputs)
        elif inputs and all(value is None or is_known(value) for value in inputs):
            with _control_flow.init_scope():
                outputs = _known(function(attributes, *inputs))
        else:
            outputs = function(attributes, *inputs)
        outputs = (outputs,) if isinstance(outputs, Narrow) or not isinstance(outputs, tuple) else outputs
        for name, value in zip(node.output, outputs):
            if isinstance(value, Narrow):
                value, numbers[name] = value
            values[name] = value
    return tuple(_value_of(values, info.name, None, numbers) for info in graph.output)


def _known(outputs):
    """As arrays; bfloat16, which NumPy has not, stays a tensor."""
    if isinstance(outputs, Narrow):
        return Narrow(_known(outputs.value), outputs.number)
    if isinstance(outputs, tuple):
        return tuple(_known(value) for value in outputs)
    if isinstance(outputs, list) or outputs is None:
        return outputs and [_known(value) for value in outputs]
    if isinstance(outputs, _tandem.Tensor):
        return outputs if outputs.dtype == _dtypes.bfloat16 else np.asarray(outputs.numpy())
    return np.asarray(outputs)


def _value_of(values, name, node, numbers):
    if name not in values:
        reader = f"node '{name_of(node)}'" if node else "the outputs"
        raise ValueError(f"the value '{name}' is read by {reader}, but nothing makes it")
    value = values[name]
    value = value.value() if isinstance(value, _tandem.Variable) else value
    return as_tensor(value, _dtypes.bfloat16) if numbers.get(name) == BFLOAT16 and value is not None else value
