"""tf.function: a Python function that is traced once a signature and then runs as one plan."""
import functools
import inspect
import linecache
import os
from collections import namedtuple

from . import _tandem
from ._arguments import Arguments, consists_of_specs, fill_slots, flatten_results, specs_in
from ._concrete import ConcreteFunction, OpenConcreteFunction
from ._graph_gradients import NeedsTape, recorded, unrecorded
from ._open_size import OpenSize
from ._specs import TensorSpec
from ._logging import get_logger
from .errors import OpByOpError, OpError
from .nest import map_structure

_MOST_TRACES = 64  # as many as are kept
_MADE_VARIABLE = "is made from a tensor of a traced function"
_PACKAGE = os.path.dirname(os.path.abspath(__file__))
Retrace = namedtuple("Retrace", ["reason", "nodes", "microseconds"])


def needs_values(error):
    """Whether a trace failed because an op needs values that are there only when the function runs: sizes that depend on them, or
    results that are ragged. What the user's own lines read is an error, as in TensorFlow."""
    text = str(error)
    if isinstance(error, OpByOpError) or text.startswith("E0702") and ("depends on values" in text or _MADE_VARIABLE in text):
        return True
    if not text.startswith("E0701"):
        return False
    innermost = error.__traceback__
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    file = innermost.tb_frame.f_code.co_filename
    return os.path.dirname(file).startswith(_PACKAGE) and os.path.basename(file) not in ("_function.py", "_arguments.py")


def why_op_by_op(error):
    """Which of the user's lines needs values, for the log."""
    place = None
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<")):
            place = file, trace.tb_lineno
        trace = trace.tb_next
    if place is None:
        return str(error)
    line = linecache.getline(*place).strip()
    return f"line {place[1]} of {place[0]}, `{line}`, needs values, which a traced function does not have before it runs"


def _as_result(value):
    """A leaf of what a function returned; numbers, texts and variables become tensors."""
    plain = isinstance(value, (bool, int, float, str, bytes)) or _tandem.is_numpy(value)
    if isinstance(value, _tandem.Variable):
        return value.read_value()
    return _tandem.to_tensor(value) if plain else value


def _composite(value):
    """Whether there is a ragged or sparse tensor, or another object made of tensors, whose functions run op by op."""
    if isinstance(value, dict):
        return any(map(_composite, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_composite, value))
    return hasattr(type(value), "_runs_op_by_op")


class _BoundFunctions(dict):
    """The traced methods of one object, kept in it; a copy of the object begins with none."""

    owner = None

    def __copy__(self):
        return _BoundFunctions()

    def __deepcopy__(self, memo):
        return _BoundFunctions()

    def __reduce__(self):
        return (_BoundFunctions, ())


traced_graphs = None  # [(function, args, kwargs)] since tf.summary.trace_on


class Function(_tandem.FunctionCore):
    """What tf.function makes. Calling it runs the graph of the signature at hand; the first such call traces it."""

    def __init__(self, python_function, input_signature=None, name=None, autograph=True, reduce_retracing=False):
        if not callable(python_function):
            raise TypeError(f"tf.function needs a function to trace, got {python_function!r}")
        functools.update_wrapper(self, python_function)
        self._name = name or getattr(python_function, "__name__", type(python_function).__name__)
        self._python_function = python_function
        self._autograph = autograph
        self._arguments = Arguments(python_function, self._name, input_signature)
        self._untraceable = False
        self._needs_tape = False  # tf.gradients is called inside
        self._first_shapes = {} if reduce_retracing else None  # by what else a trace depends on: of the first call, and the axes that changed since
        self._traced = {}  # what it was traced for, by key and shapes: for those who save it
        self._configure(self._name)

    # What the inner module calls.

    def _call(self, args, kwargs):
        if _tandem.functions_run_eagerly():
            return self._python_function(*args, **kwargs)
        if self._not_traced(args, kwargs):
            return self._op_by_op(args, kwargs)
        try:
            return self._with_tape(lambda: self._run(*self._relaxed(*self._arguments.flatten(args, kwargs))))
        except OpError as error:
            if not _tandem.executing_eagerly() or not needs_values(error):
                raise
            self._give_up_tracing(error)
        return self._op_by_op(args, kwargs)

    def _not_traced(self, args, kwargs):
        return self._untraceable or _composite(args) or _composite(kwargs)

    def _with_tape(self, traces):
        """traces(), and once more under a tape where the function asks for one."""
        try:
            return traces()
        except NeedsTape:
            if self._needs_tape:
                raise
            self._needs_tape = True
        return traces()

    def _op_by_op(self, args, kwargs):
        """What the function returns, numbers as tensors as a trace would give them."""
        return map_structure(_as_result, self._python_function(*args, **kwargs))

    def _relaxed(self, tensors, key, structure, open_axes):
        """With reduce_retracing sizes that once were others are left open: one trace more serves all of them."""
        if self._first_shapes is None or open_axes or not _tandem.executing_eagerly():
            return tensors, key, structure, open_axes
        shapes = [tensor.shape.as_list() for tensor in tensors]
        place = key, tuple((tensor.dtype.name, tensor.ndim) for tensor in tensors)
        first, changed = self._first_shapes.setdefault(place, (shapes, [0] * len(shapes)))
        for number, (before, now) in enumerate(zip(first, shapes)):
            changed[number] |= sum(1 << axis for axis, sizes in enumerate(zip(before, now)) if sizes[0] != sizes[1])
        return tensors, key, structure, list(changed) if any(changed) else ()

    def _give_up_tracing(self, error):
        """From now on it runs op by op; where only a variable was made, the next call finds it and is traced."""
        self._untraceable = _MADE_VARIABLE not in str(error)
        if self._untraceable and not isinstance(error, OpByOpError):
            get_logger().warning("tf.function %s runs op by op: %s", self._name, why_op_by_op(error))

    def _trace(self, structure, tensors):
        args, kwargs = fill_slots(structure, tensors)
        self._arguments.name_tensors(structure, tensors)
        self._note_trace(structure, tensors)
        leaves = []
        with recorded(tensors) if self._needs_tape else unrecorded():
            return leaves, flatten_results(self._converted()(*args, **kwargs), leaves, self._name)

    def _note_trace(self, structure, tensors):
        """Keeps what a trace was made for, if that can be said without the objects of this process."""
        if any(isinstance(size, OpenSize) for tensor in tensors for size in tensor.shape):
            return  # the input_signature says it
        specs = [TensorSpec.from_tensor(tensor) for tensor in tensors]
        args, kwargs = fill_slots(structure, specs)
        if consists_of_specs((args, kwargs)):
            self._traced[repr((args, kwargs))] = (args, kwargs)
            if traced_graphs is not None:
                traced_graphs.append((self, args, kwargs))
        if len(self._traced) > _MOST_TRACES:
            del self._traced[next(iter(self._traced))]

    def _saveable_traces(self):
        """A concrete function for everything it was traced for, but calls with objects of this process."""
        return [self.get_concrete_function(*args, **kwargs) for args, kwargs in list(self._traced.values())]

    def _converted(self):
        """The function as it is traced: with Python's control flow converted."""
        if not self._autograph:
            return self._python_function
        from .autograph.convert import convert

        return convert(self._python_function)

    # What users call.

    def __get__(self, instance, owner=None):
        """As a method: every object has traces of its own."""
        if instance is None:
            return self
        attributes = getattr(instance, "__dict__", None)
        if not isinstance(attributes, dict):  # no place for traces (a class has none): it is an argument like others
            return functools.partial(self, instance)
        bound = attributes.get("_tandem_functions")
        if bound is None or bound.owner is not instance:
            bound = attributes["_tandem_functions"] = _BoundFunctions()
            bound.owner = instance
        function = bound.get(id(self))
        if function is None:
            method = self._python_function.__get__(instance, owner)
            function = bound[id(self)] = self._again(method)
            function._unbound = self  # while it lives, nothing else has its id
        return function

    def get_concrete_function(self, *args, **kwargs):
        """The traced function for arguments like these; tf.TensorSpec may stand for a tensor."""
        if not args and not kwargs and self._arguments.input_signature:
            args = self._arguments.input_signature
        prepared = self._arguments.flatten(args, kwargs)
        given = [value for _, value in self._arguments.named(args, kwargs)]
        specs = specs_in(given)
        if all(spec.shape.is_fully_defined() for spec in specs):
            return ConcreteFunction(self._with_tape(lambda: self._concrete(*prepared)), self._name, self._arguments, prepared)
        if len(specs) != len(prepared[0]):
            raise ValueError(f"{self._name}: tensors and a tf.TensorSpec with open sizes were given together; give a tf.TensorSpec for each tensor")
        return self._with_tape(lambda: OpenConcreteFunction(self, self._arguments, prepared, specs))

    def experimental_get_tracing_count(self):
        """How often it was traced."""
        return self._tracing_count()

    def pretty_printed_concrete_signatures(self, verbose=True):
        """What it was traced for, one text after the other."""
        return "\n\n".join(concrete.pretty_printed_signature() for concrete in self._saveable_traces())

    def retraces(self):
        """Every trace: why it was made, how many nodes it has, how long tracing took."""
        return [Retrace(*entry) for entry in self._retraces()]

    @property
    def python_function(self):
        """The function that is traced."""
        return self._python_function

    @property
    def input_signature(self):
        return self._arguments.input_signature

    @property
    def name(self):
        return self._name

    def __repr__(self):
        return f"<tandemflow.Function {self._name}{inspect.signature(self._python_function)}>"

    def _again(self, python_function):
        """Another function with the same settings."""
        return Function(python_function, self._arguments.input_signature, self._name, self._autograph, self._first_shapes is not None)

    def __copy__(self):
        return self._again(self._python_function)

    def __deepcopy__(self, memo):
        return self.__copy__()


def function(
    func=None,
    input_signature=None,
    autograph=True,
    jit_compile=None,
    reduce_retracing=False,
    experimental_implements=None,
    experimental_autograph_options=None,
    experimental_attributes=None,
    experimental_relax_shapes=None,
    experimental_compile=None,
    experimental_follow_type_hints=None,
    name=None,
):
    """Makes a function that is traced into a graph and runs as one plan; a decorator, with arguments or without.

    @tf.function
    def loss(x, y):
        return tf.reduce_mean(tf.square(x - y))

    Tensors and NumPy arrays may have other values in every call; another dtype or shape, or another Python value, traces
    anew, and loss.retraces() says why. input_signature refuses what does not fit and makes tensors of Python values.
    `if`, `while`, `for`, `and`, `or` and `not` may depend on tensors (tf.autograph), unless autograph=False. With reduce_retracing
    sizes that change are left open at the second trace. The other arguments are TensorFlow's and change nothing: every graph is
    compiled here.
    """
    relaxes = bool(reduce_retracing or experimental_relax_shapes)
    if func is None:
        return lambda inner: Function(inner, input_signature, name, autograph, relaxes)
    return Function(func, input_signature, name, autograph, relaxes)


def untraced(python_function, name):
    """A function that is known to run op by op."""
    function = Function(python_function, name=name)
    function._untraceable = True
    return function


def executing_eagerly():
    """False while a function is traced."""
    return _tandem.executing_eagerly()
