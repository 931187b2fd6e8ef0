"""keras.Variable: a tf.Variable, made of a value or of an initializer and a shape."""
from ... import _tandem
from ..._dtypes import as_dtype
from .lifted import lifted
from .naming import unique_name


class _IsAnyVariable(type):
    def __instancecheck__(cls, value):
        return isinstance(value, _tandem.Variable)


class Variable(metaclass=_IsAnyVariable):
    """Variable(value), or Variable(initializer, shape): the initializer is a name, an object or a function of (shape, dtype)."""

    def __new__(cls, initializer, shape=None, dtype=None, trainable=True, autocast=True, aggregation="none", synchronization="auto",
                name=None, **kwargs):  # fmt: skip
        from .. import backend, initializers

        if isinstance(initializer, str):
            initializer = initializers.get(initializer)
        with lifted():
            if not callable(initializer):
                value = _tandem.to_tensor(initializer, None if dtype is None else as_dtype(dtype))
            elif shape is None:
                raise ValueError(
                    "When creating a Variable from an initializer, the `shape` argument should be specified. "
                    f"Received: initializer={initializer} and shape={shape}"
                )
            else:
                sizes = (shape,) if isinstance(shape, int) else tuple(shape)
                value = _tandem.to_tensor(initializer(sizes, dtype=as_dtype(dtype or backend.floatx()).name))
            name = name or unique_name("variable")
            variable = _tandem.Variable(value, trainable=bool(trainable), name=name)
        variable.path = name
        variable.autocast = bool(autocast)
        return variable
