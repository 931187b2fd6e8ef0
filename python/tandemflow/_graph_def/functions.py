"""Functions of a SavedModel: which of their graphs fits a call, and what it takes and gives."""
import inspect

from .. import _tandem
from .._function import Function
from .._specs import TensorSpec
from .structures import filled, is_spec, specs_in, value_of


class Concrete:
    """A graph, with the structures of its arguments and results."""

    def __init__(self, message, graph, captured):
        self._graph, self._captured, self._bound = graph, captured, message.bound_inputs
        self.arguments = value_of(message.canonicalized_input_signature)
        self.results = value_of(message.output_signature)

    def __call__(self, tensors):
        outputs = self._graph()([*tensors, *self._captured(self._bound)])
        return filled(self.results, iter(outputs))


def _is_tensor_like(value):
    return isinstance(value, (_tandem.Tensor, _tandem.Variable)) or hasattr(value, "__array__")


def _fits(wanted, given, tensors, converts):
    """Whether arguments fit what a graph was traced for; their tensors are added to `tensors`."""
    if is_spec(wanted):
        if not _is_tensor_like(given) and not (converts and isinstance(given, (int, float, complex, str, bytes, list, tuple))):
            return False
        try:
            tensor = given if isinstance(given, _tandem.Tensor) else _tandem.to_tensor(given, wanted.dtype)
        except (TypeError, ValueError):
            return False
        tensors.append(tensor)
        return wanted.is_compatible_with(tensor)
    if isinstance(wanted, dict):
        keys = sorted(wanted)
        return isinstance(given, dict) and sorted(given) == keys and all(_fits(wanted[key], given[key], tensors, converts) for key in keys)
    if isinstance(wanted, (list, tuple)):
        same = isinstance(given, (list, tuple)) and len(given) == len(wanted)
        return same and all(_fits(w, g, tensors, converts) for w, g in zip(wanted, given))
    return not _is_tensor_like(given) and type(wanted) is type(given) and wanted == given


class SavedBody:
    """Stands for the Python function that was traced."""

    def __init__(self, concrete, spec, name):
        self.__name__ = name
        self.__signature__ = _signature(spec)
        self._parts, self._made = concrete, None

    def _concrete(self):
        if self._made is None:
            self._made = [Concrete(*parts) for parts in self._parts]
        return self._made

    def __call__(self, *args, **kwargs):
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        given = (bound.args, bound.kwargs)
        for converts in (False, True):
            for concrete in self._concrete():
                tensors = []
                if _fits(concrete.arguments, given, tensors, converts):
                    return concrete(tensors)
        known = "; ".join(str(concrete.arguments) for concrete in self._concrete()) or "none, it was not traced before it was saved"
        raise ValueError(f"Could not find matching concrete function to call loaded from the SavedModel. Got: {given}. Expected one of: {known}")


def _signature(spec):
    """Of the FullArgSpec that is kept with a function."""
    kept = value_of(spec.fullargspec) if spec is not None else None
    if kept is None:
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL), inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])
    names, defaults = list(kept.args or ()), list(kept.defaults or ())
    values = [inspect.Parameter.empty] * (len(names) - len(defaults)) + defaults
    pairs = list(zip(names, values))[1 if spec.is_method else 0 :]
    made = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value) for name, value in pairs]
    if kept.varargs:
        made.append(inspect.Parameter(kept.varargs, inspect.Parameter.VAR_POSITIONAL))
    only = kept.kwonlydefaults or {}
    made += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=only.get(name, inspect.Parameter.empty)) for name in kept.kwonlyargs or ()]
    if kept.varkw:
        made.append(inspect.Parameter(kept.varkw, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(made)


class SignatureFunction:
    """Takes its tensors by name and gives a dict, as TensorFlow's signatures do."""

    def __init__(self, parts, names, positional):
        self._parts, self._names, self._positional, self._made = parts, list(names), positional, None
        self._function = Function(self._run, name="signature", autograph=False, reduce_retracing=True)

    def _concrete(self):
        if self._made is None:
            self._made = Concrete(*self._parts)
        return self._made

    def _run(self, *tensors):
        return self._concrete()(tensors)

    def _specs(self):
        return dict(zip(self._names, specs_in(self._concrete().arguments)))

    def __call__(self, *args, **kwargs):
        if len(args) > self._positional:
            raise TypeError(f"Signature function only takes keyword arguments (except {self._positional} positional ones): {', '.join(self._names)}")
        given = {**dict(zip(self._names, args)), **kwargs}
        if set(given) != set(self._names) or len(given) != len(args) + len(kwargs):
            raise TypeError(f"the signature takes the tensors {', '.join(self._names)}; got {len(args)} by place and {sorted(kwargs)} by name")
        specs = self._specs()
        return self._function(*[self._checked(name, given[name], specs[name]) for name in self._names])

    @staticmethod
    def _checked(name, value, spec):
        tensor = value if isinstance(value, _tandem.Tensor) else _tandem.to_tensor(value, spec.dtype)
        if not spec.is_compatible_with(tensor):
            raise ValueError(f"'{name}' must be {spec}, got a tensor of {tensor.dtype.name} with shape {tensor.shape}")
        return tensor

    @property
    def structured_input_signature(self):
        return (), {name: TensorSpec(spec.shape, spec.dtype, name) for name, spec in self._specs().items()}

    @property
    def structured_outputs(self):
        return self._concrete().results

    def __repr__(self):
        return f"<signature ({', '.join(self._names)})>"
