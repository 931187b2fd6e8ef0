"""Names that programs keep from TensorFlow's graphs. Work runs in the order it is written, so most of them have little to do."""
import contextlib
import enum
import time

from . import _dtypes, _tandem
from ._gradient import custom_gradient
from ._ops import identity
from ._shape import TensorShape
from .errors import InvalidArgumentError


class VariableSynchronization(enum.Enum):
    """When replicas agree about a variable: at every assignment, or each has its own value until it is read outside of them."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the copies of a variable are brought together."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def is_tensor(x):
    """True for tensors, variables, ragged and sparse tensors; False for what only converts to one."""
    return isinstance(x, (_tandem.Tensor, _tandem.Variable)) or type(x).__name__ in ("RaggedTensor", "SparseTensor", "ComplexTensor")


def is_symbolic_tensor(x):
    """True for a tensor of a function that is being traced."""
    return isinstance(x, _tandem.Tensor) and _tandem.is_symbolic(x)


def get_static_value(tensor, partial=False):
    """The values as a NumPy array; None for a tensor that has none yet."""
    return None if is_symbolic_tensor(tensor) else _tandem.to_tensor(tensor).numpy()


@contextlib.contextmanager
def control_dependencies(control_inputs):
    """What is inside runs after `control_inputs`, as it does without."""
    for value in control_inputs or ():
        if callable(value) and not is_tensor(value):
            value()
    yield


def no_op(name=None):
    """Nothing."""


def group(*inputs, **kwargs):
    """One name for several ops; they have run when it is called."""


def tuple(tensors, control_inputs=None, name=None):  # noqa: A001  TensorFlow's name
    """The tensors, once all of them are computed."""
    return [None if tensor is None else identity(tensor) for tensor in tensors]


def identity_n(input, name=None):
    """The same tensors."""
    return [identity(tensor) for tensor in input]


def timestamp(name=None):
    """Seconds since 1970."""
    return _tandem.to_tensor(time.time(), _dtypes.float64)


def ensure_shape(x, shape, name=None):
    """The tensor, if its shape fits; None fits every size."""
    x, wanted = _tandem.to_tensor(x), TensorShape(shape)
    if not wanted.is_compatible_with(x.shape):
        raise InvalidArgumentError(f"ensure_shape: the tensor has shape {x.shape}, which does not fit {wanted}")
    return x


def broadcast_static_shape(shape_x, shape_y):
    """The shape of what two tensors of these shapes give together."""
    a, b = TensorShape(shape_x).as_list(), TensorShape(shape_y).as_list()
    rank = max(len(a), len(b))
    sizes = []
    for one, other in zip([1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b):
        if one != other and 1 not in (one, other) and None not in (one, other):
            raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}")
        sizes.append(one if other == 1 or other is None and one not in (1, None) else other)
    return TensorShape(sizes)


def broadcast_dynamic_shape(shape_x, shape_y):
    """As broadcast_static_shape, of shapes that are tensors."""
    shapes = [[int(size) for size in _tandem.to_tensor(shape).numpy()] for shape in (shape_x, shape_y)]
    dtype = _tandem.to_tensor(shape_x).dtype
    return _tandem.to_tensor(broadcast_static_shape(*shapes).as_list(), dtype if dtype.is_integer else _dtypes.int32)


def grad_pass_through(f):
    """f, with gradients as if it were the identity."""

    @custom_gradient
    def passing(x):
        return f(x), lambda upstream: upstream

    return passing


def inside_function():
    """Whether a function is being traced."""
    return not _tandem.executing_eagerly()


def get_current_name_scope():
    """The names of the tf.name_scopes around, as "outer/inner"."""
    scope = _tandem.set_name_scope("")
    _tandem.set_name_scope(scope)
    return scope.rstrip("/")


def shape_n(input, out_type=_dtypes.int32, name=None):
    """The shapes of several tensors."""
    from ._ops import shape

    return [shape(one, out_type=out_type) for one in input]


def guarantee_const(input, name=None):
    """The tensor."""
    return identity(input)
