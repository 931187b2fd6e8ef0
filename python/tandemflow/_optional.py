"""tf.experimental.Optional: a value, or none."""


def only_at_run_time():
    """Whether a pass has a next element is known when a function runs, not when it is traced."""
    from . import _tandem

    if not _tandem.executing_eagerly():
        from .errors import OpByOpError

        raise OpByOpError("E0702 get_next_as_optional: whether there is another element is known only when the function runs")


class Optional:
    """What get_next_as_optional gives."""

    def __init__(self, value, spec, there):
        self._value, self._spec, self._there = value, spec, there

    @classmethod
    def from_value(cls, value):
        from . import _tandem, nest

        return cls(nest.map_structure(lambda leaf: leaf if hasattr(leaf, "_dataset_parts") or hasattr(leaf, "element_spec") else _tandem.to_tensor(leaf), value), None, True)

    @classmethod
    def empty(cls, element_spec):
        return cls(None, element_spec, False)

    def has_value(self, name=None):
        from ._ops import constant

        return constant(self._there)

    def get_value(self, name=None):
        if not self._there:
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"the Optional has no value; ask has_value() first. It was to hold {self._spec!r}")
        return self._value

    @property
    def element_spec(self):
        if self._spec is not None:
            return self._spec
        from . import nest
        from ._specs import TensorSpec

        return nest.map_structure(TensorSpec.from_tensor, self._value)
