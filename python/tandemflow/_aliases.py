"""Lets programs that import tensorflow and keras run with this package, unchanged."""
import importlib
import importlib.abc
import importlib.machinery
import sys

FOLLOWED = "2.21.0"  # the version of TensorFlow whose names and behaviour this package has
# The longest prefix decides.
PACKAGES = {
    "tensorflow": "tandemflow",
    "tensorflow.python": "tandemflow.compat.internals",
    "tensorflow.python.keras": "tandemflow.keras",
    "tensorflow.compat.v2": "tandemflow",
    "keras": "tandemflow.keras",
    "tf_keras": "tandemflow.keras",
}


def target(name):
    """The module of this package that stands for one of TensorFlow's or Keras'; None for others."""
    for prefix in sorted(PACKAGES, key=len, reverse=True):
        if name == prefix or name.startswith(prefix + "."):
            return PACKAGES[prefix] + name[len(prefix) :]
    return None


class _Loader(importlib.abc.Loader):
    def create_module(self, spec):
        module = importlib.import_module(target(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the module stays what it is under its own name


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target_module=None):
        if target(name) is None:
            return None
        try:
            importlib.import_module(target(name))
        except ModuleNotFoundError as error:
            if error.name is None or not target(name).startswith(error.name):
                raise
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)


_finder = _Finder()


def install():
    """From now on `import tensorflow` and `import keras` give this package, which then names the version that it follows."""
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        _follow(FOLLOWED, True)


def remove():
    """Undoes install()."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        from . import _tandem

        _follow(_tandem.version, False)


def _follow(version, copies):
    """What programs ask for before they start, `assert tf.__version__ >= "2.8"`, and that they write to arrays of .numpy()."""
    package, versions = importlib.import_module("tandemflow"), importlib.import_module("tandemflow.version")
    package.__version__ = versions.VERSION = version
    package._tandem.numpy_gives_copies(copies)
    for name in [name for name in sys.modules if target(name) is not None]:
        del sys.modules[name]
