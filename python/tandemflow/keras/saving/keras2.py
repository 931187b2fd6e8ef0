"""Configurations of Keras 2 as Keras 3 has them."""

# Arguments of layers that are no more.
_GONE = {
    "LSTM": ("implementation", "time_major"),
    "GRU": ("implementation", "time_major"),
    "SimpleRNN": ("implementation", "time_major"),
    "RNN": ("implementation", "time_major"),
    "LSTMCell": ("implementation",),
    "GRUCell": ("implementation",),
    "Embedding": ("input_length",),
    "BatchNormalization": ("virtual_batch_size", "fused"),
    "InputLayer": ("ragged", "sparse"),
    "MultiHeadAttention": ("query_shape", "key_shape", "value_shape"),
}


def is_keras2(version):
    return str(version or "").split(".")[0] in ("1", "2")


def translated(config):
    """The configuration with Keras 3's names and arguments, objects inside included."""
    if isinstance(config, list):
        return [translated(item) for item in config]
    if not isinstance(config, dict):
        return config
    config = {key: translated(value) for key, value in config.items()}
    if isinstance(config.get("class_name"), str) and isinstance(config.get("config"), dict):
        return _object(config)
    return config


def _object(config):
    name, inner = config["class_name"], dict(config["config"])
    if name.startswith("Custom>"):  # Keras 2.11 to 2.15 wrote its own optimizers so
        name = name.removeprefix("Custom>")
        config = {**config, "registered_name": None}
    for key in _GONE.get(name, ()):
        inner.pop(key, None)
    if name in ("BatchNormalization", "LayerNormalization") and isinstance(inner.get("axis"), list) and len(inner["axis"]) == 1:
        inner["axis"] = inner["axis"][0]
    if "reduction" in inner:  # a loss
        inner.pop("fn", None)
        if inner["reduction"] == "auto":
            inner["reduction"] = "sum_over_batch_size"
    if name == "MeanMetricWrapper":
        return inner.get("fn") or inner.get("name")
    return {**config, "class_name": name, "config": inner}


def optimizer_values(values, optimizer):
    """The optimizer's variables: Keras 2 left out the learning rate, which is the second here."""
    if len(values) == len(optimizer.variables) - 1 and len(optimizer.variables) > 1:
        return [values[0], optimizer.variables[1].numpy(), *values[1:]]
    return values
