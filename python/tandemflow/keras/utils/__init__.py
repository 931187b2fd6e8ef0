"""keras.utils: helpers around models and data. Parts are loaded when they are used."""
import importlib

from ... import _names

_WHERE = {
    "_engine.floats": ["standardize_dtype"],
    "_engine.naming": ["clear_session"],
    "_engine.keras_tensor": ["get_source_inputs", "is_keras_tensor"],
    "_engine.registry": [
        "CustomObjectScope",
        "custom_object_scope",
        "deserialize_keras_object",
        "get_custom_objects",
        "get_registered_name",
        "get_registered_object",
        "register_keras_serializable",
        "serialize_keras_object",
    ],
    "_engine.data_sources": ["pack_x_y_sample_weight", "unpack_x_y_sample_weight"],
    "config": ["disable_interactive_logging", "enable_interactive_logging"],
    "utils.directories": ["audio_dataset_from_directory", "image_dataset_from_directory", "text_dataset_from_directory"],
    "utils.config_dict": ["Config"],
    "utils.feature_space": ["FeatureSpace"],
    "utils.files": ["get_file"],
    "utils.images": ["array_to_img", "img_to_array", "load_img", "save_img"],
    "utils.messages": ["is_interactive_logging_enabled"],
    "utils.numeric": ["normalize", "pad_sequences", "set_random_seed", "to_categorical"],
    "utils.plotting": ["model_to_dot", "plot_model"],
    "utils.progbar": ["Progbar"],
    "utils.py_dataset": ["PyDataset", "Sequence"],
    "utils.timeseries": ["split_dataset", "timeseries_dataset_from_array"],
}
_MODULE_OF = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted(_MODULE_OF)


def __getattr__(name):
    if name == "bounding_boxes":
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(_names.complaint(__name__, name, __all__))
    return getattr(importlib.import_module(f"tandemflow.keras.{_MODULE_OF[name]}"), name)


def __dir__():
    return __all__
