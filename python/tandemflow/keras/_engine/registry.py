"""What has a name: classes and functions as strings, as configurations and as objects.

Every family (losses, layers, …) is one `Family`: it finds an object by its name, makes one from a configuration, and
writes one down. Keras' files hold {"module", "class_name", "config", "registered_name"}; that is what `serialize` gives.
"""
import collections.abc
import contextlib
import difflib
import importlib
import inspect
import types

from ... import _replica

_registered = {}  # "package>name" -> class or function
_names = {}  # the other way round
_scopes = _replica.thread_state()
_unsafe_allowed = False


def register_keras_serializable(package="Custom", name=None):
    """A decorator: files may name this class or function."""

    def decorate(thing):
        if inspect.isclass(thing) and not hasattr(thing, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        registered = f"{package}>{name or thing.__name__}"
        _registered[registered] = thing
        _names[thing] = registered
        return thing

    return decorate


def get_custom_objects():
    """What is registered for all files, by name; may be added to."""
    return _registered


def get_registered_name(thing):
    """The name under which a class or function was registered, or its own."""
    return _names.get(thing, thing.__name__)


def get_registered_object(name, custom_objects=None, module_objects=None):
    """The class or function registered under a name; None without one."""
    for known in (custom_objects or {}, *_open_scopes(), _registered, module_objects or {}):
        if name in known:
            return known[name]
    return None


@contextlib.contextmanager
def custom_object_scope(custom_objects):
    """Inside, files and strings may use these names."""
    scopes = _scopes.__dict__.setdefault("open", [])
    scopes.append(dict(custom_objects or {}))
    try:
        yield
    finally:
        scopes.pop()


CustomObjectScope = custom_object_scope


def _open_scopes():
    return reversed(_scopes.__dict__.get("open", []))


def nearest(name, known):
    """ " Did you mean 'adam'?", or nothing."""
    match = difflib.get_close_matches(str(name), list(known), 1, 0.5) or difflib.get_close_matches(
        str(name).lower(), list(known), 1, 0.5
    )
    return f" Did you mean '{match[0]}'?" if match else ""


class Family:
    """Classes and functions of one kind."""

    def __init__(self, kind, module, members, aliases=None):
        """`members` are classes and functions; `aliases` are further names: {"mse": mean_squared_error}."""
        self.kind = kind
        self.module = module
        self.members = {member.__name__: member for member in members}
        self.names = {name.lower(): member for name, member in self.members.items()}
        self.names.update(self.members)
        self.names.update(aliases or {})

    def find(self, name, custom_objects=None):
        """The class or function of this name."""
        found = get_registered_object(name, custom_objects, self.names)
        if found is None and isinstance(name, str):
            found = self.names.get(name.lower())
        if found is None:
            known = sorted(name for name in self.names)
            raise ValueError(
                f"Could not interpret {self.kind} identifier: {name}.{nearest(name, known)} Please ensure you are using a "
                f"`keras.utils.custom_object_scope` and that this object is included in the scope. "
                f"Known are: {', '.join(sorted(self.members))}."
            )
        return found

    def get(self, identifier):
        """An object for a string, a configuration, a class or an object."""
        if identifier is None:
            return None
        if isinstance(identifier, dict):
            return self.deserialize(identifier)
        if isinstance(identifier, str):
            found = self.find(identifier)
            return found() if inspect.isclass(found) else found
        if inspect.isclass(identifier):
            return identifier()
        if callable(identifier) or hasattr(identifier, "get_config"):
            return identifier
        raise ValueError(f"Could not interpret {self.kind} identifier: {identifier!r}")

    def serialize(self, thing):
        """The object's configuration, from which deserialize makes it anew."""
        return serialize_keras_object(thing)

    def deserialize(self, config, custom_objects=None):
        """An object made from its configuration, or found by its name."""
        if isinstance(config, str):
            found = self.find(config, custom_objects)
            return found() if inspect.isclass(found) else found
        return deserialize_keras_object(config, custom_objects, self)


class _LazyNames(collections.abc.Mapping):
    """Names to members of a module, which are looked up when they are asked for."""

    def __init__(self, module, names):
        self._module, self._names = module, names

    def __getitem__(self, name):
        return getattr(importlib.import_module(self._module), self._names[name])

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


class LazyFamily(Family):
    """A family whose members are attributes of a module that loads its parts when they are used."""

    def __init__(self, kind, module, python_module, names, aliases=()):
        """`names` and `aliases` are attributes of the module."""
        self.kind, self.module = kind, module
        self.members = _LazyNames(python_module, {name: name for name in names})
        self.names = _LazyNames(python_module, {n: name for name in (*names, *aliases) for n in (name.lower(), name)})


# --- Whole objects as Keras' files hold them ---


def module_of(thing):
    """ "keras.layers" for ours, the Python module for others."""
    cls = thing if inspect.isclass(thing) or inspect.isfunction(thing) else type(thing)
    exported = getattr(cls, "_keras_module", None)
    if exported and cls.__module__.startswith(__name__.rsplit(".", 2)[0]):
        return exported
    return cls.__module__


def serialize_keras_object(thing):
    """What JSON can hold, and deserialize_keras_object reads."""
    if thing is None or isinstance(thing, (str, bool, int, float)):
        return thing
    if isinstance(thing, (list, tuple)):
        return [serialize_keras_object(item) for item in thing]
    if isinstance(thing, dict):
        return {key: serialize_keras_object(value) for key, value in thing.items()}
    special = _serialize_special(thing)
    if special is not None:
        return special
    if isinstance(thing, types.FunctionType) or inspect.isbuiltin(thing):
        return _serialize_function(thing)
    if not hasattr(thing, "get_config"):
        if hasattr(thing, "__name__"):
            return thing.__name__
        raise ValueError(f"{thing!r} cannot be written down: its class has no get_config()")
    out = {
        "module": module_of(thing),
        "class_name": type(thing).__dict__.get("_keras_class_name", type(thing).__name__),
        "config": {key: serialize_keras_object(value) for key, value in thing.get_config().items()},
        "registered_name": _names.get(type(thing)),
    }
    if out["registered_name"] is None and (not out["module"].startswith("keras") or out["module"].startswith("keras.src")):
        out["registered_name"] = type(thing).__name__
    if out["module"] == "__main__":
        out["module"] = None  # as Keras writes it: no other program has that module
    if hasattr(thing, "get_build_config"):
        build = thing.get_build_config()
        if build:
            out["build_config"] = serialize_keras_object(build)
    if hasattr(thing, "get_compile_config") and getattr(thing, "compiled", False):
        out["compile_config"] = serialize_keras_object(thing.get_compile_config())
    return out


def _serialize_special(thing):
    if isinstance(thing, slice):
        bounds = {name: serialize_keras_object(getattr(thing, name)) for name in ("start", "stop", "step")}
        return {"class_name": "__slice__", "config": bounds}
    if thing is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if isinstance(thing, bytes):
        return {"class_name": "__bytes__", "config": {"value": thing.decode()}}
    if hasattr(thing, "as_list") and type(thing).__name__ == "TensorShape":
        return thing.as_list()
    if type(thing).__module__ == "numpy":
        if thing.shape == ():
            return thing.item()
        return {"class_name": "__numpy__", "config": {"value": thing.tolist(), "dtype": thing.dtype.name}}
    if type(thing).__name__ == "DType":
        return thing.name
    if type(thing).__name__ == "Tensor" and hasattr(thing, "numpy"):
        return {"class_name": "__tensor__", "config": {"value": thing.numpy().tolist(), "dtype": thing.dtype.name}}
    return None


def _serialize_function(function):
    if function.__name__ == "<lambda>":
        from .lambdas import pack_lambda

        return {"class_name": "__lambda__", "config": {"value": pack_lambda(function)}}
    if function in _names:
        return {
            "module": "builtins",
            "class_name": "function",
            "config": _names[function],
            "registered_name": "function",
        }
    if function.__module__.startswith(__name__.rsplit(".", 2)[0]):
        return function.__name__
    return {
        "module": "builtins",
        "class_name": "function",
        "config": function.__name__,
        "registered_name": "function",
    }


def deserialize_keras_object(config, custom_objects=None, family=None, safe_mode=None):
    """The object that serialize_keras_object wrote down; safe_mode=None: as it is around."""
    safe_mode = in_safe_mode() if safe_mode is None else safe_mode
    if config is None or isinstance(config, (bool, int, float)):
        return config
    if isinstance(config, str):
        if family is not None:
            return family.get(config)
        return get_registered_object(config, custom_objects) or config
    if isinstance(config, (list, tuple)):
        return [deserialize_keras_object(item, custom_objects, family, safe_mode) for item in config]
    if not isinstance(config, dict):
        return config
    if "class_name" not in config or "config" not in config:
        return {key: deserialize_keras_object(value, custom_objects, None, safe_mode) for key, value in config.items()}
    name, inner = config["class_name"], config.get("config")
    if isinstance(name, str) and name.startswith("__"):
        return _deserialize_special(name, config, custom_objects, safe_mode)
    if name == "function":
        found = get_registered_object(inner, custom_objects) if isinstance(inner, str) else None
        found = found or (family and family.names.get(inner))
        if found is None:
            raise ValueError(
                f"Unknown function '{inner}' in the configuration; register it with "
                "@keras.saving.register_keras_serializable(), or pass custom_objects={...}"
            )
        return found
    cls = _class_of(config, custom_objects, family)
    if not inspect.isclass(cls):
        return cls
    return _make(cls, config, inner, custom_objects, safe_mode)


class UnknownClass(TypeError):
    """A file names a class that nobody registered."""


def _class_of(config, custom_objects, family):
    name, registered = config["class_name"], config.get("registered_name")
    for key in (registered, name):
        found = get_registered_object(key, custom_objects) if key else None
        if found is not None:
            return found
    if family is not None and name in family.names:
        return family.names[name]
    from .families import family_of

    known = family_of(config.get("module") or "", name)
    if known is not None and name in known.names:
        return known.names[name]
    where = f"{config.get('module') or ''}.{name}".lstrip(".")
    raise UnknownClass(
        f"Could not locate class '{name}' ({where}). If it is a custom class, decorate it with "
        f"`@keras.saving.register_keras_serializable()` and import it before the file is loaded, or pass "
        f"custom_objects={{'{name}': ...}}."
    )


def _make(cls, config, inner, custom_objects, safe_mode):
    scope = custom_object_scope(custom_objects) if custom_objects else contextlib.nullcontext()
    with scope, _safe_mode(safe_mode):
        try:
            made = cls.from_config(dict(inner or {}))
        except UnknownClass:
            raise
        except TypeError as error:
            raise TypeError(
                f"<class '{cls.__name__}'> could not be deserialized properly. Please ensure that components that are "
                f"Python object instances (layers, models, etc.) returned by `get_config()` are explicitly "
                f"deserialized in the model's `from_config()` method.\n\nconfig={config}.\n\n"
                f"Exception encountered: {error}"
            ) from None
        build = config.get("build_config")
        if build and hasattr(made, "build_from_config") and not getattr(made, "built", False):
            made.build_from_config(deserialize_keras_object(build))
        compiled = config.get("compile_config")
        if compiled and hasattr(made, "compile_from_config"):
            made.compile_from_config(compiled)
    return made


@contextlib.contextmanager
def _safe_mode(on):
    before = _scopes.__dict__.get("safe", True)
    _scopes.safe = on
    try:
        yield
    finally:
        _scopes.safe = before


def in_safe_mode():
    """Whether code in files is refused."""
    return not _unsafe_allowed and _scopes.__dict__.get("safe", True)


def enable_unsafe_deserialization():
    """Files may hold code from now on: lambdas are run. For files of your own only."""
    global _unsafe_allowed
    _unsafe_allowed = True


def _deserialize_special(name, config, custom_objects, safe_mode):
    inner = config["config"]
    if name == "__slice__":
        return slice(*(deserialize_keras_object(inner[key], None, None, safe_mode) for key in ("start", "stop", "step")))
    if name == "__ellipsis__":
        return Ellipsis
    if name == "__bytes__":
        return inner["value"].encode()
    if name == "__numpy__":
        import numpy

        return numpy.array(inner["value"], dtype=inner["dtype"])
    if name == "__tensor__":
        from ... import constant

        return constant(inner["value"], dtype=inner["dtype"])
    if name == "__lambda__":
        from .lambdas import unpack_lambda

        return unpack_lambda(inner["value"], safe_mode and in_safe_mode())
    if name == "__typespec__":
        return None
    raise ValueError(f"Unknown kind of value in a configuration: {name}")
