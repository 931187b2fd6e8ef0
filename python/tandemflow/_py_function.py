"""tf.py_function and tf.numpy_function: Python inside a traced function, called each time it runs."""
import functools

from . import _dtypes, _tandem, nest
from ._gradient import GradientTape, UnconnectedGradients, dense
from ._on_host import called_when_run
from ._specs import TensorSpec
from .errors import InvalidArgumentError, OpError, OutOfRangeError, ResourceExhaustedError, UnimplementedError, UnknownError


def _is_spec(value):
    return isinstance(value, TensorSpec)


def _declared(tout, who):
    """The results as specs, and whether there is one only."""
    single = not isinstance(tout, (list, tuple))
    specs = []
    for item in [tout] if single else tout:
        if not _is_spec(item) or not item.shape.is_fully_defined():
            from .errors import OpByOpError

            raise OpByOpError(
                f"E0702 {who}: in a traced function the shapes of its results must be known, got Tout={tout!r}; give "
                "tf.TensorSpec(shape, dtype) for each, or call it outside"
            )
        specs.append((item.shape, item.dtype))
    return specs, single


_CLASSES = [(NotImplementedError, UnimplementedError), ((ValueError, TypeError), InvalidArgumentError), (MemoryError, ResourceExhaustedError), (StopIteration, OutOfRangeError)]


def _raised(func):
    """The function, whose exceptions become TensorFlow's; who catches Python's class still catches them."""

    def call(*args):
        try:
            return func(*args)
        except OpError:
            raise
        except Exception as error:
            theirs = next((made for given, made in _CLASSES if isinstance(error, given)), UnknownError)
            raise _both(theirs, type(error))(f"{type(error).__name__}: {error}") from error

    return call


@functools.lru_cache(maxsize=64)
def _both(theirs, kind):
    """A class that is TensorFlow's and Python's."""
    if issubclass(theirs, kind):
        return theirs
    try:
        return type(theirs.__name__, (theirs, kind), {"__str__": Exception.__str__, "__init__": Exception.__init__})
    except TypeError:  # of classes that cannot be one
        return theirs


def _dtype_of(item):
    return item.dtype if _is_spec(item) else _dtypes.as_dtype(item)


def _results(value, tout, who):
    """What Python returned, as a list of tensors of the declared dtypes."""
    dtypes = [_dtype_of(item) for item in (tout if isinstance(tout, (list, tuple)) else [tout])]
    if isinstance(tout, (list, tuple)) and not dtypes:
        return []
    values = list(value) if isinstance(value, (list, tuple)) and isinstance(tout, (list, tuple)) else [value]
    if len(values) != len(dtypes):
        raise ValueError(f"{who}: Tout declares {len(dtypes)} results, the function returned {len(values)}")
    return [_tandem.to_tensor(item, dtype) for item, dtype in zip(values, dtypes)]


class _Gradient:
    """The gradient of `function`, which takes and gives lists of tensors: of its `count` inputs, followed by a gradient for
    each result, it makes one for each floating input. Python computes it when the plan comes to it."""

    def __init__(self, function, count):
        self._function, self._count = function, count

    def __call__(self, tensors):
        values, given = tensors[: self._count], tensors[self._count :]
        with GradientTape() as tape:
            sources = [value for value in values if value.dtype.is_floating]
            tape.watch(sources)
            results = self._function(values)
        pairs = [(result, weight) for result, weight in zip(results, given) if result.dtype.is_floating]
        targets, weights = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        if not targets:
            return [_tandem.fill(source.shape, 0, source.dtype) for source in sources]
        return [dense(g) for g in tape.gradient(targets, sources, weights, unconnected_gradients=UnconnectedGradients.ZERO)]

    def differentiated(self, count):
        """Its own gradient, when it is called with `count` tensors."""
        return _Gradient(self, count)


def _call(who, func, inputs, tout, run, gradient):
    if not callable(func):
        raise TypeError(f"{who}: func must be callable, got {func!r}")
    tensors = [_tandem.to_tensor(value) for value in nest.flatten(list(inputs))]
    if _tandem.executing_eagerly():
        results = run(tensors)
        return results if isinstance(tout, (list, tuple)) else results[0]
    specs, single = _declared(tout, who)
    results = called_when_run(run, tensors, specs, gradient(tensors))
    return results[0] if single else results


def py_function(func=None, inp=None, Tout=None, name=None):  # noqa: N803  TensorFlow's name
    """func(*inp), called with tensors that have values. In a traced function `Tout` gives tf.TensorSpec(shape, dtype).

    Without `func` a decorator: the function that it makes takes what `inp` would hold.
    """
    if func is None:
        return lambda decorated: lambda *args: py_function(decorated, args, Tout, name)
    func = _raised(func) if callable(func) else func
    run = lambda tensors: _results(func(*tensors), Tout, "py_function")  # noqa: E731
    return _call("py_function", func, inp, Tout, run, lambda tensors: _Gradient(run, len(tensors)))


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):  # noqa: N803  TensorFlow's name
    """func(*inp), called with NumPy arrays; it has no gradient. Without `func` a decorator."""
    if func is None:
        return lambda decorated: lambda *args: numpy_function(decorated, args, Tout, stateful, name)
    return _call(
        "numpy_function", func, inp, Tout, lambda tensors: _results(func(*[t.numpy() for t in tensors]), Tout, "numpy_function"),
        lambda tensors: None,
    )  # fmt: skip
