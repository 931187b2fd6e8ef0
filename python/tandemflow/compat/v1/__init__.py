"""tf.compat.v1: what programs of the current version still take from there, and graphs with sessions (tandemflow._graph_mode)."""
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
    """From now on ops outside of functions make nodes of a graph, which a Session runs."""
    from ..._graph_mode import nodes, recording

    recording.install()
    nodes.use_graphs()


disable_v2_behavior = disable_eager_execution


def tables_initializer(name="init_all_tables"):
    """An operation that does nothing: tables have their values at once."""
    from ..._graph_mode.variables import variables_initializer

    return variables_initializer([])


local_variables_initializer = tables_initializer


def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """ref.assign(value)."""
    return ref.assign(value)


def assign_add(ref, value, use_locking=None, name=None):
    """ref.assign_add(value)."""
    return ref.assign_add(value)


def assign_sub(ref, value, use_locking=None, name=None):
    """ref.assign_sub(value)."""
    return ref.assign_sub(value)


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None,
               maximum_iterations=None, return_same_structure=False):  # fmt: skip
    """tf.while_loop; of one loop variable it gives that one."""
    import tandemflow as tf

    found = tf.while_loop(cond, body, loop_vars, shape_invariants, maximum_iterations=maximum_iterations)
    return found[0] if not return_same_structure and isinstance(found, (list, tuple)) and len(found) == 1 else found


def div(x, y, name=None):
    """x / y; of whole numbers rounded down."""
    import tandemflow as tf

    x = tf.convert_to_tensor(x)
    return x / y if x.dtype.is_floating else x // y


def to_float(x, name=None):
    """tf.cast(x, tf.float32)."""
    import tandemflow as tf

    return tf.cast(x, tf.float32)


def to_int32(x, name=None):
    """tf.cast(x, tf.int32)."""
    import tandemflow as tf

    return tf.cast(x, tf.int32)


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
_own, _own_names = _names.lazy(
    __name__,
    _names.places_of(
        **{
            "_graph_mode.nodes": "Graph GraphTensor get_default_graph=current reset_default_graph=reset",
            "_graph_mode.session": "InteractiveSession Session get_default_session=default_session placeholder placeholder_with_default",
            "_graph_mode.variables": "AUTO_REUSE get_variable get_variable_scope global_variables global_variables_initializer initialize_all_variables=global_variables_initializer "
            "trainable_variables variable_scope variables_initializer",
        }
    ),
    ["train"],
)


def __getattr__(name):
    import tandemflow

    if name.startswith("__") or name in _own_names():
        return _own(name)
    place = tandemflow
    try:
        for word in MOVED.get(name, name).split("."):
            place = getattr(place, word)
    except AttributeError:
        return _own(name)
    return place


def __dir__():
    import tandemflow

    return sorted({*_own_names(), *MOVED, *dir(tandemflow)})
