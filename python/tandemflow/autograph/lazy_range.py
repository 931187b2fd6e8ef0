"""The numbers of a range whose ends may be tensors without values: only a loop can run over them."""
from .. import _dtypes, _ops, _tandem
from .._loops import is_symbolic


class LazyRange:
    """start, start + delta, … below limit."""

    def __init__(self, start, limit, delta, dtype):
        self.dtype = dtype
        self.start, self.limit, self.delta = start, limit, delta

    @classmethod
    def from_arguments(cls, start, limit=None, delta=1, dtype=None, name=None):
        """As tf.range takes them."""
        if limit is None:
            start, limit = 0, start
        if dtype is None:
            order = [_dtypes.int32, _dtypes.int64, _dtypes.float32, _dtypes.float64]
            dtypes = [_tandem.to_tensor(value).dtype for value in (start, limit, delta)]
            dtype = max(dtypes, key=lambda d: order.index(d) if d in order else -1)
        return cls(start, limit, delta, _dtypes.as_dtype(dtype))

    def count(self):
        """How many numbers there are; None when it is not known yet."""
        ends = (self.start, self.limit, self.delta)
        if any(map(is_symbolic, ends)):
            return None
        start, limit, delta = (value.numpy() if hasattr(value, "numpy") else value for value in ends)
        if delta == 0:
            raise ValueError("tf.range: delta must not be 0")
        return max(0, -int((start - limit) // delta))

    def first(self):
        return self._tensor(self.start)

    def after(self, number):
        return number + self._tensor(self.delta)

    def contains(self, number):
        """Whether the loop goes on with this number."""
        limit = self._tensor(self.limit)
        if not is_symbolic(self.delta):
            return _ops.less(number, limit) if float(self.delta) > 0 else _ops.greater(number, limit)
        up = _ops.greater(self._tensor(self.delta), 0)
        return _ops.logical_or(
            _ops.logical_and(up, _ops.less(number, limit)), _ops.logical_and(_ops.logical_not(up), _ops.greater(number, limit))
        )  # fmt: skip

    def _tensor(self, value):
        tensor = _tandem.to_tensor(value) if hasattr(value, "dtype") else _tandem.to_tensor(value, self.dtype)
        return tensor if tensor.dtype == self.dtype else _ops.cast(tensor, self.dtype)

    def __iter__(self):
        count = self.count()
        if count is None:
            raise TypeError("a range of tensors without values can only be looped over in a function converted by tf.function")
        return iter(_ops.range(self.start, self.limit, self.delta, self.dtype))
