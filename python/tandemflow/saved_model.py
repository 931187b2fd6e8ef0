"""tf.saved_model: objects with traced functions and variables, in a directory; nothing of Python is needed to run them."""
import os

from . import _tandem
from ._saved_objects import collect, restore

_FILE = "saved_model.tandem"
_TENSORFLOWS = "saved_model.pb"

SERVING = "serve"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"


class SaveOptions:
    """TensorFlow's; nothing of it is needed here."""

    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)


class LoadOptions(SaveOptions):
    """TensorFlow's; nothing of it is needed here."""


def save(obj, export_dir, signatures=None, options=None):
    """Writes a tf.Module, a Keras model or a tf.function into a directory: its traced functions and its variables.

    A tf.function with an input_signature is kept for all sizes that it leaves open, others for the shapes they were called
    with. `signatures`: a function, or functions by name, that `load(...).signatures` gives.
    """
    found, notes, root, signatures = collect(obj, signatures)
    directory = os.fspath(export_dir)
    os.makedirs(directory, exist_ok=True)
    _tandem.save_functions(os.path.join(directory, _FILE), found.functions, found.variables, notes)
    _save_tensorflows(directory, found, root, signatures)


def _save_tensorflows(directory, found, root, signatures):
    """The same for TensorFlow; what it has no op for is only in our file."""
    from ._graph_def import saving
    from ._logging import get_logger

    path = os.path.join(directory, _TENSORFLOWS)
    try:
        saving.save(directory, found.nodes, found.values, root, signatures)
    except NotImplementedError as refusal:
        if os.path.exists(path):
            os.remove(path)  # of what was saved here before
        get_logger().warning("%s was saved for TandemFlow only; TensorFlow could not load it: %s", directory, refusal)


def load(export_dir, tags=None, options=None):
    """What `save` wrote, or TensorFlow: an object with the same attributes; its functions run as they were traced, its variables are new."""
    directory = os.fspath(export_dir)
    path = os.path.join(directory, _FILE) if os.path.isdir(directory) else directory
    if os.path.exists(path):
        return restore(_tandem.load_functions(path))
    if os.path.exists(os.path.join(directory, _TENSORFLOWS)):
        from ._graph_def.objects import load as load_tensorflows

        return load_tensorflows(directory, tags)
    raise OSError(f"SavedModel file does not exist at: {directory}/{{{_TENSORFLOWS}|{_FILE}}}")


def contains_saved_model(export_dir):
    """Whether `load` would find something there."""
    return any(os.path.isfile(os.path.join(os.fspath(export_dir), name)) for name in (_FILE, _TENSORFLOWS))
