"""The .keras format: a zip archive of the configuration, the variables and what layers keep beside them."""
import json
import os
import tempfile

from ... import _files
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from . import state
from .keras2 import is_keras2, optimizer_values, translated
from .paths import KERAS_VERSION, check_version, making_a_model_of

_METADATA, _CONFIG, _VARIABLES, _ASSETS = "metadata.json", "config.json", "model.weights.h5", "assets"


def model_bytes(model):
    """Without the date: the same model gives the same file."""
    entries = {
        _METADATA: json.dumps({"keras_version": KERAS_VERSION}).encode(),
        _CONFIG: json.dumps(serialize_keras_object(model)).encode(),
        _VARIABLES: _files.write_hdf5(state.to_group(state.collect(model))),
    }
    entries.update(_assets_of(model))
    return _files.write_zip(entries)


def read_model(path, custom_objects, compile, safe_mode):
    entries = _files.read_zip(path)
    version = _json(entries, _METADATA, path, {}).get("keras_version")
    check_version(version, path)
    config = _json(entries, _CONFIG, path)
    if not isinstance(config, dict) or "class_name" not in config:
        raise ValueError(f"{path}: {_CONFIG} holds no model, it begins with {str(config)[:80]!r}")
    config = translated(config) if is_keras2(version) else config
    if not compile:
        config["compile_config"] = None
    with making_a_model_of(path):
        model = deserialize_keras_object(config, custom_objects, safe_mode=safe_mode)
    root = variables_of(entries, path)

    def store_of(at):
        store = state.variables_at(root, at)
        if at != "optimizer" or not is_keras2(version):
            return store
        values = optimizer_values([store[str(i)] for i in range(len(store))], model.optimizer)
        return {str(i): value for i, value in enumerate(values)}

    state.restore(model, store_of, assets_of=_assets_reader(entries))
    return model


def from_bytes(data):
    """What model_bytes wrote; code in it is run, as pickle runs any."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        with open(path, "wb") as file:
            file.write(data)
        return read_model(path, None, True, False)


def variables_of(entries, path):
    """The tree of variables in the archive."""
    if _VARIABLES not in entries:
        raise ValueError(f"{path}: Expected a {_VARIABLES} file, got {', '.join(sorted(entries)) or 'an empty archive'}")
    return _files.read_hdf5(entries[_VARIABLES])


def _json(entries, name, path, default=None):
    if name not in entries:
        if default is not None:
            return default
        raise ValueError(f"{path} is no model file: it has no {name}")
    try:
        return json.loads(bytes(entries[name]).decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: {name} is damaged: {error}") from None


# --- What layers write beside their variables: vocabularies ---


def _assets_of(model):
    out = {}
    for path, saveable in state.walk(model):
        if not hasattr(saveable, "save_assets"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            saveable.save_assets(folder)
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as file:
                    out["/".join(part for part in (_ASSETS, path, name) if part)] = file.read()
    return out


def _assets_reader(entries):
    def read(path, load):
        prefix = "/".join(part for part in (_ASSETS, path) if part) + "/"
        files = {name[len(prefix) :]: data for name, data in entries.items() if name.startswith(prefix)}
        files = {name: data for name, data in files.items() if name and "/" not in name and name not in (".", "..")}
        if not files:
            return
        with tempfile.TemporaryDirectory() as folder:
            for name, data in files.items():
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(data)
            load(folder)

    return read
