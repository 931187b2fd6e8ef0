"""Which family a class of a file belongs to, by the module the file names."""
import importlib

_MODULES = {
    "keras.layers": "layers",
    "keras.src.layers": "layers",
    "keras.optimizers.schedules": "optimizers.schedules",
    "keras.src.optimizers.schedules": "optimizers.schedules",
    "keras.optimizers": "optimizers",
    "keras.src.optimizers": "optimizers",
    "keras.losses": "losses",
    "keras.src.losses": "losses",
    "keras.metrics": "metrics",
    "keras.src.metrics": "metrics",
    "keras.initializers": "initializers",
    "keras.src.initializers": "initializers",
    "keras.regularizers": "regularizers",
    "keras.src.regularizers": "regularizers",
    "keras.constraints": "constraints",
    "keras.src.constraints": "constraints",
    "keras.dtype_policies": "dtype_policies",
    "keras.src.dtype_policies": "dtype_policies",
    "keras.random": "random",
    "keras.src.random": "random",
    "keras.models": "models",
    "keras.src.models": "models",
    "keras.activations": "activations",
    "keras.src.activations": "activations",
    "keras.quantizers": "quantizers",
    "keras.src.quantizers": "quantizers",
    "keras.utils": "utils.feature_space",
    "keras.src.layers.preprocessing.feature_space": "utils.feature_space",
}
# Where a file names no module (Keras 2) or only "keras": asked in this order.
_ANYWHERE = ("layers", "models", "dtype_policies", "initializers", "optimizers", "losses", "metrics", "regularizers",
             "constraints", "optimizers.schedules")  # fmt: skip


def _load(name):
    return importlib.import_module(f"tandemflow.keras.{name}").family


def family_of(module, class_name):
    """The family, or None where the module is not Keras'."""
    known = [prefix for prefix in _MODULES if module == prefix or module.startswith(prefix + ".")]
    if known:
        family = _load(_MODULES[max(known, key=len)])
        if class_name in family.names:
            return family
    if module and not module.startswith(("keras", "tensorflow", "tf_keras", "tandemflow")):
        return None
    for name in _ANYWHERE:
        family = _load(name)
        if class_name in family.names:
            return family
    return None
