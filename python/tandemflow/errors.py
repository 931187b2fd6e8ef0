"""Exceptions under TensorFlow's names. Each is also the built-in exception that fits: either may be caught."""
from . import _names, _tandem

# TensorFlow's numbers of kinds of errors.
(OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION,
 ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED) = range(17)  # fmt: skip


class OpError(Exception):
    """What goes wrong in an op or in the runtime. The message begins with a code that has a page in docs/errors.

    Made of a message, or as in TensorFlow of node_def, op and message.
    """

    op = None
    node_def = None
    error_code = UNKNOWN  # TensorFlow's number of the kind

    def __init__(self, *args):
        super().__init__(*args[2:3] or args)
        if len(args) > 2:
            self.node_def, self.op = args[:2]
        if len(args) > 3:
            self.error_code = args[3]

    @property
    def message(self):
        return str(self)

    @property
    def code(self):
        """The number of the code, 102 for "E0102 …"; 0 when the message has none."""
        text = str(self)
        return int(text[1:5]) if text[:1] == "E" and text[1:5].isdigit() else 0


class InvalidArgumentError(OpError, ValueError):
    """An argument has a value, a shape or a dtype that does not fit."""

    error_code = INVALID_ARGUMENT

    def __new__(cls, *args):
        return super().__new__(_closer_class(cls, args), *args)


class UnfitValueError(InvalidArgumentError):
    """A shape that does not fit, where TensorFlow says ValueError: a function is being traced, a variable assigned, a list ragged."""


class DTypeError(InvalidArgumentError, TypeError):
    """Dtypes were mixed, or a value cannot have the dtype asked for."""


class ConversionError(DTypeError):
    """A value cannot become a tensor, or not of the dtype asked for."""


class NothingToConvertError(ConversionError):
    """None, or an object of no use, was given for a tensor."""


class SignatureError(InvalidArgumentError, TypeError):
    """The arguments of a call do not fit the input_signature of a traced function."""


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """An index points outside the tensor."""


class NotFoundError(OpError, FileNotFoundError):
    """A file cannot be opened, read or written."""

    error_code = NOT_FOUND

    __str__ = Exception.__str__


class DataLossError(OpError, ValueError):
    """A file's content is damaged or of another format."""

    error_code = DATA_LOSS


class BadFileError(DataLossError, InvalidArgumentError):
    """What a reader of files refuses: TensorFlow says one or the other, by the kind of the file."""


class ResourceExhaustedError(OpError, MemoryError, RuntimeError):
    """The memory of a device or of the host does not suffice."""

    error_code = RESOURCE_EXHAUSTED


class UnimplementedError(OpError, NotImplementedError):
    """No kernel does this."""

    error_code = UNIMPLEMENTED


class NoKernelError(UnimplementedError, InvalidArgumentError):
    """The device asked for has no kernel for this op and dtype, and soft placement is off."""


class OpByOpError(UnimplementedError):
    """What a function makes cannot be traced: a tf.function that meets it runs op by op instead."""


class NoGradientError(UnimplementedError, LookupError):
    """There is no gradient for what was asked."""


class FailedPreconditionError(OpError, RuntimeError):
    """The object is not in a state in which this may be asked of it."""

    error_code = FAILED_PRECONDITION

    def __new__(cls, *args):
        leaked = cls is FailedPreconditionError and args and "belongs to a trace which has ended" in str(args[0])
        return super().__new__(OutOfScopeError if leaked else cls, *args)


class StateError(FailedPreconditionError):
    """It is too late: the tape is used up, the devices are in use."""


class InaccessibleTensorError(FailedPreconditionError, ValueError, TypeError):
    """A tensor of a traced function, or of a branch or a loop of it, is used outside of that."""


class OutOfScopeError(InaccessibleTensorError):
    """The same as it is raised: TensorFlow says TypeError, but of branches and loops InaccessibleTensorError."""


class OperatorNotAllowedInGraphError(FailedPreconditionError, TypeError):
    """A tensor of a traced function was used where a Python value is needed."""

    def __new__(cls, *args):
        as_array = cls is OperatorNotAllowedInGraphError and args and "was used as a NumPy array" in str(args[0])
        return super().__new__(SymbolicArrayError if as_array else cls, *args)


class SymbolicArrayError(OperatorNotAllowedInGraphError, NotImplementedError, AttributeError):
    """A tensor of a traced function was used as a NumPy array: TensorFlow has no attribute numpy then, and no array."""

    def __init__(self, *args):
        super(FailedPreconditionError, self).__init__(*args)


class InternalError(OpError, RuntimeError):
    """A check inside TandemFlow failed; please report it."""

    error_code = INTERNAL


class UnavailableError(OpError, RuntimeError):
    """A device or service is not there."""

    error_code = UNAVAILABLE


class OutOfRangeError(OpError):
    """A sequence has ended."""

    error_code = OUT_OF_RANGE


class AlreadyExistsError(OpError):
    """What is to be made exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """Not allowed."""

    error_code = PERMISSION_DENIED


class CancelledError(OpError):
    """Cancelled before it ended."""

    error_code = CANCELLED


class DeadlineExceededError(OpError):
    """Took longer than allowed."""

    error_code = DEADLINE_EXCEEDED


class AbortedError(OpError):
    """Aborted."""

    error_code = ABORTED


class UnauthenticatedError(OpError):
    """Whoever asks is not known."""

    error_code = UNAUTHENTICATED


class UnknownError(OpError):
    """Something else."""


# What type(error).__name__ gives where TensorFlow has no class of that name; a traceback shows the class itself (__qualname__).
for _class, _shown in [
    (UnfitValueError, "ValueError"), (DTypeError, "InvalidArgumentError"), (ConversionError, "TypeError"), (NothingToConvertError, "ValueError"),
    (SignatureError, "TypeError"), (IndexOutOfRangeError, "InvalidArgumentError"), (BadFileError, "DataLossError"), (NoKernelError, "InvalidArgumentError"),
    (NoGradientError, "LookupError"), (StateError, "RuntimeError"), (OutOfScopeError, "TypeError"), (SymbolicArrayError, "AttributeError"),
]:  # fmt: skip
    _class.__name__ = _shown


def _closer_class(cls, args):
    """TensorFlow's kind of a mistake also depends on where it is made."""
    text = args[0] if len(args) == 1 and isinstance(args[0], str) else ""
    if text[:2] != "E0":
        return cls
    if cls is InvalidArgumentError and (not _tandem.executing_eagerly() or any(words in text for words in _VALUE_ERRORS)):
        return UnfitValueError
    if cls is DTypeError and not _tandem.executing_eagerly():
        return ConversionError
    if cls is ConversionError and ("with an unsupported type" in text or "with mixed types" in text):
        return NothingToConvertError
    return cls


_VALUE_ERRORS = ("non-rectangular", "cannot take", "components must have equally many rows", "Unknown attribute", "No matching devices", "memory growth on")

_CLASSES = {
    "invalid_shape": InvalidArgumentError,
    "shape_mismatch": InvalidArgumentError,
    "invalid_axis": InvalidArgumentError,
    "invalid_argument": InvalidArgumentError,
    "index_out_of_range": IndexOutOfRangeError,
    "wrong_arity": InvalidArgumentError,
    "dtype_mismatch": DTypeError,
    "unsupported_dtype": DTypeError,
    "cannot_convert": ConversionError,
    "out_of_memory": ResourceExhaustedError,
    "unknown_device": InvalidArgumentError,
    "device_unavailable": InvalidArgumentError,
    "no_kernel": NoKernelError,
    "device_lost": UnavailableError,
    "device_failed": InternalError,
    "too_late": StateError,
    "seed_needed": FailedPreconditionError,
    "file_error": NotFoundError,
    "bad_file": BadFileError,
    "no_gradient": NoGradientError,
    "tape_used_up": StateError,
    "symbolic_value": OperatorNotAllowedInGraphError,
    "cannot_trace": FailedPreconditionError,
    "not_finite": InvalidArgumentError,
    "internal": InternalError,
}

for _code, _name in _tandem.error_list():
    _tandem.register_error_class(_code, _CLASSES.get(_name, UnknownError))


__getattr__, __dir__ = _names.lazy(__name__)
