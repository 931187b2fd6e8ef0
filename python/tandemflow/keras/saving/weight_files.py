"""Variables alone in files: .weights.h5 (with the optimizer's), .safetensors (without), and reading those of whole models."""
from ... import _files
from . import state
from .paths import to_read, to_write


def save_weights(model, filepath, overwrite=True, **kwargs):
    """Writes a model's weights: .weights.h5."""
    if kwargs.pop("max_shard_size", None) is not None or kwargs:
        raise ValueError(f"save_weights: not supported: {', '.join(kwargs) or 'max_shard_size'}")
    path = to_write(filepath, overwrite)
    if path is None:
        return
    if not path.endswith((".weights.h5", ".safetensors")):
        raise ValueError(f"The filename must end in `.weights.h5` (or `.safetensors`). Received: filepath={path}")
    _check_built(model, "saving a model")
    if path.endswith(".safetensors"):
        data = _files.write_safetensors(_flat(state.collect(model)), {"format": "keras"})
    else:
        data = weights_bytes(model)
    _files.write_file_atomically(path, data)


def weights_bytes(model):
    """What a .weights.h5 file holds."""
    return _files.write_hdf5(state.to_group(state.collect(model)))


def load_weights_bytes(model, data):
    """Reads what weights_bytes gave; when it does not fit, the model stays as it is."""
    root = _files.read_hdf5(data)
    state.restore(model, lambda at: state.variables_at(root, at))


def load_weights(model, filepath, skip_mismatch=False, by_name=False, **kwargs):
    """Reads variables into the model; when they do not fit, the model stays as it is."""
    if kwargs.pop("objects_to_skip", None) is not None or kwargs:
        raise ValueError(f"load_weights: not supported: {', '.join(kwargs) or 'objects_to_skip'}")
    path = to_read(filepath, "`.weights.h5`, `.keras`, `.h5` or `.safetensors` file", FileNotFoundError)
    if path.endswith(".safetensors"):
        return _load_safetensors(model, path, skip_mismatch)
    if path.endswith(".keras"):
        from .keras_files import variables_of

        root = variables_of(_files.read_zip(path), path)
    elif path.endswith((".h5", ".hdf5")):
        root = _files.read_hdf5(path)
        if _is_legacy(root):
            from .legacy_files import load_weights_of

            return load_weights_of(model, root, by_name, skip_mismatch)
    else:
        raise ValueError(
            f"File format not supported: filepath={path}. Supported are `.weights.h5`, `.keras`, `.h5` and `.safetensors`."
        )
    if by_name:
        raise ValueError(f"Invalid keyword arguments: by_name=True needs a legacy `.h5` file, got {path}")
    _check_built(model, "loading weights into a model")
    state.restore(model, lambda at: state.variables_at(root, at), skip_mismatch)


def _check_built(model, doing):
    if not model.built:
        raise ValueError(
            f"You are {doing} that has not yet been built. Try building the model first by calling it on some data or by "
            "using `build()`."
        )


def _is_legacy(root):
    return "layer_names" in root["attrs"] or "model_weights" in root["items"]


def _flat(collected):
    """layers/dense/0, …; the optimizer's variables stay out."""
    return {
        f"{path}/{name}" if path else name: value
        for path, (_, store) in collected.items()
        for name, value in store.items()
        if not _is_of_optimizer(path)
    }


def _is_of_optimizer(path):
    return path.split("/")[0] == "optimizer"


def _load_safetensors(model, path, skip_mismatch):
    _check_built(model, "loading weights into a model")
    stores = {}
    for name, value in _files.read_safetensors(path)[0].items():
        at, _, variable = name.rpartition("/")
        stores.setdefault(at, {})[variable] = value
    known = [at for at, _ in state.walk(model) if not _is_of_optimizer(at)]
    unknown = sorted(set(stores) - set(known))
    if unknown and not skip_mismatch:
        raise ValueError(f"{path}: the model has no layer for '{unknown[0]}'; it has {', '.join(known[1:])}")
    state.restore(model, lambda at: stores.get(at, {}), skip_mismatch, skip=_is_of_optimizer)
