"""tf.keras: models, layers and training with the interface of Keras 3. Parts are loaded when they are used."""
import importlib

_MODULES = {
    "activations", "applications", "backend", "callbacks", "config", "constraints", "datasets", "distillation", "distribution",
    "dtype_policies", "export", "initializers", "layers", "losses", "metrics", "mixed_precision", "models", "ops", "optimizers", "preprocessing", "quantizers",
    "random", "regularizers", "saving", "tree", "utils",
}  # fmt: skip
_NAMES = {
    "Model": "models", "Sequential": "models", "Functional": "models", "Function": "_engine.graph_function", "Input": "_engine.input_layer",
    "InputSpec": "_engine.input_spec", "KerasTensor": "_engine.keras_tensor", "Layer": "_engine.layer",
    "Operation": "_engine.operation", "DTypePolicy": "dtype_policies", "FloatDTypePolicy": "dtype_policies",
    "Quantizer": "quantizers", "Initializer": "initializers", "Loss": "losses", "Metric": "metrics", "Optimizer": "optimizers", "Regularizer": "regularizers", "SeedGenerator": "random",
    "Variable": "_engine.variable", "device": "..", "name_scope": "..", "remat": "_engine.remat",
}  # fmt: skip
__version__ = "3.15.1"  # whose interface this is


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        source = _NAMES[name]
        module = importlib.import_module("tandemflow" if source == ".." else f"{__name__}.{source}")
        value = globals()[name] = getattr(module, name)
        return value
    from ._engine.registry import nearest

    raise AttributeError(f"tandemflow.keras has no '{name}'.{nearest(name, [*_MODULES, *_NAMES])}")


def __dir__():
    return sorted([*_MODULES, *_NAMES, "__version__", "version"])


def version():
    """The version of Keras whose interface this is."""
    return __version__
