"""tf.experimental.numpy: functions with NumPy's names and dtypes, on tensors: lists of numbers are float64 or int64, dtypes are joined."""
import builtins
import numbers

import numpy as _np

from .. import _dtypes, _ops, _tandem
from ..keras import ops as _keras

ndarray = _tandem.Tensor
pi, e, inf, newaxis = _np.pi, _np.e, _np.inf, None
bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64 = _np.bool_, _np.int8, _np.int16, _np.int32, _np.int64, _np.uint8, _np.uint16, _np.uint32, _np.uint64
float16, float32, float64, int_, float_, inexact, object_, string_, unicode_ = _np.float16, _np.float32, _np.float64, _np.int64, _np.float64, _np.inexact, _np.object_, _np.bytes_, _np.str_
finfo, iinfo, isscalar, issubdtype, promote_types = _np.finfo, _np.iinfo, _np.isscalar, _np.issubdtype, _np.promote_types

# --- Arrays and dtypes. ---


def _is_tensor(x):
    return isinstance(x, (_tandem.Tensor, _tandem.Variable))


def _kind(x):
    """What NumPy's rules know of a value: a dtype, or a Python number, which gives way to others."""
    if _is_tensor(x):
        return _np.dtype(x.dtype.as_numpy_dtype)
    return x if isinstance(x, numbers.Number) and not isinstance(x, _np.generic) else _np.asarray(x).dtype


def result_type(*arrays_and_dtypes):
    """The dtype that values of these come to."""
    kinds = [kind if isinstance(kind, (_np.dtype, type, str)) else _kind(kind) for kind in arrays_and_dtypes]
    return _np.result_type(*kinds)


def _tensor(x, dtype=None):
    """x as a tensor; Python's numbers and lists have NumPy's dtypes."""
    if _is_tensor(x):
        tensor = _tandem.to_tensor(x)
    elif isinstance(x, (list, tuple)) and builtins.any(map(_is_tensor, x)):
        tensor = stack([_tensor(item) for item in x])
    else:
        tensor = _tandem.to_tensor(_np.asarray(x))
    return tensor if dtype is None else _ops.cast(tensor, _dtypes.as_dtype(_np.dtype(dtype).name))


def _joined(*values):
    """The values as tensors of one dtype."""
    dtype = result_type(*values)
    return [_tensor(value, dtype) for value in values]


def _floating(x):
    x = _tensor(x)
    return x if x.dtype.is_floating else _ops.cast(x, _dtypes.float64)


def array(val, dtype=None, copy=True, ndmin=0):
    """A tensor of a nested list, a number, an array or a tensor."""
    out = _tensor(val, dtype)
    return _ops.reshape(out, [1] * (ndmin - out.ndim) + out.shape.as_list()) if out.ndim < ndmin else out


def asarray(a, dtype=None):
    return _tensor(a, dtype)


asanyarray = ascontiguousarray = asarray


def copy(a):
    return _ops.identity(_tensor(a))


def _made(function, default):
    def make(shape, dtype=default):
        return function(shape if hasattr(shape, "__len__") or _is_tensor(shape) else [shape], _dtypes.as_dtype(_np.dtype(dtype).name))

    return make


zeros, ones, empty = _made(_ops.zeros, float), _made(_ops.ones, float), _made(_ops.zeros, float)
zeros.__doc__, ones.__doc__, empty.__doc__ = "Zeros.", "Ones.", "A tensor of any values; they are zeros."


def _like(function):
    return lambda a, dtype=None: function(_tensor(a, dtype))


zeros_like, ones_like, empty_like = _like(_ops.zeros_like), _like(_ops.ones_like), _like(_ops.zeros_like)


def full(shape, fill_value, dtype=None):
    value = _tensor(fill_value, dtype)
    return _ops.broadcast_to(value, shape if hasattr(shape, "__len__") else [shape])


def full_like(a, fill_value, dtype=None):
    a = _tensor(a)
    return _ops.broadcast_to(_tensor(fill_value, dtype or a.dtype.as_numpy_dtype), a.shape)


def eye(N, M=None, k=0, dtype=float):  # noqa: N803  NumPy's names
    return _tensor(_np.eye(N, M, k, dtype))


def identity(n, dtype=float):
    return eye(n, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None):
    return _tensor(_np.arange(*map(_number, (start,) if stop is None else (start, stop, step)), dtype=dtype))


def _number(x):
    return x.numpy().item() if _is_tensor(x) else x


def _computed_by_numpy(name):
    def make(*args, **kwargs):
        return _tensor(getattr(_np, name)(*map(_number, args), **kwargs))

    make.__name__ = name
    make.__doc__ = f"numpy.{name}, as a tensor."
    return make


linspace, logspace, geomspace, tri, vander = (_computed_by_numpy(name) for name in ("linspace", "logspace", "geomspace", "tri", "vander"))
diag_indices, ix_ = (lambda *a, **k: tuple(map(_tensor, _np.diag_indices(*a, **k)))), (lambda *a: tuple(map(_tensor, _np.ix_(*map(_np.asarray, a)))))

# --- What keras.ops computes: its functions, given NumPy's dtypes. ---


def _wrapped(name, prepare, of=None):
    function = getattr(_keras, of or name)

    def call(*args, **kwargs):
        return function(*prepare(args, kwargs), **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"numpy.{name}."
    globals()[name] = call


def _first(change):
    return lambda args, kwargs: (change(args[0]), *args[1:])


def _two(args, kwargs):
    return (*_joined(*args[:2]), *args[2:])


def _two_floating(args, kwargs):
    return (*map(_floating, _joined(*args[:2])), *args[2:])


def _list(args, kwargs):
    return (_joined(*args[0]), *args[1:])


for _name in """add subtract multiply maximum minimum power floor_divide mod matmul dot inner outer kron cross tensordot vdot equal not_equal
greater greater_equal less less_equal bitwise_and bitwise_or bitwise_xor gcd lcm""".split():
    _wrapped(_name, _two)
for _name in "divide true_divide arctan2 hypot logaddexp logaddexp2 heaviside isclose allclose".split():
    _wrapped(_name, _two_floating)
for _name in """exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad
rad2deg ceil floor sinc reciprocal mean std var fabs nanmean isfinite isinf isnan isneginf isposinf signbit""".split():
    _wrapped(_name, _first(_floating))
for _name in """abs absolute negative square sign conj conjugate real imag angle any all max min amax amin ptp prod sum cumsum cumprod nansum
nanprod argmax argmin argsort sort count_nonzero reshape ravel transpose squeeze expand_dims split hsplit vsplit dsplit tile repeat roll flip
fliplr flipud rot90 moveaxis swapaxes broadcast_to diag diagonal diagflat trace tril triu pad take take_along_axis nonzero diff bitwise_not clip
round logical_not""".split():
    _wrapped(_name, _first(_tensor))
for _name in "stack concatenate vstack hstack dstack".split():
    _wrapped(_name, _list)
for _name in "logical_and logical_or logical_xor".split():
    _wrapped(_name, lambda args, kwargs: [_ops.cast(_tensor(x), _dtypes.bool) for x in args])
around = round  # noqa: F821  made above
remainder = mod  # noqa: F821
flatten = ravel  # noqa: F821
_sum, _prod = sum, prod  # noqa: F821


def _added(function):
    """Sums of small integers and of bools are int64, as NumPy's are."""

    def call(a, axis=None, dtype=None, keepdims=False):
        a = _tensor(a, dtype)
        wide = a if a.dtype.is_floating or dtype is not None else _ops.cast(a, _dtypes.int64)
        return function(wide, axis=axis, keepdims=bool(keepdims))

    return call


sum, prod = _added(_sum), _added(_prod)


def _counting(function):
    """Places and counts are int64, as NumPy's are."""
    return lambda a, *args, **kwargs: _ops.cast(function(a, *args, **kwargs), _dtypes.int64)


argmax, argmin, argsort, count_nonzero = map(_counting, (argmax, argmin, argsort, count_nonzero))  # noqa: F821


def append(arr, values, axis=None):
    return _keras.append(*_joined(arr, values), axis=axis)


def average(a, axis=None, weights=None, returned=False):
    out = _keras.average(_floating(a), axis, None if weights is None else _floating(weights))
    if not returned:
        return out
    total = _np.prod(_tensor(a).shape.as_list()) / builtins.max(_np.prod(out.shape.as_list()), 1) if weights is None else _keras.sum(_floating(weights), axis)
    return out, _ops.broadcast_to(_tensor(total, out.dtype.as_numpy_dtype), out.shape)


def where(condition, x=None, y=None):
    condition = _ops.cast(_tensor(condition), _dtypes.bool)
    if x is None and y is None:
        return nonzero(condition)  # noqa: F821
    return _ops.where(condition, *_joined(x, y))


def select(condlist, choicelist, default=0):
    out = _tensor(default)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        out = where(condition, choice, out)
    return out


def einsum(subscripts, *operands, **kwargs):
    return _keras.einsum(subscripts, *_joined(*operands))


def meshgrid(*xi, **kwargs):
    return _keras.meshgrid(*map(_tensor, xi), **kwargs)


def broadcast_arrays(*args):
    tensors = [_tensor(a) for a in args]
    shape = _np.broadcast_shapes(*(tuple(t.shape) for t in tensors))
    return [_ops.broadcast_to(t, list(shape)) for t in tensors]


def _at_least(axes):
    def call(*arys):
        out = [_at_least_one(_tensor(a), axes) for a in arys]
        return out[0] if len(out) == 1 else out

    return call


def _at_least_one(a, axes):
    sizes = a.shape.as_list()
    if axes == 3:
        sizes = {0: [1, 1, 1], 1: [1, *sizes, 1], 2: [*sizes, 1]}.get(len(sizes), sizes)
    return _ops.reshape(a, [1] * (axes - len(sizes)) + sizes)


atleast_1d, atleast_2d, atleast_3d = map(_at_least, (1, 2, 3))


def array_equal(a1, a2):
    a, b = _joined(a1, a2)
    return _ops.reduce_all(_ops.equal(a, b)) if a.shape == b.shape else _ops.constant(False)


def compress(condition, a, axis=None):
    places = [i for i, keep in enumerate(_np.asarray(_tensor(condition)).tolist()) if keep]
    a = _tensor(a)
    return _ops.gather(_ops.reshape(a, [-1]) if axis is None else a, places, axis=axis or 0)


def divmod(x1, x2):
    return floor_divide(x1, x2), mod(x1, x2)  # noqa: F821


def fix(x):
    x = _floating(x)
    return _ops.where(x < 0, _ops.ceil(x), _ops.floor(x))


def float_power(x1, x2):
    return _ops.pow(_tensor(x1, float), _tensor(x2, float))


def positive(x):
    return _ops.identity(_tensor(x))


def polyval(p, x):
    p, x = _joined(p, x)
    out = _ops.zeros_like(x)
    for i in range(p.shape[0]):
        out = out * x + p[i]
    return out


def shape(a):
    return tuple(_tensor(a).shape.as_list())


def ndim(a):
    return _tensor(a).ndim


def size(x, axis=None):
    sizes = _tensor(x).shape.as_list()
    return int(_np.prod(sizes)) if axis is None else sizes[axis]


def isreal(x):
    return _ops.ones_like(_tensor(x), _dtypes.bool)


def iscomplex(x):
    return _ops.zeros_like(_tensor(x), _dtypes.bool)


def isrealobj(x):
    return True


def iscomplexobj(x):
    return False


def experimental_enable_numpy_behavior(prefer_float32=False, dtype_conversion_mode="legacy"):
    """From now on operators join dtypes as NumPy does, and tensors have the methods of arrays."""
    from . import _numpy_methods

    _numpy_methods.enable(_joined, globals())


for _name, _value in list(globals().items()):  # what differs from NumPy's function says so itself
    if not _name.startswith("_") and getattr(_value, "__module__", None) == __name__ and not _value.__doc__:
        _value.__doc__ = f"numpy.{_name}, of tensors."


def __getattr__(name):
    if name == "random":
        from . import _numpy_random

        return _numpy_random
    raise AttributeError(f"tf.experimental.numpy has no {name!r}; NumPy itself takes tensors: numpy.{name}(tensor)")
