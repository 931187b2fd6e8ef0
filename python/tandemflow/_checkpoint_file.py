"""What a checkpoint's files hold: the graph of its objects, and their values.

TensorFlow's files (a tensor bundle) are read and written; one file with a line of JSON, which earlier versions wrote, is read.
"""
import hashlib
import json

from . import _dtypes, _object_graph, _tandem, _tensor_bundle
from ._object_graph import VARIABLE, Node
from .errors import DataLossError, NotFoundError

_OLD_MAGIC = b"tandemflow checkpoint 1\n"
_OLD_NAMES = {"_state_var": "state"}
_OF_VARIABLE = f"/.ATTRIBUTES/{VARIABLE}"
SUFFIX = _tensor_bundle.INDEX


def save(path, root):
    """Writes what an object leads to."""
    graph, tensors = _object_graph.stored(root)
    _tensor_bundle.write(path, {**tensors, _object_graph.KEY: _tandem.to_tensor(graph)})


class Saved:
    """A file's objects (`nodes`, the first is the root; None if it has no graph) and its values by key."""

    parts = staticmethod(_object_graph.parts)

    def __init__(self, path, bundle):
        self.path, self._bundle = path, bundle

    @property
    def nodes(self):
        if _object_graph.KEY not in self._bundle.entries:
            return [Node({}, {})]  # names without objects: nothing can be matched
        try:
            return _object_graph.nodes_of(self.tensor(_object_graph.KEY).numpy())
        except ValueError as error:
            raise DataLossError(f"{self.path}{SUFFIX}: the graph of its objects is damaged: {error}") from None

    def keys(self):
        return sorted(self._bundle.entries)

    def shape(self, key):
        return self._bundle.shape(key)

    def dtype(self, key):
        return self._bundle.dtype(key)

    def tensor(self, key):
        return self._bundle.tensor(key)

    def waits_for(self, value, node):
        """Whether the names of an object's parts may still change."""
        return False


def load(path):
    """What a checkpoint holds; DataLossError when it is damaged."""
    try:
        with open(path + SUFFIX, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {path}") from None
    return _OldSaved(path, data) if data.startswith(_OLD_MAGIC) else Saved(path, _tensor_bundle.Bundle(path, data))


# --- The old format ---


class _OldSaved(Saved):
    """Variables of Keras' objects have their number as name."""

    def __init__(self, path, data):
        super().__init__(path, None)
        digest, _, rest = data[len(_OLD_MAGIC) :].partition(b"\n")
        if hashlib.sha256(rest).hexdigest().encode() != digest:
            raise DataLossError(f"{path}{SUFFIX} is damaged: its checksum does not fit its content; take an older checkpoint")
        header, _, blobs = rest.partition(b"\n")
        self._tensors = {
            entry["name"] + _OF_VARIABLE: _old_tensor(entry, blobs[entry["offset"] : entry["offset"] + entry["bytes"]]) for entry in json.loads(header)
        }

    @property
    def nodes(self):
        nodes = [Node({}, {})]
        for key in self._tensors:
            at = nodes[0]
            for name in key.removesuffix(_OF_VARIABLE).split("/"):
                if name not in at.children:
                    at.children[name] = len(nodes)
                    nodes.append(Node({}, {}))
                at = nodes[at.children[name]]
            at.attributes[VARIABLE] = key
        return nodes

    def keys(self):
        return sorted(self._tensors)

    def shape(self, key):
        return self._tensors[key].shape.as_list()

    def dtype(self, key):
        return self._tensors[key].dtype

    def tensor(self, key):
        return self._tensors[key]

    @staticmethod
    def parts(value):
        if _is_ordered(value):
            return _object_graph.numbered(value)
        root = getattr(value, "_root", None)
        return [(_OLD_NAMES.get(name, name), part) for name, part in _object_graph.parts(value)] + ([("root", root)] if root is not None else [])

    def waits_for(self, value, node):
        return _is_ordered(value) and not hasattr(value, "iterations") and len(node.children) > len(_object_graph.numbered(value))


def _is_ordered(value):
    kinds = (list, tuple, dict, _object_graph.Module)
    return not isinstance(value, kinds) and not _object_graph.holds_values(value) and hasattr(value, "variables")


def _old_tensor(entry, blob):
    import numpy

    from . import _ops

    dtype = entry["dtype"]
    if dtype == "string":
        flat = _tandem.to_tensor([bytes.fromhex(item) for item in json.loads(blob)], _dtypes.string)
        return _ops.reshape(flat, entry["shape"])
    plain = "float32" if dtype == "bfloat16" else dtype
    array = numpy.frombuffer(blob, numpy.dtype(plain)).reshape(entry["shape"])
    tensor = _tandem.to_tensor(array.copy())
    return _ops.cast(tensor, dtype) if dtype == "bfloat16" else tensor
