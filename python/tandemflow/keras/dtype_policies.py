"""In which dtype layers compute and keep their variables."""
from .. import _dtypes, _names
from ._engine.floats import floatx
from ._engine.registry import Family, nearest

_MIXED = {"mixed_float16": "float16", "mixed_bfloat16": "bfloat16"}
_QUANTIZED = "int8_from_"
_PLAIN = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool", "string")


class DTypePolicy:
    """ "float32", "bfloat16", …: both alike; "mixed_float16", "mixed_bfloat16": variables in float32."""

    _keras_module = "keras"

    def __init__(self, name=None):
        name = name or dtype_policy().name
        if isinstance(name, _dtypes.DType):
            name = name.name
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, such as 'mixed_float16'. Received: name={name} (of type {type(name)})")
        if name not in _MIXED and name not in _PLAIN:
            known = [*_PLAIN, *_MIXED]
            raise ValueError(
                f"Cannot convert '{name}' to a mixed precision DTypePolicy. Valid policies include 'mixed_float16', 'mixed_bfloat16', and the "
                f"name of any float dtype such as 'float32'.{nearest(name, known)} Known are {', '.join(known)}."
            )
        self._name = name

    @property
    def name(self):
        return self._name

    @property
    def compute_dtype(self):
        return _MIXED.get(self._name, self._name)

    @property
    def variable_dtype(self):
        return "float32" if self._name in _MIXED else self._name

    @property
    def quantization_mode(self):
        """ "int8" where weights are kept so."""
        return None

    def get_config(self):
        return {"name": self._name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __eq__(self, other):
        return isinstance(other, DTypePolicy) and other.name == self.name

    def __hash__(self):
        return hash(self._name)

    def __repr__(self):
        return f'<DTypePolicy "{self._name}">'


class QuantizedDTypePolicy(DTypePolicy):
    """ "int8_from_float32": weights in int8, all else as the source says."""

    _keras_module = "keras.dtype_policies"

    def __init__(self, mode, source_name=None):
        source = DTypePolicy(source_name)
        if mode != "int8":
            raise NotImplementedError(f"QuantizedDTypePolicy: mode '{mode}' is not supported here; 'int8' is")
        if source.compute_dtype == "float16":
            raise ValueError(f"Quantization mode='{mode}' doesn't work well with compute_dtype='float16'.")
        self._name, self._source, self._mode = f"{mode}_from_{source.name}", source, mode

    @property
    def compute_dtype(self):
        return self._source.compute_dtype

    @property
    def variable_dtype(self):
        return self._source.variable_dtype

    @property
    def quantization_mode(self):
        return self._mode

    def get_config(self):
        return {"mode": self._mode, "source_name": self._source.name}

    def __repr__(self):
        return f'<QuantizedDTypePolicy "{self._name}">'


Policy = FloatDTypePolicy = DTypePolicy
_chosen = None


def dtype_policy():
    """What layers take that are given none: what was set, else the default float dtype."""
    return _chosen or DTypePolicy(floatx())


def set_dtype_policy(policy):
    """None, or the name of the default float dtype: that one again, whatever set_floatx makes of it later."""
    global _chosen
    policy = policy if policy is None or isinstance(policy, DTypePolicy) else DTypePolicy(policy)
    _chosen = None if policy is None or policy.name == floatx() else policy


family = Family("dtype policy", "keras", [DTypePolicy, QuantizedDTypePolicy], {"Policy": DTypePolicy, "FloatDTypePolicy": DTypePolicy})


def get(identifier):
    """The object for a name, a configuration or an object."""
    if identifier is None:
        return dtype_policy()
    if isinstance(identifier, DTypePolicy):
        return identifier
    if isinstance(identifier, dict):
        return family.deserialize(identifier)
    if isinstance(identifier, str) and identifier.startswith(_QUANTIZED):
        return QuantizedDTypePolicy("int8", identifier[len(_QUANTIZED) :])
    return DTypePolicy(_dtypes.as_dtype(identifier).name if not isinstance(identifier, str) else identifier)


def serialize(policy):
    """The object's configuration, from which deserialize makes it anew."""
    return family.serialize(policy)


def deserialize(config, custom_objects=None):
    """An object made from its configuration, or found by its name."""
    return family.deserialize(config, custom_objects)


__getattr__, __dir__ = _names.lazy(__name__)
