"""Sizes that are left open while a function is traced, as the package meets them; programs see None instead."""
from . import _tandem


def _refusal(what):
    def method(self, *args):
        _tandem.refuse_open_size(what)

    return method


def _can_be_size(value):
    return isinstance(value, (int, OpenSize)) and not isinstance(value, bool)


def _reckoned(op, swapped=False):
    def method(self, other):
        if not _can_be_size(other):
            return NotImplemented
        return _tandem.reckon_size(op, other, self) if swapped else _tandem.reckon_size(op, self, other)

    return method


class OpenSize:
    """A sum of multiples of open sizes. It can be added to, multiplied, divided by a number, compared and given as a size; comparing it
    makes the trace one for the sizes that compare in the same way, and all else makes the function be traced for each size."""

    __slots__ = ("_number",)

    __add__, __radd__ = _reckoned("+"), _reckoned("+", swapped=True)
    __sub__, __rsub__ = _reckoned("-"), _reckoned("-", swapped=True)
    __mul__, __rmul__ = _reckoned("*"), _reckoned("*", swapped=True)
    __floordiv__, __mod__ = _reckoned("/"), _reckoned("%")

    def __neg__(self):
        return 0 - self

    def __pos__(self):
        return self

    def __eq__(self, other):
        if not _can_be_size(other):
            return other is self if other is None else NotImplemented
        return _tandem.is_same_size(self, other)

    def __ne__(self, other):
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __lt__(self, other):
        return _tandem.is_smaller_size(self, other) if _can_be_size(other) else NotImplemented

    def __gt__(self, other):
        return _tandem.is_smaller_size(other, self) if _can_be_size(other) else NotImplemented

    def __ge__(self, other):
        smaller = self.__lt__(other)
        return smaller if smaller is NotImplemented else not smaller

    def __le__(self, other):
        larger = self.__gt__(other)
        return larger if larger is NotImplemented else not larger

    def __bool__(self):
        return not _tandem.is_same_size(self, 0)

    def __hash__(self):
        return hash(self._number)

    def __repr__(self):
        return "None"

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        _tandem.refuse_open_size("a copy")

    def __divmod__(self, other):
        return self // other, self % other

    __rfloordiv__ = __truediv__ = __rtruediv__ = _refusal("a part")
    __rmod__ = __rdivmod__ = _refusal("a remainder")
    __pow__ = __rpow__ = _refusal("a power")
    __int__ = __index__ = __float__ = __complex__ = __round__ = __trunc__ = _refusal("the value")


_tandem.register_open_size(OpenSize)
