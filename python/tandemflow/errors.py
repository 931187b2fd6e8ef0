"""Exceptions under TensorFlow's names. Each is also the built-in exception that fits: either may be caught."""
from . import _names, _tandem

# TensorFlow's numbers of kinds of errors.
(OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION,
 ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED) = range(17)  # fmt: skip


class OpError(Exception):
    """What goes wrong in an op or in the runtime. The message begins with a code that has a page in docs/errors."""

    op = None
    node_def = None

    @property
    def message(self):
        return str(self)

    @property
    def error_code(self):
        """The number of the code, 102 for "E0102 …"; 0 when the message has none."""
        text = str(self)
        return int(text[1:5]) if text[:1] == "E" and text[1:5].isdigit() else 0


class InvalidArgumentError(OpError, ValueError):
    """An argument has a value, a shape or a dtype that does not fit."""


class DTypeError(InvalidArgumentError, TypeError):
    """Dtypes were mixed, or a value cannot have the dtype asked for."""


class SignatureError(InvalidArgumentError, TypeError):
    """The arguments of a call do not fit the input_signature of a traced function."""


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """An index points outside the tensor."""


class NotFoundError(OpError, FileNotFoundError):
    """A file cannot be opened, read or written."""

    __str__ = Exception.__str__


class DataLossError(OpError, ValueError):
    """A file's content is damaged or of another format."""


class ResourceExhaustedError(OpError, MemoryError, RuntimeError):
    """The memory of a device or of the host does not suffice."""


class UnimplementedError(OpError, NotImplementedError):
    """No kernel does this."""


class NoKernelError(UnimplementedError, InvalidArgumentError):
    """The device asked for has no kernel for this op and dtype, and soft placement is off."""


class OpByOpError(UnimplementedError):
    """What a function makes cannot be traced: a tf.function that meets it runs op by op instead."""


class NoGradientError(UnimplementedError, LookupError):
    """There is no gradient for what was asked."""


class FailedPreconditionError(OpError, RuntimeError):
    """The object is not in a state in which this may be asked of it."""


class InternalError(OpError, RuntimeError):
    """A check inside TandemFlow failed; please report it."""


class UnavailableError(OpError, RuntimeError):
    """A device or service is not there."""


class OutOfRangeError(OpError):
    """A sequence has ended."""


class AlreadyExistsError(OpError):
    """What is to be made exists already."""


class PermissionDeniedError(OpError):
    """Not allowed."""


class CancelledError(OpError):
    """Cancelled before it ended."""


class DeadlineExceededError(OpError):
    """Took longer than allowed."""


class AbortedError(OpError):
    """Aborted."""


class UnknownError(OpError):
    """Something else."""


_CLASSES = {
    "invalid_shape": InvalidArgumentError,
    "shape_mismatch": InvalidArgumentError,
    "invalid_axis": InvalidArgumentError,
    "invalid_argument": InvalidArgumentError,
    "index_out_of_range": IndexOutOfRangeError,
    "wrong_arity": InvalidArgumentError,
    "dtype_mismatch": DTypeError,
    "unsupported_dtype": DTypeError,
    "cannot_convert": DTypeError,
    "out_of_memory": ResourceExhaustedError,
    "unknown_device": InvalidArgumentError,
    "device_unavailable": InvalidArgumentError,
    "no_kernel": NoKernelError,
    "device_lost": UnavailableError,
    "device_failed": InternalError,
    "too_late": FailedPreconditionError,
    "seed_needed": FailedPreconditionError,
    "file_error": NotFoundError,
    "bad_file": DataLossError,
    "no_gradient": NoGradientError,
    "tape_used_up": FailedPreconditionError,
    "symbolic_value": FailedPreconditionError,
    "cannot_trace": FailedPreconditionError,
    "not_finite": InvalidArgumentError,
    "internal": InternalError,
}

for _code, _name in _tandem.error_list():
    _tandem.register_error_class(_code, _CLASSES.get(_name, UnknownError))


__getattr__, __dir__ = _names.lazy(__name__)
