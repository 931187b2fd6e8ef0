"""The .h5 format of Keras 1 to 3: configurations as attributes, variables by layer, matched by their order."""
import json
import logging
import warnings

from ... import _files, _ops, _tandem
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from . import state
from .keras2 import optimizer_values, translated
from .paths import KERAS_VERSION, check_version, making_a_model_of

_NAMES_A_CHUNK = 3000  # an attribute has to fit into 64 KiB


# --- Writing ---


def model_bytes(model, include_optimizer=True):
    whole = serialize_keras_object(model)
    attrs = {"backend": "tensorflow", "keras_version": KERAS_VERSION}
    config = json.dumps(_without_ellipses({"class_name": whole["class_name"], "config": whole["config"]}))
    root = {"attrs": {**attrs, "model_config": config}, "items": {"model_weights": _weights_group(model)}}
    root["items"]["model_weights"]["attrs"].update(attrs)
    if include_optimizer and whole.get("compile_config"):
        root["attrs"]["training_config"] = json.dumps(_training_config(whole["compile_config"]))
        if model.optimizer.built:
            root["items"]["optimizer_weights"] = _variables_group(model.optimizer.variables, model.optimizer.name)
    return _files.write_hdf5(root)


_ALL = {"class_name": "__slice__", "config": {"start": None, "stop": None, "step": None}}


def _without_ellipses(config):
    """x[..., 0] as x[:, :, 0]: Keras' reader of this format does not know what three dots are."""
    if isinstance(config, list):
        return [_without_ellipses(item) for item in config]
    if not isinstance(config, dict):
        return config
    if config.get("class_name") == "GetItem" and "inbound_nodes" in config:
        nodes = [{**node, "args": _spelt_out(node["args"])} for node in config["inbound_nodes"]]
        return {**config, "inbound_nodes": nodes}
    return {name: _without_ellipses(value) for name, value in config.items()}


def _spelt_out(args):
    """The arguments of one use: a tensor and its index."""
    if len(args) != 2:
        return args
    tensor, index = args
    index = index if isinstance(index, list) else [index]
    dots = [isinstance(part, dict) and part.get("class_name") == "__ellipsis__" for part in index]
    if sum(dots) != 1:
        return args
    place = dots.index(True)
    taken = sum(part is not None for part in index) - 1  # None makes an axis and takes none
    return [tensor, [*index[:place], *[_ALL] * (len(tensor["config"]["shape"]) - taken), *index[place + 1 :]]]


def _training_config(compiled):
    keys = ("loss_weights", "metrics", "weighted_metrics")
    rest = {key: compiled.get(key) for key in keys}
    return {"loss": _with_full_names(compiled.get("loss")), **rest, "optimizer_config": compiled.get("optimizer")}


def _with_full_names(loss):
    """ "mae" as "mean_absolute_error": Keras' reader of this format does not know short names."""
    from .. import losses

    if isinstance(loss, list):
        return [_with_full_names(item) for item in loss]
    if isinstance(loss, dict) and "class_name" not in loss:
        return {key: _with_full_names(item) for key, item in loss.items()}
    found = losses.family.names.get(loss) if isinstance(loss, str) else None
    return loss if found is None else found.__name__


def _weights_group(model):
    group = {"attrs": {}, "items": {}}
    _set_names(group, "layer_names", [layer.name for layer in model.layers])
    for layer in model.layers:
        group["items"][layer.name] = _variables_group(_variables_of(layer), model.name)
    own = _own_variables(model)
    if own:
        group["items"]["top_level_model_weights"] = _variables_group(own, model.name)
    return group


def _variables_of(layer):
    return layer.trainable_weights + layer.non_trainable_weights


def _own_variables(model):
    in_layers = {id(v) for layer in model.layers for v in layer.weights}
    return [v for v in _variables_of(model) if id(v) not in in_layers]


def _variables_group(variables, prefix):
    group, names = {"attrs": {}, "items": {}}, []
    for i, variable in enumerate(variables):
        name = f"{prefix}/{getattr(variable, 'path', variable.name)}"
        if name in names:
            name = f"{name}_{i}"
        names.append(name)
        *folders, last = name.split("/")
        inner = group
        for folder in folders:
            inner = inner["items"].setdefault(folder, {"attrs": {}, "items": {}})
        inner["items"][last] = variable.numpy()
    _set_names(group, "weight_names", names)
    return group


def _set_names(group, attribute, names):
    if len(names) <= _NAMES_A_CHUNK:
        group["attrs"][attribute] = names
        return
    for i in range(0, len(names), _NAMES_A_CHUNK):
        group["attrs"][f"{attribute}{i // _NAMES_A_CHUNK}"] = names[i : i + _NAMES_A_CHUNK]


# --- Reading ---


def read_model(path, custom_objects, compile, safe_mode):
    root = _files.read_hdf5(path)
    attrs = root["attrs"]
    if "model_config" not in attrs:
        hint = "; it holds weights only: use model.load_weights" if "layers" in root["items"] else ""
        raise ValueError(f"No model config found in the file at {path}{hint}.")
    check_version(attrs.get("keras_version"), path)
    config = translated(_json(attrs["model_config"], f"{path}: model_config"))
    with making_a_model_of(path):
        model = deserialize_keras_object(config, custom_objects, safe_mode=safe_mode)
    load_weights_of(model, root, False, False)
    if compile:
        _compile(model, root, path, custom_objects)
    return model


def _json(text, what):
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{what} is damaged: {error}") from None


def _compile(model, root, path, custom_objects):
    text = root["attrs"].get("training_config")
    if text is None:
        logging.getLogger("tandemflow").warning(
            "No training configuration found in the save file, so the model was *not* compiled. Compile it manually."
        )
        return
    training = translated(_json(text, f"{path}: training_config"))
    with making_a_model_of(path):
        model.compile(**_compile_arguments(training, custom_objects))
    if "optimizer_weights" in root["items"]:
        model.optimizer.build(model.trainable_variables)
        values = optimizer_values(_values(root["items"]["optimizer_weights"], path), model.optimizer)
        shapes = [tuple(v.shape) for v in model.optimizer.variables]
        if [tuple(value.shape) for value in values] != shapes:
            warnings.warn(
                f"Error in loading the saved optimizer state: it has {len(values)} variables, {model.optimizer.name} has "
                f"{len(shapes)} of other shapes. As a result, your model is starting with a freshly initialized optimizer.",
                stacklevel=4,
            )
            return
        model.optimizer.load_own_variables({str(i): value for i, value in enumerate(values)})


def _compile_arguments(training, custom_objects):
    from .. import losses, optimizers

    out = {"optimizer": deserialize_keras_object(training.get("optimizer_config"), custom_objects, optimizers.family)}
    loss = training.get("loss")
    if loss is not None:
        out["loss"] = _loss(loss, custom_objects, losses.family)
    for key in ("metrics", "weighted_metrics"):
        if training.get(key) is not None:
            out[key] = _metrics(training[key], custom_objects)
    if training.get("loss_weights") is not None:
        out["loss_weights"] = training["loss_weights"]
    return out


def _loss(loss, custom_objects, family):
    if isinstance(loss, list):
        return [_loss(item, custom_objects, family) for item in loss]
    if isinstance(loss, dict) and "class_name" not in loss:
        return {key: _loss(item, custom_objects, family) for key, item in loss.items()}
    return loss if isinstance(loss, str) else deserialize_keras_object(loss, custom_objects, family)


def _metrics(metrics, custom_objects):
    from .. import metrics as known

    if isinstance(metrics, list):
        return [_metrics(item, custom_objects) for item in metrics]
    if isinstance(metrics, dict) and "class_name" not in metrics:
        return {key: _metrics(item, custom_objects) for key, item in metrics.items()}
    return metrics if isinstance(metrics, str) else deserialize_keras_object(metrics, custom_objects, known.family)


# --- Variables ---


def load_weights_of(model, root, by_name, skip_mismatch):
    """Into the layers that have variables, in their order or by their names; all of them or, on an error, none."""
    group = root if "layer_names" in root["attrs"] else root["items"].get("model_weights")
    if not state.is_group(group):
        raise ValueError("The file holds no weights: it has no group 'model_weights'")
    saved = [(name, group["items"].get(name)) for name in _names(group, "layer_names")]
    saved = [(name, inner) for name, inner in saved if inner is not None and _names(inner, "weight_names")]
    layers = [layer for layer in model.layers if _variables_of(layer)]
    pairs = _by_name(layers, saved) if by_name else _by_order(layers, saved)
    changes = []
    for layer, name, inner in pairs:
        changes += _changes(layer.name, _variables_of(layer), _values(inner, name), skip_mismatch)
    own = _own_variables(model)
    if own and "top_level_model_weights" in group["items"]:
        top = group["items"]["top_level_model_weights"]
        changes += _changes(model.name, own, _values(top, "top_level_model_weights"), skip_mismatch)
    for variable, value in changes:
        variable.assign(_ops.cast(_tandem.to_tensor(value), variable.dtype))


def _by_order(layers, saved):
    if len(layers) != len(saved):
        raise ValueError(
            f"Layer count mismatch when loading weights from file. Model expected {len(layers)} layers, found {len(saved)} "
            "saved layers."
        )
    return [(layer, name, inner) for layer, (name, inner) in zip(layers, saved)]


def _by_name(layers, saved):
    return [(layer, name, inner) for name, inner in saved for layer in layers if layer.name == name]


def _changes(layer, variables, values, skip_mismatch):
    if len(variables) != len(values):
        problem = f"Weight count mismatch for layer '{layer}'. Layer expects {len(variables)} weight(s). Received "
        problem += f"{len(values)} saved weight(s)"
    else:
        problem = next(
            (
                f"Shape mismatch in layer '{layer}' for weight {getattr(variable, 'path', variable.name)}. Weight expects shape "
                f"{tuple(variable.shape)}. Received saved weight with shape {tuple(value.shape)}"
                for variable, value in zip(variables, values)
                if tuple(variable.shape) != tuple(value.shape)
            ),
            None,
        )
    if problem is None:
        return list(zip(variables, values))
    if not skip_mismatch:
        raise ValueError(problem)
    warnings.warn(f"Skipping loading of weights: {problem}", stacklevel=5)
    return []


def _names(group, attribute):
    if not state.is_group(group):
        return []
    attrs = group["attrs"]
    if attribute in attrs:
        return _list_of_text(attrs[attribute])
    names, i = [], 0
    while f"{attribute}{i}" in attrs:
        names += _list_of_text(attrs[f"{attribute}{i}"])
        i += 1
    return names


def _list_of_text(value):
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []


def _values(group, where):
    """The arrays that weight_names lists."""
    out = []
    for name in _names(group, "weight_names"):
        inner = group
        for part in name.split("/"):
            inner = inner["items"].get(part) if state.is_group(inner) else None
        if inner is None or state.is_group(inner):
            raise ValueError(f"The file is damaged: '{where}' lists the weight '{name}', which it does not hold")
        out.append(inner)
    return out
