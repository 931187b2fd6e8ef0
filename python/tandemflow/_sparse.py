"""tf.SparseTensor: the places and values of a tensor that is zero elsewhere; to_dense makes one that ops take."""
from . import _composites, _dtypes, _ops, _tandem
from ._shape import TensorShape
from ._specs import TensorSpec, TypeSpec
from .errors import InvalidArgumentError


class SparseTensor:
    """values[i] stands at indices[i]; all else is zero."""

    _runs_op_by_op = True  # a tf.function with it is not traced

    def __init__(self, indices, values, dense_shape):
        self._indices = _tandem.to_tensor(indices, _dtypes.int64)
        self._values = _tandem.to_tensor(values)
        self._sizes = _tandem.as_ints(dense_shape)
        if self._indices.ndim != 2 or self._indices.shape.as_list() != [self._values.shape[0], len(self._sizes)]:
            raise ValueError(
                f"SparseTensor: {self._values.shape[0]} values of shape {self._sizes} need indices of shape "
                f"[{self._values.shape[0]}, {len(self._sizes)}], got {self._indices.shape}"
            )

    @classmethod
    def from_value(cls, value):
        return cls(value.indices, value.values, value.dense_shape)

    @property
    def indices(self):
        return self._indices

    @property
    def values(self):
        return self._values

    @property
    def dense_shape(self):
        return _tandem.to_tensor(self._sizes, _dtypes.int64)

    @property
    def shape(self):
        return TensorShape(self._sizes)

    @property
    def dtype(self):
        return self._values.dtype

    def get_shape(self):
        return self.shape

    def with_values(self, new_values):
        return SparseTensor(self._indices, new_values, self._sizes)

    def __tandem_op__(self, name, args, kwargs):
        """Ops that leave zero as it is work on the values."""
        if name not in ("abs", "cast", "erf", "negative", "sign", "sqrt", "square", "tanh"):
            return NotImplemented
        return self.with_values(_ops.records[name](self._values, *args[1:], **kwargs))

    def _dataset_parts(self):
        return _composites.sparse_parts(self._indices, self._values, self.dense_shape)

    def __mul__(self, other):
        from ._sparse_ops import scaled

        return scaled(self, other, "multiply")

    __rmul__ = __mul__

    def __truediv__(self, other):
        from ._sparse_ops import scaled

        return scaled(self, other, "divide")

    def __repr__(self):
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self.dense_shape!s})"


class SparseTensorSpec(TypeSpec):
    """What is known of a sparse tensor: SparseTensorSpec([None, 3], tf.float32)."""

    value_type = SparseTensor

    def __init__(self, shape=None, dtype=_dtypes.float32):
        self.shape, self.dtype = TensorShape(shape), _dtypes.as_dtype(dtype)

    @classmethod
    def from_value(cls, value):
        return cls(value.shape, value.dtype)

    @property
    def rank(self):
        return self.shape.rank

    def _dataset_parts(self):
        axes = self.shape.rank
        return _composites.sparse_parts(TensorSpec([None, axes], _dtypes.int64), TensorSpec([None], self.dtype), TensorSpec([axes], _dtypes.int64))

    def __eq__(self, other):
        return isinstance(other, SparseTensorSpec) and (self.shape.dims, self.dtype) == (other.shape.dims, other.dtype)

    def __hash__(self):
        return hash((SparseTensorSpec, self.dtype))

    def __repr__(self):
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


def row_of_size(tensor, sizes):
    """A whole tensor as a sparse one of a larger shape."""
    import numpy

    tensor = _tandem.to_tensor(tensor)
    shape = tensor.shape.as_list()
    if len(shape) != len(sizes) or any(0 <= size < own for own, size in zip(shape, sizes)):
        raise ValueError(f"sparse_batch: an element of shape {shape} does not fit into row_shape {sizes}")
    places = numpy.indices(shape).reshape(len(shape), -1).T
    return SparseTensor(places, _ops.reshape(tensor, [-1]), [own if size < 0 else size for own, size in zip(shape, sizes)])


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The whole tensor; `default_value` where nothing stands."""
    if not isinstance(sp_input, SparseTensor):
        raise TypeError(f"Input must be a SparseTensor, got {type(sp_input).__name__}; tf.sparse.from_dense makes one of a tensor")
    sizes = sp_input.shape.as_list()
    if validate_indices:
        _require_order(sp_input)
    if sp_input.dtype == _dtypes.string:
        return _dense_strings(sp_input, sizes, b"" if default_value is None else default_value)
    if default_value is None or sp_input.values.dtype.is_bool:
        base = _tandem.fill(sizes, 0, sp_input.dtype)
    else:
        base = _ops.broadcast_to(_tandem.to_tensor(default_value, sp_input.dtype), sizes)
    return _ops.tensor_scatter_nd_update(base, sp_input.indices, sp_input.values)


def _summed(sparse):
    """The whole tensor, values at the same place added: their order does not matter."""
    return _ops.tensor_scatter_nd_add(_tandem.fill(sparse.shape.as_list(), 0, sparse.dtype), sparse.indices, sparse.values)


def _require_order(sparse):
    """Refuses places outside, repeated, or not one after the other."""
    import numpy

    places, sizes = sparse.indices.numpy(), numpy.array(sparse.shape.as_list(), "int64")
    outside = numpy.flatnonzero(((places < 0) | (places >= sizes)).any(axis=1))
    steps = numpy.diff(places, axis=0)
    first = steps[numpy.arange(len(steps)), (steps != 0).argmax(axis=1)] if steps.size else numpy.zeros(0)
    behind = numpy.flatnonzero(first <= 0) + 1
    for wrong, text in ((outside, f"is out of bounds: need 0 <= index < {sizes.tolist()}"), (behind, "is out of order. Many sparse ops require sorted indices.\n  Use `tf.sparse.reorder` to create a correctly ordered copy.")):
        if len(wrong):
            at = wrong[0]
            repeated = wrong is behind and not first[at - 1]
            raise InvalidArgumentError(f"indices[{at}] = {places[at].tolist()} {'is repeated' if repeated else text}")


def _dense_strings(sparse, sizes, default):
    import numpy

    array = numpy.full(sizes, default, object)
    for place, value in zip(sparse.indices.numpy().tolist(), sparse.values.numpy().tolist()):
        array[tuple(place)] = value
    return _tandem.to_tensor(array.tolist(), _dtypes.string)


def from_dense(tensor, name=None):
    """The places that are not zero."""
    tensor = _tandem.to_tensor(tensor)
    places = _tandem.where_positions(_ops.not_equal(tensor, _tandem.fill([], 0, tensor.dtype)))
    return SparseTensor(places, _ops.gather_nd(tensor, places), tensor.shape)


def reorder(sp_input, name=None):
    """The values in the order of their places."""
    import numpy

    order = numpy.lexsort(sp_input.indices.numpy().T[::-1])
    return SparseTensor(_ops.gather(sp_input.indices, order), _ops.gather(sp_input.values, order), sp_input.shape)


def concat(axis, sp_inputs, expand_nonconcat_dims=False, name=None):
    """Sparse tensors joined along an axis."""
    import numpy

    axis = int(axis) % len(sp_inputs[0].shape)
    offset, indices = 0, []
    for part in sp_inputs:
        moved = part.indices.numpy().copy()
        moved[:, axis] += offset
        indices.append(moved)
        offset += part.shape[axis]
    sizes = sp_inputs[0].shape.as_list()
    sizes[axis] = offset
    joined = SparseTensor(numpy.concatenate(indices), _ops.concat([part.values for part in sp_inputs], 0), sizes)
    return reorder(joined)


def sparse_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
    """The product with a matrix; computed densely."""
    return _ops.matmul(_summed(sp_a), b, adjoint_a, adjoint_b)


def reduce_sum(sp_input, axis=None, keepdims=None, output_is_sparse=False, name=None):
    """The sum over axes, dense."""
    return _ops.reduce_sum(_summed(sp_input), axis, bool(keepdims))
