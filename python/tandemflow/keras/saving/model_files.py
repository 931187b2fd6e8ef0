"""Whole models in files: .keras, and .h5 for older programs."""
import logging
import os

from ... import _files
from .paths import to_read, to_write


def save_model(model, filepath, overwrite=True, zipped=None, include_optimizer=True, save_format=None, **kwargs):
    """Writes the model with its configuration, variables, optimizer and what compile was given."""
    if kwargs:
        raise ValueError(f"The following argument(s) are not supported: {list(kwargs)}")
    path = to_write(filepath, overwrite)
    if path is None:
        return
    if path.endswith(".keras") or save_format == "keras":
        from .keras_files import model_bytes

        data = model_bytes(model)
    elif path.endswith((".h5", ".hdf5")) or save_format == "h5":
        from .legacy_files import model_bytes

        logging.getLogger("tandemflow").warning(
            "You are saving your model as an HDF5 file via `model.save()` or `keras.saving.save_model(model)`. This file "
            "format is considered legacy. We recommend using instead the native Keras format, e.g. "
            "`model.save('my_model.keras')`."
        )
        data = model_bytes(model, include_optimizer)
    else:
        raise ValueError(
            "Invalid filepath extension for saving. Please add either a `.keras` extension for the native Keras format "
            "(recommended) or a `.h5` extension. Use `model.export(filepath)` if you want to export a SavedModel for use with "
            f"TFLite/TFServing/etc. Received: filepath={path}."
        )
    _files.write_file_atomically(path, data)


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """The model of a file, compiled as it was."""
    legacy = os.fspath(filepath).endswith((".h5", ".hdf5"))
    path = to_read(filepath, "`.keras` zip file", FileNotFoundError if legacy else ValueError)
    if os.path.isdir(path):
        raise ValueError(
            f"File format not supported: filepath={path} is a folder. Supported are `.keras` files and legacy `.h5` files."
        )
    if path.endswith((".h5", ".hdf5")):
        from .legacy_files import read_model
    elif path.endswith(".keras"):
        from .keras_files import read_model
    else:
        raise ValueError(
            f"File format not supported: filepath={path}. Supported are `.keras` files and legacy `.h5` files; rename the "
            "file if it is one of them."
        )
    return read_model(path, custom_objects, compile, safe_mode)
