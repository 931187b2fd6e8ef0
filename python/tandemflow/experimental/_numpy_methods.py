"""What tf.experimental.numpy.experimental_enable_numpy_behavior changes: methods of arrays on tensors, and dtypes that are joined."""
import numbers

from .. import _tandem

_METHODS = "all any argmax argmin clip cumprod cumsum diagonal dot flatten max mean min nonzero prod ravel repeat round sort squeeze std sum swapaxes take trace var".split()


def enable(joined, functions):
    methods = {name: _method(functions[name]) for name in _METHODS}
    methods.update(
        T=property(lambda self: functions["transpose"](self)),
        size=property(lambda self: functions["size"](self)),
        astype=lambda self, dtype: functions["asarray"](self, dtype),
        reshape=lambda self, *sizes, **kwargs: functions["reshape"](self, sizes[0] if len(sizes) == 1 else sizes),
        transpose=lambda self, *axes: functions["transpose"](self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None),
        tolist=lambda self: self.numpy().tolist(),
        item=lambda self: self.numpy().item(),
        copy=lambda self: functions["copy"](self),
    )
    for cls in (_tandem.Tensor, _tandem.Variable):
        _tandem.add_methods(cls, {name: method for name, method in methods.items() if not hasattr(cls, name)})
    _tandem.set_promotion(lambda a, b: _promoted(joined, a, b))


def _method(function):
    def method(self, *args, out=None, **kwargs):  # NumPy's own functions call methods with out=None
        if out is not None:
            raise TypeError("a tensor cannot be written to: out= is not taken")
        return function(self, *args, **kwargs)

    return method


def _promoted(joined, a, b):
    """Both operands in one dtype; None where they need nothing."""
    dtypes = [getattr(x, "dtype", None) for x in (a, b)]
    if dtypes[0] == dtypes[1] or any(getattr(d, "name", "") == "string" for d in dtypes):
        return None
    known = [isinstance(x, (_tandem.Tensor, _tandem.Variable, numbers.Number, list)) or _tandem.is_numpy(x) for x in (a, b)]
    return tuple(joined(a, b)) if all(known) else None
