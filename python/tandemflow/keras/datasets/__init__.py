"""keras.datasets: small well-known data sets, read from ~/.keras/datasets and fetched there the first time."""
import importlib

_MODULES = ("boston_housing", "california_housing", "cifar10", "cifar100", "fashion_mnist", "imdb", "mnist", "reuters")
__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module 'keras.datasets' has no attribute '{name}': there are {', '.join(_MODULES)}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__():
    return __all__
