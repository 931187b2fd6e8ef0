"""tf.Module: an object that knows the variables and modules in its attributes."""
import functools
import re

from . import _deferred, _tandem


def _snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z](?=[a-z]))", lambda match: "_" + match.group(0), name).lower()


def _key_order(mapping):
    return sorted(mapping, key=str)


def children(value):
    """(name, part) of what a module, list, tuple or dict holds."""
    if isinstance(value, dict):
        return [(str(key), value[key]) for key in _key_order(value)]
    if isinstance(value, (list, tuple)):
        return [(str(i), item) for i, item in enumerate(value)]
    if isinstance(value, Module):
        ignored = value._TF_MODULE_IGNORED_PROPERTIES
        return [(name, part) for name, part in sorted(vars(value).items()) if name not in ignored]
    return []


class Module:
    """Base class for objects with variables: `variables`, `trainable_variables` and `submodules` find them."""

    _TF_MODULE_IGNORED_PROPERTIES = frozenset({"_tandem_functions", "_name"})

    def __init__(self, name=None):
        if name is not None and not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise ValueError(f"{name!r} is not a valid module name; it must be a valid Python identifier")
        self._name = name or _snake(type(self).__name__)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if isinstance(value, (_tandem.Variable, Module, list, tuple, dict)):
            _deferred.variables_made()

    @property
    def name(self):
        return getattr(self, "_name", None) or _snake(type(self).__name__)

    @property
    def name_scope(self):
        return name_scope(self.name)

    def _flatten(self, recursive=True, predicate=None, attribute_traversal_key=None, with_path=False, expand_composites=False):
        """What is reachable through attributes, lists and dicts in the order of names: first what a module has itself, then what
        the modules have that it found."""
        seen = set()

        def walk(value, path):
            inside = []
            yield from own(value, path, inside)
            for inner, module in inside:
                yield from walk(module, inner)

        def own(value, path, inside):
            for name, part in children(value):
                inner = (*path, name)
                if id(part) in seen and not isinstance(part, (int, str, float)):
                    continue
                is_module = isinstance(part, Module) or hasattr(part, "trainable_variables")
                if is_module or isinstance(part, _tandem.Variable):
                    seen.add(id(part))
                    if predicate is None or predicate(part):
                        yield (inner, part) if with_path else part
                if isinstance(part, (list, tuple, dict)):
                    seen.add(id(part))
                    yield from own(part, inner, inside)
                elif recursive and isinstance(part, Module):
                    inside.append((inner, part))

        seen.add(id(self))
        return walk(self, ())

    @property
    def submodules(self):
        return tuple(self._flatten(predicate=lambda part: isinstance(part, Module)))

    @property
    def variables(self):
        return tuple(_variables(self._flatten(), "variables"))

    @property
    def trainable_variables(self):
        return tuple(v for v in _variables(self._flatten(), "trainable_variables") if v.trainable)

    @property
    def non_trainable_variables(self):
        return tuple(v for v in self.variables if not v.trainable)

    @classmethod
    def with_name_scope(cls, method):
        """A decorator for methods: the variables they make are named under the module."""

        @functools.wraps(method)
        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped


def _variables(parts, kind):
    """Variables, also those of objects that are no modules but have some."""
    found = []
    for part in parts:
        if isinstance(part, _tandem.Variable):
            found.append(part)
        elif not isinstance(part, Module):
            found.extend(getattr(part, kind))
    seen = set()
    return [v for v in found if not (_key(v) in seen or seen.add(_key(v)))]


def _key(variable):
    return _tandem.variable_id(variable) if isinstance(variable, _tandem.Variable) else id(variable)


class name_scope:
    """with tf.name_scope("block"): variables made inside are named block/…; ops have no names here."""

    def __init__(self, name):
        self.name = name + "/" if name and not name.endswith("/") else name
        self._outer = []

    def __enter__(self):
        outer = _tandem.set_name_scope("")
        self._outer.append(outer)
        _tandem.set_name_scope(self.name if not self.name or self.name.startswith(outer) else outer + self.name)
        return self.name

    def __exit__(self, *exception):
        _tandem.set_name_scope(self._outer.pop())
