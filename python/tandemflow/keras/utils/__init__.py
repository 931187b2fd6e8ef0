"""keras.utils: helpers around models and data. Parts are loaded when they are used."""
import importlib

_WHERE = {
    "Progbar": "utils.progbar",
    "PyDataset": "utils.py_dataset",
    "Sequence": "utils.py_dataset",
    "clear_session": "_engine.naming",
    "CustomObjectScope": "_engine.registry",
    "custom_object_scope": "_engine.registry",
    "deserialize_keras_object": "_engine.registry",
    "get_custom_objects": "_engine.registry",
    "get_registered_name": "_engine.registry",
    "get_registered_object": "_engine.registry",
    "register_keras_serializable": "_engine.registry",
    "serialize_keras_object": "_engine.registry",
}
__all__ = list(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'keras.utils' has no attribute '{name}'")
    return getattr(importlib.import_module(f"tandemflow.keras.{_WHERE[name]}"), name)


def __dir__():
    return __all__
