"""Tensors of a model that is being drawn up: a shape, a dtype and where they come from."""
from ..._dtypes import as_dtype
from ..._gradient import flatten, pack_like
from .naming import unique_name


class Node:
    """One use of a layer: what went in and what came out."""

    def __init__(self, operation, args, kwargs, outputs):
        self.operation = operation
        self.args, self.kwargs = args, kwargs
        self.outputs = flatten(outputs)
        self.inputs = keras_tensors(args) + keras_tensors(kwargs)
        self.index = len(operation._inbound_nodes)
        for i, tensor in enumerate(self.outputs):
            tensor._keras_history = KerasHistory(operation, self.index, i)
        operation._inbound_nodes.append(self)

    @property
    def parents(self):
        return [t._keras_history.node for t in self.inputs]

    def arguments(self, values):
        """args and kwargs with tensors in place of the KerasTensors, by id."""
        return fill(self.args, values), fill(self.kwargs, values)


class KerasHistory:
    """Output `tensor_index` of use `node_index` of a layer."""

    def __init__(self, operation, node_index, tensor_index):
        self.operation, self.node_index, self.tensor_index = operation, node_index, tensor_index

    @property
    def node(self):
        return self.operation._inbound_nodes[self.node_index]

    def __iter__(self):
        return iter((self.operation, self.node_index, self.tensor_index))


_SYMBOLIC = "A KerasTensor is symbolic: it's a placeholder for a shape an a dtype. It doesn't have any actual numerical value. "


class KerasTensor:
    """A tensor without values; sizes that are None are open."""

    def __init__(self, shape, dtype="float32", sparse=False, name=None, record_history=True):
        self._shape = tuple(shape)
        self._dtype = as_dtype(dtype).name
        self.name = name or unique_name("keras_tensor")
        self._keras_history = None

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def ndim(self):
        return len(self._shape)

    def get_shape(self):
        return self._shape

    def __repr__(self):
        return f"<KerasTensor shape={self._shape}, dtype={self._dtype}, sparse=False, ragged=False, name={self.name}>"

    def __len__(self):
        self._refuse("len() was called on")

    def __iter__(self):
        raise NotImplementedError("Iterating over a symbolic KerasTensor is not supported.")

    def __bool__(self):
        raise TypeError("A symbolic KerasTensor cannot be used as a boolean.")

    def __float__(self):
        raise ValueError(_SYMBOLIC + "You cannot convert it to a float.")

    def __int__(self):
        raise ValueError(_SYMBOLIC + "You cannot convert it to an int.")

    def __array__(self, dtype=None, copy=None):
        raise ValueError(_SYMBOLIC + "You cannot convert it to a NumPy array.")

    def _refuse(self, use):
        raise TypeError(
            f"{use} a KerasTensor, which is symbolic: a shape and a dtype without values. Use keras.ops functions or "
            "layers on it; a keras.layers.Lambda or a custom layer may hold any other computation."
        )


def _operator(name, swapped=False):
    def method(self, other):
        from .operation import Operation

        return Operation(name)(other, self) if swapped else Operation(name)(self, other)

    return method


_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "mod", "pow": "power", "matmul": "matmul", "and": "logical_and", "or": "logical_or", "xor": "logical_xor",
}  # fmt: skip
for _python, _op in _BINARY.items():
    setattr(KerasTensor, f"__{_python}__", _operator(_op))
    setattr(KerasTensor, f"__r{_python}__", _operator(_op, swapped=True))
for _python, _op in {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "ne": "not_equal"}.items():
    setattr(KerasTensor, f"__{_python}__", _operator(_op))


def _unary(name):
    def method(self):
        from .operation import Operation

        return Operation(name)(self)

    return method


for _python, _op in {"neg": "negative", "abs": "absolute", "invert": "logical_not"}.items():
    setattr(KerasTensor, f"__{_python}__", _unary(_op))


def _get_item(self, key):
    from .operation import Operation

    return Operation("get_item")(self, key)


KerasTensor.__getitem__ = _get_item


def is_keras_tensor(value):
    """Whether it is a tensor of a functional model that is being drawn."""
    return isinstance(value, KerasTensor)


def keras_tensors(structure):
    """All KerasTensors of a nested structure, in order."""
    return [leaf for leaf in flatten(structure) if isinstance(leaf, KerasTensor)]


def get_source_inputs(tensor):
    """The inputs of the model that a tensor is computed of, each once."""
    if not is_keras_tensor(tensor) or tensor._keras_history is None:
        return [tensor] if is_keras_tensor(tensor) else tensor
    node = tensor._keras_history.node
    if not node.inputs:
        return list(node.outputs)
    sources = {id(source): source for before in node.inputs for source in get_source_inputs(before)}
    return list(sources.values())


def fill(structure, values):
    """The structure with values[id(t)] for every KerasTensor t."""
    if isinstance(structure, KerasTensor):
        return values[id(structure)]
    if isinstance(structure, dict):
        return {key: fill(value, values) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        items = [fill(item, values) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return items if isinstance(structure, list) else tuple(items)
    return structure


def map_leaves(function, structure):
    """The structure with function(leaf) for every leaf."""
    return pack_like(structure, iter([function(leaf) for leaf in flatten(structure)]))
