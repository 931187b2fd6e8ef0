"""Layers whose configuration is their constructor's arguments."""
import functools
import inspect

from .. import activations, constraints, initializers, regularizers
from .._engine.layer import Layer
from .._engine.registry import serialize_keras_object

_OF_BASE = ("self", "args", "kwargs", "name", "trainable", "dtype", "autocast", "activity_regularizer", "weights")
# Arguments of Keras that files mention with None; adapters and quantized weights are not there.
_REFUSED = ("lora_rank", "lora_alpha", "quantization_config", "gptq_unpacked_column_size")


def _family(name):
    """What an argument of this name is looked up in, or None."""
    if name.endswith("_initializer"):
        return initializers
    if name.endswith("_regularizer"):
        return regularizers
    if name.endswith("_constraint"):
        return constraints
    return activations if name in ("activation", "recurrent_activation") else None


@functools.lru_cache(maxsize=None)
def _names(cls):
    """The arguments of the constructor that a class of this package has; those of a user's subclass are his business."""
    package = __name__.rpartition(".")[0]
    ours = next(c for c in cls.__mro__ if "__init__" in c.__dict__ and c.__module__.startswith(package))
    names = [name for name in inspect.signature(ours.__init__).parameters if name not in _OF_BASE + _REFUSED]
    return sorted(names, key=lambda name: name not in cls._config_first)


class ConfiguredLayer(Layer):
    """Every argument of the constructor is an attribute of the same name."""

    _writes_activity_regularizer = False  # also where there is none, as Keras does for some
    _config_first = ()  # what Keras writes before the other arguments

    def _keep(self, **arguments):
        """Sets the attributes; initializers, regularizers, constraints and activations may come by name."""
        for name, value in arguments.items():
            family = _family(name)
            setattr(self, name, value if family is None else family.get(value))

    def _activated(self, x):
        """Through the activation; None, which programs set to look at logits, is none."""
        return x if self.activation is None else self.activation(x)

    def get_config(self):
        config = super().get_config()
        names = _names(type(self))
        penalties = [i for i, name in enumerate(names) if name.endswith("_regularizer")]
        after = penalties[-1] if self._writes_activity_regularizer and penalties else None
        for i, name in enumerate(names):
            config[name] = _written(name, getattr(self, name))
            if i == after:
                config["activity_regularizer"] = config.pop("activity_regularizer", None)
        if self._writes_activity_regularizer:
            config["activity_regularizer"] = serialize_keras_object(self.activity_regularizer)
        return config


def refuse(layer, **arguments):
    """Arguments of Keras that must stay at None here."""
    for name, value in arguments.items():
        if value is not None:
            raise NotImplementedError(f"{type(layer).__name__}: {name}={value!r} is not supported; leave it at None")


def _written(name, value):
    return value if _family(name) is None else serialize_keras_object(value)


def positive_tuple(layer, name, value, count, allow_zero=False):
    """One number, or `count` of them, as a tuple."""
    try:
        numbers = (int(value),) * count if not hasattr(value, "__len__") else tuple(int(v) for v in value)
    except (TypeError, ValueError):
        numbers = ()
    least = 0 if allow_zero else 1
    if len(numbers) != count or any(n < least for n in numbers):
        what = "non-negative" if allow_zero else "positive"
        raise ValueError(
            f"The `{name}` argument of {type(layer).__name__} must be a tuple of {count} {what} integers. "
            f"Received {name}={value}"
        )
    return numbers


def padding_word(layer, padding, allowed=("valid", "same")):
    word = padding.lower() if isinstance(padding, str) else padding
    if word not in allowed:
        raise ValueError(
            f"The `padding` argument of {type(layer).__name__} must be one of {set(allowed)}. Received: {padding}"
        )
    return word
