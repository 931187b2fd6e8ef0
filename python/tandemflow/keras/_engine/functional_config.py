"""Graphs of layers as configurations: layers, where each of their uses takes its tensors from, inputs and outputs."""
from . import operation_config
from .keras_tensor import KerasTensor
from .operation import Operation
from .registry import deserialize_keras_object, serialize_keras_object

_KEYS = ("layers", "input_layers", "output_layers")


def is_graph_config(config):
    return isinstance(config, dict) and all(key in config for key in _KEYS)


# --- Writing ---


def graph_config(model):
    """What Keras writes for a functional model."""
    writer = _Writer(model._graph)
    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": writer.layers(),
        "input_layers": writer.ends(model._graph.inputs),
        "output_layers": writer.ends(model._graph.outputs),
    }


class _Writer:
    def __init__(self, graph):
        self.graph = graph
        own = {id(node) for node in graph.nodes}
        self.uses = {}  # id of a layer -> its uses in this graph
        self.places = {}  # id of a tensor -> [layer, use, output], uses counted within this graph
        for layer in graph.layers:
            self.uses[id(layer)] = [node for node in layer._inbound_nodes if id(node) in own]
            for i, node in enumerate(self.uses[id(layer)]):
                for k, tensor in enumerate(node.outputs):
                    self.places[id(tensor)] = [layer.name, i, k]
        self.cut = [t for t in graph.input_tensors if id(t) not in self.places]
        for tensor in self.cut:  # a model that begins in the middle of another: its input stands for what came before
            self.places[id(tensor)] = [tensor.name, 0, 0]

    def layers(self):
        out = []
        for tensor in self.cut:
            config = {"batch_shape": list(tensor.shape), "dtype": tensor.dtype, "sparse": False, "name": tensor.name}
            out.append({"module": "keras.layers", "class_name": "InputLayer", "config": config, "registered_name": None,
                        "name": tensor.name, "inbound_nodes": []})  # fmt: skip
        for layer in self.graph.layers:
            is_op = isinstance(layer, Operation)
            config = operation_config.serialize_operation(layer) if is_op else serialize_keras_object(layer)
            config = serialize_keras_object(config) if is_op else config
            config["name"] = layer.name
            config["inbound_nodes"] = [self.use(layer, node) for node in self.uses[id(layer)] if node.inputs]
            out.append(config)
        return out

    def use(self, layer, node):
        args, kwargs = node.args, node.kwargs
        if isinstance(layer, Operation):
            args, kwargs, _ = operation_config.split_use(layer, args, kwargs)
        return {"args": self.value(list(args)), "kwargs": self.value(dict(kwargs))}

    def value(self, value):
        """Tensors as where they come from, the rest as usual."""
        if isinstance(value, KerasTensor):
            place = {"shape": list(value.shape), "dtype": value.dtype, "keras_history": self.places[id(value)]}
            return {"class_name": "__keras_tensor__", "config": place}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        return serialize_keras_object(value)

    def ends(self, structure):
        """Inputs or outputs; a functional model inside counts its uses from 1 here, as Keras has it."""
        from .model import Functional

        def place(tensor):
            name, use, output = self.places[id(tensor)]
            inner = isinstance(tensor._keras_history.operation, Functional)
            return [name, use + 1 if inner else use, output]

        if isinstance(structure, KerasTensor):
            return place(structure)
        if isinstance(structure, dict):
            return {key: self.ends(value) for key, value in structure.items()}
        return [self.ends(item) for item in structure]


# --- Reading ---


def model_from_graph_config(cls, config, custom_objects=None):
    """The model of a configuration: of Keras 3, or with the lists of Keras 2."""
    from .model import Functional, Model

    config = dict(config)
    reader = _Reader(config.pop("layers"), custom_objects)
    inputs = reader.ends(config.pop("input_layers"))
    outputs = reader.ends(config.pop("output_layers"))
    trainable = config.pop("trainable", None)
    model = (Functional if cls is Model else cls)(inputs=inputs, outputs=outputs, **config)
    if trainable is False:
        model.trainable = False
    return model


class _NotYet(Exception):
    """A tensor whose layer has not been used yet."""


class _Reader:
    def __init__(self, layers, custom_objects):
        self.custom_objects = custom_objects
        self.made = {}
        pending = []
        for data in layers:
            layer = self.layer(data)
            name = data.get("name") or layer.name
            self.made[name] = layer
            pending.append((layer, list(data.get("inbound_nodes") or [])))
        self.draw(pending)

    def layer(self, data):
        if operation_config.is_operation(data):
            return operation_config.operation_from_config({**data, "config": deserialize_values(data.get("config"))})
        from .. import layers

        return deserialize_keras_object(data, self.custom_objects, layers.family)

    def draw(self, pending):
        """Uses the layers in rounds, as one layer may be used before and after another."""
        while True:
            progress, waiting = False, []
            for layer, uses in pending:
                try:
                    while uses:
                        args, kwargs = self.arguments(uses[0])
                        if isinstance(layer, Operation):
                            args = operation_config.arguments_of_use(layer, args)
                        layer(*args, **kwargs)
                        del uses[0]
                        progress = True
                except _NotYet as reason:
                    waiting.append((layer.name, reason))
            if not waiting:
                return
            if not progress:
                raise ValueError(
                    "Invalid Functional model configuration. The graph of the Functional model either has loops or "
                    f"disconnected nodes: layer '{waiting[0][0]}' waits for {waiting[0][1]}."
                )

    def arguments(self, use):
        if isinstance(use, list):
            return self.keras2_arguments(use)
        args = [self.value(arg) for arg in use.get("args", [])]
        return args, {key: self.value(value) for key, value in use.get("kwargs", {}).items()}

    def keras2_arguments(self, use):
        """[[layer, use, output, kwargs], …]; models count their uses from 1."""
        if use and isinstance(use[0], str):
            use = [use]
        tensors, kwargs = [], {}
        for entry in use:
            if not 3 <= len(entry) <= 4:
                raise ValueError(f"Cannot deserialize the model: a use of a layer has 3 or 4 entries, got {entry}")
            tensors.append(self.tensor(entry[0], self.from_one(entry[0], entry[1]), entry[2]))
            if len(entry) == 4:
                kwargs = {key: self.keras2_keyword(value) for key, value in entry[3].items()}
        return [tensors[0] if len(tensors) == 1 else tensors], kwargs

    def keras2_keyword(self, value):
        if isinstance(value, list) and len(value) == 3 and value[0] in self.made and isinstance(value[1], int):
            return self.tensor(value[0], self.from_one(value[0], value[1]), value[2])
        return deserialize_values(value)

    def from_one(self, name, use):
        is_model = getattr(self.made.get(name), "_graph", None) is not None
        return use - 1 if is_model and use > 0 else use

    def value(self, value):
        if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
            history = value["config"].get("keras_history")
            if not history:
                raise ValueError(f"Invalid Functional model configuration: a tensor without a layer: {value}")
            return self.tensor(*history)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict) and "class_name" not in value:
            return {key: self.value(item) for key, item in value.items()}
        return deserialize_keras_object(value, self.custom_objects)

    def tensor(self, name, use, output):
        if name not in self.made:
            raise ValueError(f"Invalid Functional model configuration. Unknown layer: {name}")
        nodes = self.made[name]._inbound_nodes
        if use >= len(nodes):
            raise _NotYet(f"use {use} of layer '{name}'")
        outputs = nodes[use].outputs
        if not 0 <= output < len(outputs):
            raise ValueError(f"Invalid Functional model configuration: layer '{name}' has no output {output}")
        return outputs[output]

    def ends(self, structure):
        from .model import Functional

        if isinstance(structure, dict):
            return {key: self.ends(value) for key, value in structure.items()}
        if len(structure) == 3 and isinstance(structure[0], str):
            name, use, output = structure
            if isinstance(self.made.get(name), Functional):
                use = max(use - 1, 0)
            try:
                return self.tensor(name, use, output)
            except _NotYet as reason:
                raise ValueError(f"Invalid Functional model configuration: the model ends at {reason}, which is missing") from None
        return [self.ends(item) for item in structure]


def deserialize_values(config):
    """Lists, dicts and special values of a configuration, layers left as they are."""
    if isinstance(config, list):
        return [deserialize_values(item) for item in config]
    if isinstance(config, dict) and "class_name" not in config:
        return {key: deserialize_values(value) for key, value in config.items()}
    if isinstance(config, dict) and str(config["class_name"]).startswith("__"):
        return deserialize_keras_object(config)
    return config
