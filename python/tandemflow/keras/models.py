"""keras.models: what layers are put together to, and how models come out of files."""
from .. import _names
from ._engine.model import Functional, Model
from ._engine.registry import Family
from ._engine.sequential import Sequential
from ._engine.cloning import clone_model

family = Family("model", "keras.models", [Model, Functional, Sequential])


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """Reads a model that was saved whole."""
    from .saving import load_model as load

    return load(filepath, custom_objects=custom_objects, compile=compile, safe_mode=safe_mode)


def save_model(model, filepath, overwrite=True, **kwargs):
    """Writes a model whole."""
    model.save(filepath, overwrite=overwrite, **kwargs)


def model_from_json(json_string, custom_objects=None):
    """The model that to_json described, with new weights."""
    import json

    from ._engine.registry import deserialize_keras_object

    return deserialize_keras_object(json.loads(json_string), custom_objects)


__all__ = ["Functional", "Model", "Sequential", "clone_model", "load_model", "model_from_json", "save_model"]


__getattr__, __dir__ = _names.lazy(__name__)
