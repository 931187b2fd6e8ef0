"""tf.experimental.ExtensionType: classes of values made of tensors, with a constructor made from their annotations."""
import collections.abc
import functools
import inspect
import types
import typing

from . import _dtypes, _ops, _tandem
from ._shape import TensorShape
from ._specs import TensorSpec, TypeSpec

_RESERVED = ("self", "_name")
_PLAIN = (bool, int, float, str, bytes, type(None))
_NO_VALUE = object()
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))  # the second since Python 3.10


def _shown(annotation):
    return getattr(annotation, "__name__", None) or str(annotation).replace("typing.", "")


def _converted(value, annotation, place):
    """The value as its annotation says; raises TypeError naming the field otherwise."""
    if annotation in (_tandem.Tensor, typing.Any) or isinstance(annotation, TensorSpec):
        return _as_tensor(value, annotation, place)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _UNIONS:
        return _one_of(value, inner, place)
    if origin is tuple:
        return _as_tuple(value, inner, place)
    if origin in (collections.abc.Mapping, dict):
        if not isinstance(value, collections.abc.Mapping):
            raise TypeError(f"{place}: expected a mapping, got {type(value).__name__} {value!r}")
        return types.MappingProxyType({_converted(k, inner[0], place): _converted(v, inner[1], f"{place}[{k!r}]") for k, v in value.items()})
    if annotation is TensorShape:
        return TensorShape(value)
    if annotation is _dtypes.DType:
        return _dtypes.as_dtype(value)
    kind = type(None) if annotation is None else annotation
    if isinstance(kind, type) and isinstance(value, kind) and not (isinstance(value, bool) and kind in (int, float)):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"{place}: expected {_shown(annotation)}, got {type(value).__name__} {value!r}")


def _as_tensor(value, annotation, place):
    if annotation is typing.Any or isinstance(value, (ExtensionType, _tandem.Variable)) or hasattr(type(value), "_runs_op_by_op"):
        if annotation is _tandem.Tensor and isinstance(value, ExtensionType):
            raise TypeError(f"{place}: expected a Tensor, got {type(value).__name__}")
        return value
    wanted = annotation.dtype if isinstance(annotation, TensorSpec) else None
    try:
        tensor = _tandem.to_tensor(value, None if hasattr(value, "dtype") else wanted)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{place}: expected a Tensor, got {type(value).__name__} {value!r} ({error})") from None
    if isinstance(annotation, TensorSpec) and not annotation.is_compatible_with(tensor):
        raise TypeError(f"{place}: expected a Tensor of {annotation!r}, got {tensor.dtype.name} {tensor.shape}")
    return tensor


def _one_of(value, choices, place):
    for choice in sorted(choices, key=lambda c: c is _tandem.Tensor):  # what is exact comes before what converts
        try:
            return _converted(value, choice, place)
        except TypeError:
            continue
    raise TypeError(f"{place}: expected one of {', '.join(map(_shown, choices))}, got {type(value).__name__} {value!r}")


def _as_tuple(value, inner, place):
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"{place}: expected a tuple, got {type(value).__name__} {value!r}")
    if len(inner) == 2 and inner[1] is Ellipsis:
        inner = (inner[0],) * len(value)
    if len(inner) != len(value):
        raise TypeError(f"{place}: expected a tuple of {len(inner)} values, got {len(value)}")
    return tuple(_converted(item, kind, f"{place}[{i}]") for i, (item, kind) in enumerate(zip(value, inner)))


def _fields(cls):
    """{name: (annotation, default)} of the class and those it extends, in order."""
    found = {}
    for base in reversed(cls.__mro__):
        if base in (object, ExtensionType) or not issubclass(base, ExtensionType):
            continue
        hints = typing.get_type_hints(base, localns={base.__name__: base}) if base.__dict__.get("__annotations__") else {}
        for name in base.__dict__.get("__annotations__", {}):
            found[name] = (hints[name], base.__dict__.get(name, _NO_VALUE))
    return found


class ExtensionType:
    """Subclass it with annotated fields; objects cannot be changed, functions of tf.function take them and run op by op."""

    _runs_op_by_op = True

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name in cls.__dict__.get("__annotations__", {}):
            if name in _RESERVED or name.startswith("_tf_extension_type"):
                raise ValueError(f"The field name {name!r} of {cls.__name__} is reserved; choose another")
        cls.Spec = type("Spec", (ExtensionTypeSpec,), {"value_type": cls, "__qualname__": f"{cls.__qualname__}.Spec"})
        cls.__init__ = _closing(cls, cls.__dict__.get("__init__") or _constructor(cls))

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        object.__setattr__(self, "_open", True)
        return self

    def __setattr__(self, name, value):
        fields = _fields(type(self))
        if not self.__dict__.get("_open"):
            raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType {type(self).__name__}; make a new object")
        if name not in fields:
            raise AttributeError(f"Cannot set unknown attribute `{name}` of {type(self).__name__}; its fields are {', '.join(fields)}")
        object.__setattr__(self, name, _converted(value, fields[name][0], f"{type(self).__name__}: in field {name!r}"))

    def __delattr__(self, name):
        raise AttributeError(f"Cannot mutate attribute `{name}` outside the custom constructor of ExtensionType {type(self).__name__}; make a new object")

    def _close(self):
        fields = _fields(type(self))
        missing = [name for name in fields if name not in self.__dict__]
        if missing:
            raise ValueError(f"{type(self).__name__}: no value was given for {', '.join(missing)}")
        object.__setattr__(self, "_open", False)
        self.__validate__()

    def __validate__(self):
        """Subclasses may check their fields here."""

    def __eq__(self, other):
        if type(self) is not type(other):
            return _ops.constant(False)
        result = _ops.constant(True)
        for name in _fields(type(self)):
            result = _ops.logical_and(result, _equal(getattr(self, name), getattr(other, name)))
        return result

    def __ne__(self, other):
        return _ops.logical_not(self == other)

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in _fields(type(self)))})"


class ExtensionTypeSpec(TypeSpec):
    """What is known of the fields: MyType.Spec(field=tf.TensorSpec(…), …)."""

    def __init__(self, *args, **kwargs):
        fields = list(_fields(self.value_type))
        given = {**dict(zip(fields, args)), **kwargs}
        unknown = [name for name in given if name not in fields]
        if unknown or len(args) > len(fields):
            raise TypeError(f"{self.value_type.__name__}.Spec has the fields {', '.join(fields)}, got {', '.join(unknown) or f'{len(args)} values'}")
        self.__dict__.update(given)

    @classmethod
    def from_value(cls, value):
        return cls(**{name: _spec_of(getattr(value, name)) for name in _fields(cls.value_type)})

    def is_compatible_with(self, value):
        return isinstance(value, self.value_type)

    def __eq__(self, other):
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self):
        return hash(type(self))

    def __repr__(self):
        return f"{self.value_type.__name__}.Spec({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def _spec_of(value):
    if isinstance(value, ExtensionType):
        return type(value).Spec.from_value(value)
    return TensorSpec.from_tensor(value) if isinstance(value, _tandem.Tensor) else value


def _equal(a, b):
    if isinstance(a, (_tandem.Tensor, _tandem.Variable)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return _ops.constant(False)
        return _ops.reduce_all(_ops.equal(a, b))
    if isinstance(a, tuple):
        parts = [_equal(x, y) for x, y in zip(a, b)]
        return _ops.reduce_all(_ops.stack(parts)) if parts and len(a) == len(b) else _ops.constant(len(a) == len(b))
    return a == b if isinstance(a, ExtensionType) else _ops.constant(a == b)


def _closing(cls, constructor):
    """The constructor, after which the object cannot be changed any more."""

    @functools.wraps(constructor)
    def __init__(self, *args, **kwargs):
        constructor(self, *args, **kwargs)
        if type(self) is cls:  # not when a subclass calls super().__init__
            self._close()

    return __init__


def _constructor(cls):
    fields = _fields(cls)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, (annotation, default) in fields.items():
        empty = inspect.Parameter.empty if default is _NO_VALUE else default
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=empty, annotation=annotation))
    signature = inspect.Signature(sorted(parameters, key=lambda p: p.default is not inspect.Parameter.empty))

    def __init__(self, *args, **kwargs):
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}(): {error}; its fields are {', '.join(fields)}") from None
        bound.apply_defaults()
        for name in fields:
            setattr(self, name, bound.arguments[name])

    __init__.__signature__ = signature
    return __init__


def as_dict(value):
    """The fields of an ExtensionType by name."""
    return {name: getattr(value, name) for name in _fields(type(value))}


class BatchableExtensionType(ExtensionType):
    """An ExtensionType; datasets do not hold these, so a list of them is batched by its maker."""
