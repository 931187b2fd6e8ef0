"""Ragged and sparse tensors as elements of datasets: taken apart into tensors on the way in, put together on the way out."""
from . import _tandem
from ._specs import TensorSpec

_VALUES, _SPLITS = "~ragged/values", "~ragged/splits"  # the names of tandem/data/composite.h
_SPARSE = ("~sparse/indices", "~sparse/values", "~sparse/dense_shape")


class RaggedRow:
    """A row of a ragged tensor: a tensor, which batch() joins with rows of other lengths."""

    def __init__(self, values):
        self._values = values

    def _dataset_parts(self):
        return ragged_parts(self._values, ())


def ragged_parts(values, splits):
    return {_VALUES: values, **{f"{_SPLITS}{level}": part for level, part in enumerate(splits)}}


def sparse_parts(*parts):
    return dict(zip(_SPARSE, parts))


def of_parts(parts):
    """The tensor whose parts these are; of specs its spec."""
    first, *rest = parts.values()
    of_specs = isinstance(first, TensorSpec)
    if _VALUES in parts:
        return _ragged_spec(first, rest) if of_specs else _ragged(first, rest)
    from ._sparse import SparseTensor, SparseTensorSpec

    if of_specs:
        axes = rest[1].shape[0] if rest[1].shape.rank == 1 else None
        return SparseTensorSpec(None if axes is None else [None] * axes, rest[0].dtype)
    return SparseTensor(first, *rest)


def _ragged(values, splits):
    from ._ragged import RaggedTensor

    for part in reversed(splits):
        values = RaggedTensor(values, part)
    return values


def _ragged_spec(values, splits):
    from ._ragged_spec import RaggedTensorSpec

    if not splits:
        return RaggedTensorSpec(values.shape, values.dtype, 0)
    rows = splits[0].shape[0]
    inner = values.shape.dims
    shape = None if inner is None else [None if rows is None else rows - 1, *[None] * len(splits), *inner[1:]]
    return RaggedTensorSpec(shape, values.dtype, len(splits), splits[0].dtype)


def of_alternative(value, part, count):
    """What a generator yielded where a ragged or sparse tensor was announced, as that tensor."""
    if part == _VALUES and count == 1 and not hasattr(value, "_dataset_parts"):
        return RaggedRow(value)
    wanted = "RaggedTensor" if part == _VALUES else "SparseTensor"
    levels = getattr(value, "ragged_rank", None)
    if type(value).__name__ != wanted or (wanted == "RaggedTensor" and levels != count - 1):
        what = f"a tf.RaggedTensor of ragged_rank {count - 1}" if wanted == "RaggedTensor" else "a tf.SparseTensor"
        got = f"one of ragged_rank {levels}" if levels is not None else f"{type(value).__name__} {value!r}"
        raise TypeError(f"the element's signature announces {what}, got {got}; make it with tf.ragged.constant or tf.sparse.from_dense")
    return value


def row(tensor, spec):
    """A tensor of unknown sizes as what batch() makes rows of: ragged in each of its axes up to the last unknown one."""
    levels = max(axis for axis, size in enumerate(spec.shape.as_list()) if size is None)
    if not levels:
        return RaggedRow(tensor)
    from ._ragged import RaggedTensor

    return RaggedTensor.from_tensor(tensor, ragged_rank=levels)


def type_spec_from_value(value):
    """What is known of a value without it: the spec of a tensor, ragged, sparse, dataset or ExtensionType."""
    from ._dataset import Dataset
    from ._extension_type import ExtensionType
    from ._ragged import RaggedTensor
    from ._ragged_spec import RaggedTensorSpec
    from ._sparse import SparseTensor, SparseTensorSpec
    from ._specs import DatasetSpec

    if isinstance(value, ExtensionType):
        return type(value).Spec.from_value(value)
    if isinstance(value, Dataset):
        return DatasetSpec(value.element_spec)
    for kind, spec in ((RaggedTensor, RaggedTensorSpec), (SparseTensor, SparseTensorSpec)):
        if isinstance(value, kind):
            return spec.from_value(value)
    return TensorSpec.from_tensor(value if hasattr(value, "dtype") and hasattr(value, "shape") else _tandem.to_tensor(value))
