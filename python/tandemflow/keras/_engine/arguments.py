"""The arguments of a layer's call: which is the first, does it take training and masks?"""
import functools
import inspect

from ... import _tandem
from ..._gradient import flatten, pack_like
from ..._open_size import OpenSize
from .call_context import open_sizes
from .keras_tensor import KerasTensor, map_leaves


def is_tensor_like(value):
    return isinstance(value, (KerasTensor, _tandem.Tensor, _tandem.Variable)) or _tandem.is_numpy(value)


def shape_of(leaf):
    """A tuple; None sizes of KerasTensors stay, and sizes that a traced function leaves open are None."""
    return tuple(None if isinstance(size, OpenSize) else size for size in leaf.shape) if hasattr(leaf, "shape") else ()


class CallSignature:
    """What `call` of a class of layers takes."""

    def __init__(self, call):
        parameters = list(inspect.signature(call).parameters.values())[1:]
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        named = {p.name: p for p in parameters}
        self.takes_training = "training" in named
        default = named["training"].default if "training" in named else None
        self.default_training = None if default is inspect.Parameter.empty else default
        self.mask_names = [name for name in named if name == "mask" or name.endswith("_mask")]
        self._needed = [p.name for p in parameters if p.default is p.empty and p.name in self.names and p.name != "training" and p.name not in self.mask_names]

    @classmethod
    def of(cls, layer_class):
        return _signature(layer_class)

    def first_argument(self, args, kwargs):
        if args:
            return args[0]
        if self.names and self.names[0] in kwargs:
            return kwargs[self.names[0]]
        return next(iter(kwargs.values()), None)

    def check(self, args, kwargs):
        """Throws where an argument that `call` needs is missing; training and masks are found by themselves."""
        missing = [name for name in self._needed if name not in self.names[: len(args)] and name not in kwargs]
        if missing:
            raise TypeError(f"missing a required argument: '{missing[0]}'")

    def cast(self, function, args, kwargs):
        """Tensors among the arguments through `function`, the rest as it is; kwargs are a copy."""
        args = tuple(_cast(function, arg, i == 0) for i, arg in enumerate(args))
        return args, {k: v if k == "training" else _cast(function, v, False) for k, v in kwargs.items()}

    def add_masks(self, args, kwargs, names=None):
        """mask=… from the notes on the tensors, where `call` takes it and the caller said nothing; all of them, or those of `names`."""
        for name in self.mask_names:
            if names is not None and name not in names:
                continue
            if name in kwargs or name in self.names[: len(args)]:
                continue
            of = None if name == "mask" else name[: -len("_mask")]
            value = self.first_argument(args, kwargs) if of is None else self._named(of, args, kwargs)
            masks = [getattr(leaf, "_keras_mask", None) for leaf in flatten(value)]
            if any(mask is not None for mask in masks):
                single = not isinstance(value, (list, tuple, dict))
                kwargs[name] = masks[0] if single else pack_like(value, iter(masks))

    def _named(self, name, args, kwargs):
        if name in kwargs:
            return kwargs[name]
        place = self.names.index(name) if name in self.names else len(args)
        return args[place] if place < len(args) else None


def check_positional(args):
    """Layers take numbers and strings by name: layer(x, True) would give them to whatever argument stands second."""
    for arg in args:
        if isinstance(arg, (str, bytes, bool, int, float)):
            raise ValueError(
                "Only input tensors may be passed as positional arguments. The following argument value should be passed as a keyword "
                f"argument: {arg} (of type {type(arg)})"
            )


@functools.lru_cache(maxsize=None)
def _signature(layer_class):
    return CallSignature(layer_class.call)


def _cast(function, value, first):
    """A list of numbers is a tensor where it stands first; elsewhere only arrays and tensors change."""
    if first and isinstance(value, (list, tuple)) and not any(is_tensor_like(leaf) for leaf in flatten(value)):
        return function(_tandem.to_tensor(value)) if flatten(value) and not isinstance(flatten(value)[0], str) else value
    if isinstance(value, (list, tuple, dict)):
        return map_leaves(lambda leaf: function(leaf) if is_tensor_like(leaf) else leaf, value)
    return function(value) if is_tensor_like(value) else value


def shapes_of(signature, args, kwargs):
    """The shapes of the tensor arguments by name, nested as the arguments are."""
    named = dict(zip(signature.names, args))
    if signature.variadic:
        named.update({f"args_{i}": arg for i, arg in enumerate(args[len(signature.names) :])})
    named.update(kwargs)
    shapes = {}
    for name, value in named.items():
        if name == "training" or name in signature.mask_names:
            continue
        if any(is_tensor_like(leaf) for leaf in flatten(value)):
            shapes[name] = map_leaves(lambda leaf: open_sizes(shape_of(leaf)), value)
    return shapes
