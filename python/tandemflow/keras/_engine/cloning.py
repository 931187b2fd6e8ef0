"""Models made again, with new weights."""
from .input_layer import Input, InputLayer
from .keras_tensor import fill
from .model import Functional, Model
from .sequential import Sequential
from ..._gradient import flatten


def clone_model(model, input_tensors=None, clone_function=None, call_function=None, recursive=False, **kwargs):
    """A model of the same layers with variables of its own. `clone_function(layer)` may give another layer."""
    if not isinstance(model, Model):
        raise ValueError(f"Expected `model` argument to be a `Model` instance. Received: model={model!r}")
    clone = clone_function or (lambda layer: layer.__class__.from_config(_plain(layer.get_config())))
    if isinstance(model, Sequential):
        layers = [_clone_input(layer) if isinstance(layer, InputLayer) else _clone(layer, clone, recursive) for layer in model._stack]
        return Sequential(layers, name=model.name)
    if model._graph is None:
        if clone_function is not None:
            raise ValueError("Arguments `clone_function` and `input_tensors` are only supported for Sequential and Functional models.")
        return model.__class__.from_config(_plain(model.get_config()))
    return _clone_graph(model, clone, input_tensors, recursive)


def _plain(config):
    from .registry import deserialize_keras_object, serialize_keras_object

    return {key: deserialize_keras_object(serialize_keras_object(value)) if key == "dtype" else value for key, value in config.items()}


def _clone(layer, clone, recursive):
    return clone_model(layer, clone_function=clone, recursive=True) if recursive and isinstance(layer, Model) else clone(layer)


def _clone_input(layer):
    return InputLayer(batch_shape=layer.batch_shape, dtype=layer.dtype, name=layer.name)


def _clone_graph(model, clone, input_tensors, recursive):
    graph, made, values = model._graph, {}, {}
    given = flatten(input_tensors) if input_tensors is not None else None
    for i, tensor in enumerate(graph.input_tensors):
        name = tensor._keras_history.operation.name
        values[id(tensor)] = given[i] if given else Input(batch_shape=tensor.shape, dtype=tensor.dtype, name=name)
    ends = set(values)
    for node in graph.nodes:
        if all(id(t) in ends for t in node.outputs):
            continue
        layer = made.get(id(node.operation))
        if layer is None:
            layer = made[id(node.operation)] = _clone(node.operation, clone, recursive)
        outputs = layer(*fill(node.args, values), **fill(node.kwargs, values))
        values.update({id(t): v for t, v in zip(node.outputs, flatten(outputs))})
    return Functional(fill(graph.inputs, values), fill(graph.outputs, values), name=model.name)
