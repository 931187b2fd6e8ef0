"""keras.utils: helpers around models and data."""
import importlib

_WHERE = {
    "Progbar": "progbar",
    "PyDataset": "py_dataset",
    "Sequence": "py_dataset",
}
__all__ = list(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'keras.utils' has no attribute '{name}'")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__():
    return __all__
