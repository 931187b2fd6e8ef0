"""Which shapes come out of a computation when some sizes are open: it is traced twice, with different sizes."""
from ... import _tandem
from ...errors import InvalidArgumentError
from . import call_context
from .keras_tensor import KerasTensor, fill, keras_tensors, map_leaves

# Large and prime, so that no size of a model is taken for one that depends on an open size; far apart, so that what a stride
# leaves of them differs.
_PROBES = (1009, 2027)


def infer_outputs(function, args, kwargs):
    """KerasTensors for what function(*args, **kwargs) returns; args hold KerasTensors."""
    tensors = keras_tensors(args) + keras_tensors(kwargs)
    is_open = any(size is None for tensor in tensors for size in tensor.shape)
    first = _probe(function, args, kwargs, tensors, _PROBES[0])
    second = iter(_leaves(_probe(function, args, kwargs, tensors, _PROBES[1]))) if is_open else None

    def merge(leaf):
        if leaf is None:
            return None if second is None else next(second)
        shape = leaf[0]
        if second is not None:
            other = next(second)[0]
            if len(other) != len(shape):
                raise ValueError(f"the number of axes depends on the batch size: {shape} against {other}")
            shape = [a if a == b else None for a, b in zip(shape, other)]
        return KerasTensor(shape, leaf[1])

    return map_leaves(lambda leaf: merge(leaf.pair if leaf is not None else None), first)


class _Spec:
    """A leaf: (shape, dtype) that structures do not take apart."""

    def __init__(self, tensor):
        self.pair = (tensor.shape.as_list(), tensor.dtype)


def _leaves(structure):
    from ..._gradient import flatten

    return [None if leaf is None else leaf.pair for leaf in flatten(structure)]


def _probe(function, args, kwargs, tensors, size):
    with call_context.probing(size), _tandem.ShapeTrace() as trace:
        values = {id(t): trace.parameter([size if s is None else s for s in t.shape], t.dtype) for t in tensors}
        for tensor in tensors:
            mask = getattr(tensor, "_keras_mask", None)
            if mask is not None:
                shape = [size if s is None else s for s in mask.shape]
                values[id(tensor)]._keras_mask = trace.parameter(shape, mask.dtype)
        try:
            outputs = function(*fill(args, values), **fill(kwargs, values))
        except InvalidArgumentError as error:  # Keras finds it while the model is drawn, and no size is known yet
            raise ValueError(str(error).replace(str(size), "None")) from error
        return map_leaves(lambda leaf: None if leaf is None else _Spec(_tandem.to_tensor(leaf)), outputs)
