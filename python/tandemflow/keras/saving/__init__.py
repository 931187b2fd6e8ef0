"""keras.saving: models and weights in files, and the names that files may use."""
import importlib

from ... import _names
from .._engine.registry import (
    CustomObjectScope,
    custom_object_scope,
    deserialize_keras_object,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
    serialize_keras_object,
)

_WHERE = {
    "export_model": "exporting",
    "load_model": "model_files",
    "load_weights": "weight_files",
    "save_model": "model_files",
    "save_weights": "weight_files",
}
__all__ = [
    "CustomObjectScope",
    "custom_object_scope",
    "deserialize_keras_object",
    "get_custom_objects",
    "get_registered_name",
    "get_registered_object",
    "register_keras_serializable",
    "serialize_keras_object",
    *_WHERE,
]


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(_names.complaint(__name__, name, __all__))
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__():
    return __all__
