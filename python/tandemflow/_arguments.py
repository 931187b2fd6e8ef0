"""The arguments and results of traced functions: which are tensors, and what else a trace depends on."""
import inspect
import itertools
import weakref

from . import _tandem, errors
from ._shape import TensorShape
from ._specs import TensorSpec

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, TensorShape)


class Slot(int):
    """The place of a tensor in a structure: a number in the list of all tensors."""

    __slots__ = ()


_numbers = itertools.count(1)
_known = {}  # by id: who had it, and under which number


def _number_of(value):
    """A number that no other object ever has, so that a trace made for one is not taken for another's."""
    key = id(value)
    entry = _known.get(key)
    if entry is not None and entry[0]() is value:
        return entry[1]
    try:
        holder = weakref.ref(value, lambda _: _known.pop(key, None))
    except TypeError:

        def holder(value=value):  # lives on: its id must not be given to another
            return value

    _known[key] = (holder, next(_numbers))
    return _known[key][1]


def _sorted_keys(mapping):
    try:
        return sorted(mapping)
    except TypeError:
        return list(mapping)


class _Flattening:
    """Takes a structure apart: its tensors, what else there is as text, and the structure with slots."""

    def __init__(self, open_axes):
        self.tensors = []
        self.open_axes = open_axes  # by id of a tensor: bits of the axes whose sizes are left open

    def slot(self, tensor):
        self.tensors.append(tensor)
        return Slot(len(self.tensors) - 1)

    def visit(self, value):
        """The structure of `value` and its text."""
        if isinstance(value, _tandem.Tensor):
            return self.slot(value), "tensor"
        if isinstance(value, _PLAIN):
            return value, repr(value)
        if isinstance(value, _tandem.Variable):
            return value, f"<{value.name} #{_tandem.variable_id(value)}>"
        if isinstance(value, TensorSpec):
            return self.slot(self._sample(value)), "tensor"
        if isinstance(value, dict):
            items = {key: self.visit(value[key]) for key in _sorted_keys(value)}
            text = ", ".join(f"{key!r}: {item[1]}" for key, item in items.items())
            return {key: items[key][0] for key in value}, f"{type(value).__name__}{{{text}}}"
        if isinstance(value, (list, tuple)):
            items = [self.visit(item) for item in value]
            name = "" if type(value) in (list, tuple) else type(value).__name__
            text = name + ("[{}]" if isinstance(value, list) else "({})").format(", ".join(item[1] for item in items))
            return _like(value, [item[0] for item in items]), text
        if _tandem.is_numpy(value):
            return self.slot(_tandem.to_tensor(value)), "tensor"
        if type(value).__name__ == "IndexedSlices":
            return self.slot(value.to_dense()), "tensor"
        return value, f"<{type(value).__name__} #{_number_of(value)}>"

    def _sample(self, spec):
        """A tensor such as the spec describes; sizes and ranks that it leaves open are some."""
        sizes = [] if spec.shape.rank is None else spec.shape.as_list()
        tensor = _tandem.symbolic([_SAMPLE_SIZE if size is None else size for size in sizes], spec.dtype)
        bits = _open_bits(spec)
        if bits:
            self.open_axes[id(tensor)] = bits
        return tensor


_SAMPLE_SIZE = 2


def _open_bits(spec):
    """Bit i is set where the size of axis i is left open."""
    return 0 if spec.shape.rank is None else sum(1 << axis for axis, size in enumerate(spec.shape) if size is None)


def specs_in(structure):
    """The tf.TensorSpecs of a structure, in the order in which its tensors are taken apart."""
    if isinstance(structure, TensorSpec):
        return [structure]
    if isinstance(structure, dict):
        structure = [structure[key] for key in _sorted_keys(structure)]
    return [spec for item in structure for spec in specs_in(item)] if isinstance(structure, (list, tuple)) else []


def _like(sequence, items):
    """The items as a list, tuple or namedtuple, whichever `sequence` is."""
    if isinstance(sequence, list):
        return items
    return type(sequence)(*items) if hasattr(sequence, "_fields") else tuple(items)


def fill_slots(structure, tensors):
    """The structure with its tensors in place."""
    if isinstance(structure, Slot):
        return tensors[structure]
    if isinstance(structure, dict):
        return {key: fill_slots(value, tensors) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        return _like(structure, [fill_slots(item, tensors) for item in structure])
    return structure


def _slots(structure):
    if isinstance(structure, Slot):
        return [structure]
    if isinstance(structure, dict):
        structure = list(structure.values())
    return [slot for item in structure for slot in _slots(item)] if isinstance(structure, (list, tuple)) else []


def consists_of_specs(structure):
    """Whether there is nothing in it but tf.TensorSpec and plain values."""
    if isinstance(structure, dict):
        return all(map(consists_of_specs, structure.values()))
    if isinstance(structure, (list, tuple)):
        return all(map(consists_of_specs, structure))
    return isinstance(structure, (TensorSpec, *_PLAIN))


def flatten_results(value, leaves, name):
    """The structure of what a function returned, integers for its tensors, which are appended to `leaves`."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {key: flatten_results(item, leaves, name) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _like(value, [flatten_results(item, leaves, name) for item in value])
    if hasattr(type(value), "__tf_tensor__"):
        value = value.__tf_tensor__()
    if hasattr(type(value), "_runs_op_by_op"):
        raise errors.OpByOpError(f"E0702 {name} returns a {type(value).__name__}, which a traced function around it cannot hold; return its tensors")
    if not isinstance(value, (_tandem.Tensor, _tandem.Variable, bool, int, float, str, bytes)) and not _tandem.is_numpy(value):
        raise TypeError(
            "To be compatible with tf.function, Python functions must return zero or more Tensors or None values; in "
            f"compilation of {name}, found return value of type {type(value).__name__}, which is not a Tensor."
        )
    leaves.append(_tandem.to_tensor(value))
    return len(leaves) - 1


def _signature_of(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # a built-in that does not tell
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return inspect.Signature([inspect.Parameter(n, k) for n, k in zip(("args", "kwargs"), kinds)])


class Arguments:
    """Binds a call to the parameters of a function and takes it apart."""

    def __init__(self, function, name, input_signature):
        self._name = name
        self._signature = _signature_of(function)
        self.input_signature = None if input_signature is None else tuple(input_signature)

    def bind(self, args, kwargs):
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}(): {error}") from None
        bound.apply_defaults()
        return bound

    def named(self, args, kwargs):
        """(name of the parameter, value) of a call."""
        return list(self.bind(args, kwargs).arguments.items())

    def name_tensors(self, structure, tensors):
        """Names what a trace is made with after the parameters, for those who print them: x:0, or x:0, x_1:0 of a list."""
        for name, value in self.named(*structure):
            for number, slot in enumerate(_slots(value)):
                tensors[slot].name = f"{name}_{number}:0" if number else f"{name}:0"

    def flatten(self, args, kwargs):
        """The tensors of a call, a text for all else that a trace depends on, the structure of the arguments, and for each
        tensor the axes whose sizes the input_signature leaves open, as bits."""
        bound = self.bind(args, kwargs)
        known = {}  # by id of a tensor: its open axes
        if self.input_signature is not None:
            self._conform(bound, known)
        flattening = _Flattening(known)
        words = []
        arguments = {}
        for name, value in bound.arguments.items():
            arguments[name], text = flattening.visit(value)
            words.append(f"{name}={text}")
        bound.arguments.update(arguments)
        open_axes = [known.get(id(tensor), 0) for tensor in flattening.tensors] if known else ()
        return flattening.tensors, ", ".join(words), (bound.args, bound.kwargs), open_axes

    def _conform(self, bound, known):
        """Makes tensors of the arguments that the input_signature names."""
        names = list(bound.arguments)
        if names and self._signature.parameters[names[0]].kind is inspect.Parameter.VAR_POSITIONAL:
            given = bound.arguments[names[0]]
            if len(given) != len(self.input_signature):
                self._refuse(f"takes {len(self.input_signature)} tensors by its input_signature, got {len(given)}")
            places = zip(itertools.count(), self.input_signature, given)
            bound.arguments[names[0]] = tuple(self._fit(spec, value, f"argument {i}", known) for i, spec, value in places)
            return
        if len(self.input_signature) > len(names):
            self._refuse(f"has an input_signature of {len(self.input_signature)} tensors, but {len(names)} parameters")
        for name, spec in zip(names, self.input_signature):
            bound.arguments[name] = self._fit(spec, bound.arguments[name], f"argument '{name}'", known)

    def _fit(self, spec, value, place, known):
        if isinstance(spec, dict) and isinstance(value, dict) and spec.keys() == value.keys():
            return {key: self._fit(spec[key], value[key], f"{place}[{key!r}]", known) for key in value}
        if isinstance(spec, (list, tuple)) and isinstance(value, (list, tuple)) and len(spec) == len(value):
            return _like(value, [self._fit(s, v, f"{place}[{i}]", known) for i, (s, v) in enumerate(zip(spec, value))])
        if not isinstance(spec, TensorSpec):
            self._refuse(f"{place} is {value!r}, its input_signature says {spec!r}")
        if isinstance(value, TensorSpec):
            return value
        tensor = _tandem.to_tensor(value, None if hasattr(value, "dtype") else spec.dtype)
        if not spec.is_compatible_with(tensor):
            self._refuse(f"{place} is a tensor of {tensor.dtype.name} {tensor.shape}, its input_signature says {spec!r}")
        bits = _open_bits(spec)
        if bits:
            known[id(tensor)] = bits
        return tensor

    def _refuse(self, complaint):
        raise errors.SignatureError(f"E0102 {self._name}: {complaint}")
