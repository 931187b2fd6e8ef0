"""tf.autograph.experimental."""
import enum

from .. import _tandem
from ..errors import OpByOpError
from .convert import do_not_convert  # noqa: F401


class Feature(enum.Enum):
    """TensorFlow's switches; all conversions are always on."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def set_loop_options(parallel_iterations=None, swap_memory=None, maximum_iterations=None, shape_invariants=None):
    """Traced loops keep dtypes and shapes: with shape_invariants a function runs op by op. The rest changes nothing here."""
    if shape_invariants and not _tandem.executing_eagerly():
        raise OpByOpError("E0702 set_loop_options: a traced loop has fixed shapes; collect parts in a tf.TensorArray of known size")
