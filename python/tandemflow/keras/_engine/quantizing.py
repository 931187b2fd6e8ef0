"""model.quantize: the layers of a model in fewer bits."""
import re
import warnings


def _is_wanted(layer, filters):
    if filters is None:
        return True
    if callable(filters):
        return bool(filters(layer))
    patterns = [filters] if isinstance(filters, str) else filters
    return any(re.search(pattern, layer.name) for pattern in patterns)


def quantize(model, mode, config, filters, type_check):
    """Quantizes each layer that can be; the others stay, and their names are told."""
    if filters is not None and not (callable(filters) or isinstance(filters, (str, list, tuple))):
        raise ValueError(f"The `filters` argument must be a regex string, a list of regex strings, or a callable. Received: {type(filters)}")
    mode = getattr(config, "mode", None) if mode is None else mode
    changed = False
    for layer in model._flatten_layers(include_self=False):
        if layer._own_layers() or not _is_wanted(layer, filters):
            continue
        try:
            layer.quantize(mode, type_check=type_check, config=config)
            changed = True
        except NotImplementedError as error:
            if hasattr(layer, "enable_lora") and mode != "int8":
                raise
            warnings.warn(str(error), stacklevel=4)
    if changed:
        model._forget_functions()
