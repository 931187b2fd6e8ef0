"""Shapes as TensorFlow shows them."""
from ._open_size import OpenSize


class TensorShape:
    """The sizes of a tensor's axes. None is a size, or a whole shape, that is not known."""

    __slots__ = ("_dims",)

    def __init__(self, dims):
        if isinstance(dims, TensorShape):
            dims = dims._dims
        elif isinstance(dims, OpenSize) or (dims is not None and hasattr(dims, "__index__")):
            dims = (dims,)
        self._dims = None if dims is None else tuple(_size(d) for d in dims)

    @property
    def rank(self):
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self):
        return None if self._dims is None else list(self._dims)

    def as_list(self):
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def num_elements(self):
        if not self.is_fully_defined():
            return None
        product = 1
        for size in self._dims:
            product *= size
        return product

    def is_fully_defined(self):
        return self._dims is not None and None not in self._dims

    def is_compatible_with(self, other):
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return True
        sizes = zip(self._dims, other._dims)
        return len(self) == len(other) and all(a == b or a is None or b is None for a, b in sizes)

    def assert_is_compatible_with(self, other):
        """Raises unless a tensor may have both shapes."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {TensorShape(other)} are incompatible")

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other):
        other = TensorShape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def merge_with(self, other):
        """What is known by either; raises where they differ."""
        other = TensorShape(other)
        self.assert_is_compatible_with(other)
        if self.rank is None or other.rank is None:
            return other if self.rank is None else self
        return TensorShape([b if a is None else a for a, b in zip(self.dims, other.dims)])

    def most_specific_compatible_shape(self, other):
        """What is known of both."""
        other = TensorShape(other)
        if self.rank is None or self.rank != other.rank:
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self.dims, other.dims)])

    def with_rank(self, rank):
        """The shape, known to have this many axes."""
        return self.merge_with([None] * rank) if self.rank in (None, rank) else self.assert_has_rank(rank)

    def with_rank_at_least(self, rank):
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def concatenate(self, other):
        other = TensorShape(other)
        if self._dims is None or other._dims is None:
            return TensorShape(None)
        return TensorShape(self._dims + other._dims)

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return TensorShape(other).concatenate(self)

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key):
        if self._dims is None:
            raise ValueError("Cannot index a shape with unknown rank.")
        part = self._dims[key]
        return TensorShape(part) if isinstance(key, slice) else part

    def __eq__(self, other):
        try:
            return self._dims == TensorShape(other)._dims
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return hash(self._dims)

    def __str__(self):
        return "<unknown>" if self._dims is None else str(self._dims)

    def __repr__(self):
        return f"TensorShape({None if self._dims is None else list(self._dims)})"

    def __reduce__(self):
        return TensorShape, (self._dims,)


def _size(value):
    if value is None or isinstance(value, OpenSize):
        return value
    if not hasattr(value, "__index__"):
        raise TypeError(f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}' with type '{type(value)!r}'")
    size = value.__index__()
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


class Reference:
    """A hashable stand-in for a tensor or variable: equal when it is the same object."""

    __slots__ = ("_wrapped",)

    def __init__(self, wrapped):
        self._wrapped = wrapped

    def deref(self):
        return self._wrapped

    def __eq__(self, other):
        return isinstance(other, Reference) and self._wrapped is other._wrapped

    def __hash__(self):
        return id(self._wrapped)

    def __repr__(self):
        return f"<Reference wrapping {self._wrapped!r}>"
