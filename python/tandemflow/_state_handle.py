"""What a checkpoint keeps of an object that has no variables: a number or a few, read and put back by functions."""
from . import _dtypes, _tandem


class StateHandle:
    """Looks like a variable of int64 to a checkpoint."""

    def __init__(self, read, write):
        self._read, self._write = read, write

    @property
    def value(self):
        return _tandem.to_tensor(self._read(), _dtypes.int64)

    @property
    def shape(self):
        return self.value.shape

    def assign(self, value):
        self._write(value)
