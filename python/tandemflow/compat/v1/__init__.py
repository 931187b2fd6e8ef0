"""tf.compat.v1: what programs of the current version still take from there. Sessions and placeholders are not here."""
from ... import _names
from . import gfile, logging  # noqa: F401


def enable_eager_execution(*args, **kwargs):
    """Ops run eagerly anyway."""


enable_v2_behavior = enable_resource_variables = enable_v2_tensorshape = enable_eager_execution


def executing_eagerly_outside_functions():
    """Always."""
    return True


def set_random_seed(seed):
    """tf.random.set_seed."""
    from ... import random

    random.set_seed(seed)


def disable_eager_execution():
    """Refused: there are no sessions."""
    raise RuntimeError("there are no sessions here: write a tf.function where a graph is wanted")


disable_v2_behavior = disable_eager_execution


def global_variables_initializer():
    """Nothing: a variable has its value at once."""


local_variables_initializer = tables_initializer = global_variables_initializer


def placeholder(dtype, shape=None, name=None):
    """Refused, as in TensorFlow outside of a graph."""
    raise RuntimeError("tf.placeholder() is not compatible with eager execution: take the value as an argument of a tf.function")


def div(x, y, name=None):
    """x / y; of whole numbers rounded down."""
    from ..._ops import convert_to_tensor

    x = convert_to_tensor(x)
    return x / y if x.dtype.is_floating else x // y


def to_float(x, name=None):
    """tf.cast(x, tf.float32)."""
    from ..._ops import cast

    return cast(x, "float32")


def to_int32(x, name=None):
    """tf.cast(x, tf.int32)."""
    from ..._ops import cast

    return cast(x, "int32")


# Where names of then are today.
MOVED = {
    "log": "math.log", "random_normal": "random.normal", "random_uniform": "random.uniform", "truncated_normal": "random.truncated_normal",
    "multinomial": "random.categorical", "matrix_inverse": "linalg.inv", "matrix_determinant": "linalg.det", "diag": "linalg.tensor_diag",
    "lgamma": "math.lgamma", "erf": "math.erf", "is_nan": "math.is_nan", "is_inf": "math.is_inf", "is_finite": "math.is_finite",
    "ceil": "math.ceil", "rsqrt": "math.rsqrt", "log1p": "math.log1p", "floor_div": "math.floordiv", "mod": "math.mod",
    "string_split": "strings.split", "string_join": "strings.join", "string_to_number": "strings.to_number", "regex_replace": "strings.regex_replace",
    "tf_record_iterator": "io.tf_record_iterator", "decode_raw": "io.decode_raw", "decode_csv": "io.decode_csv", "parse_example": "io.parse_example", "parse_single_example": "io.parse_single_example",
    "read_file": "io.read_file", "write_file": "io.write_file", "FixedLenFeature": "io.FixedLenFeature", "VarLenFeature": "io.VarLenFeature",
    "sparse_to_dense": "sparse.to_dense", "unsorted_segment_sum": "math.unsorted_segment_sum", "segment_sum": "math.segment_sum",
}  # fmt: skip
# What only sessions and graphs have; tf says what to use instead.
_OF_SESSIONS = {"Session", "InteractiveSession", "get_variable", "variable_scope", "get_default_graph"}
_own, _own_names = _names.lazy(__name__)


def __getattr__(name):
    import tandemflow

    if name.startswith("__"):
        return _own(name)
    place = tandemflow
    try:
        for word in MOVED.get(name, name).split("."):
            place = getattr(place, word)
    except AttributeError:
        return getattr(tandemflow, name) if name in _OF_SESSIONS else _own(name)
    return place


def __dir__():
    import tandemflow

    return sorted({*_own_names(), *MOVED, *dir(tandemflow)})
