"""Names of the package and its modules: loaded when they are first used, and what is nearest to one that is not there."""
import importlib
import sys

def nearest(name, names):
    """The name most like `name`; None when nothing is alike."""
    import difflib

    lower = {candidate.lower(): candidate for candidate in names if not candidate.startswith("_")}
    found = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    return lower[found[0]] if found else None


def shown(module):
    """tf.nn for tandemflow.nn."""
    return "tf" + module[len("tandemflow") :]


def _holder(name):
    """A module of the package that has the name."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("tandemflow.") and not any(part.startswith("_") for part in module_name.split(".")):
            if name in vars(module) and not module_name.endswith("." + name):
                return f"{shown(module_name)}.{name}"
    return None


def complaint(module, name, names):
    """The text for a name that a module does not have."""
    text = f"module '{module}' has no attribute '{name}'"
    from ._former_names import use_instead

    elsewhere = use_instead(module, name)
    if elsewhere is not None:
        return f"{text}; use {elsewhere}"
    alike = nearest(name, names)
    if alike is None or alike.lower() != name.lower():
        elsewhere = _holder(name)
        if elsewhere is not None:
            return f"{text}; did you mean {elsewhere}?"
    return f"{text}; did you mean {shown(module)}.{alike}?" if alike is not None else text


def lazy(module, places=(), submodules=()):
    """__getattr__ and __dir__ of a module: `places` says which module of the package holds a name, and ":" that it is one."""
    places = dict(places)
    submodules = frozenset(submodules)
    namespace = vars(sys.modules[module])

    def getattribute(name):
        if name in submodules:
            return importlib.import_module(f"{module}.{name}")
        if name in places:
            source, colon, other = places[name].partition(":")
            found = importlib.import_module("tandemflow." + source)
            value = namespace[name] = found if colon and not other else getattr(found, other or name)
            return value
        if name.startswith("__"):
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        raise AttributeError(complaint(module, name, {*namespace, *places, *submodules}))

    def directory():
        return sorted({*namespace, *places, *submodules})

    return getattribute, directory


def places_of(**modules):
    """{name: module} from lists of names by module, "new_name=old_name" where they differ."""
    places = {}
    for module, names in modules.items():
        for word in names.split():
            name, _, old = word.partition("=")
            places[name] = f"{module}:{old}" if old else module
    return places
