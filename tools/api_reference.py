"""Writes the reference of the Python package, a page a module, from the op records and the docstrings: scripts/docs [FOLDER]"""
import importlib
import inspect
import pkgutil
import sys
import types
from pathlib import Path

import tandemflow
from tandemflow import _tandem

# Packages whose files are modules that people import; elsewhere files are how a package is made, but for those named.
_OPEN = {"", "compat", "compat.v1", "config", "data", "distribute", "experimental", "keras", "keras.datasets", "keras.preprocessing",
         "profiler", "test", "types"}  # fmt: skip
_NAMED = {
    "autograph": {"experimental"}, "keras.optimizers": {"schedules", "legacy"}, "keras.ops": {"nn", "numpy", "linalg", "image"},
    "keras.applications": {"efficientnet", "imagenet_utils", "inception_v3", "mobilenet", "mobilenet_v2", "resnet", "resnet50", "resnet_v2",
                           "vgg16", "vgg19", "xception"},
}  # fmt: skip


def modules():
    """The package and the modules of it that people import, by name."""
    yield tandemflow
    for found in pkgutil.walk_packages(tandemflow.__path__, "tandemflow."):
        words = found.name.split(".")[1:]
        parent = ".".join(words[:-1])
        if any(word.startswith("_") for word in words) or parent not in _OPEN and words[-1] not in _NAMED.get(parent, ()):
            continue
        module = importlib.import_module(found.name)
        if module.__name__ == found.name:
            yield module


def is_ours(value):
    module = getattr(value, "__module__", None) or ""
    return module.split(".")[0] == "tandemflow" or isinstance(value, (_tandem.OpFunction, _tandem.Tensor))


def is_helper(module, value):
    """What a file of a subpackage takes from a private file beside it; packages take what they offer from there."""
    package, _, last = (getattr(value, "__module__", None) or "").rpartition(".")
    return not hasattr(module, "__path__") and package.count(".") > 0 and package == module.__package__ and last.startswith("_")


def entries(module):
    """The names of a module that a program uses, with their values: no imports of other libraries, no modules."""
    for name in sorted(dir(module), key=str.lower):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) or callable(value) and not is_ours(value) or is_helper(module, value):
            continue
        yield name, value


def signature(value):
    try:
        return str(inspect.signature(value)).replace("<no value>", "…")
    except (TypeError, ValueError):
        return "(…)"


def documentation(value):
    return (inspect.getdoc(value) or "").strip()


def method_lines(cls):
    for name, raw in sorted(vars(cls).items()):
        value = getattr(cls, name)
        if name.startswith("_") or not documentation(value):
            continue
        text = documentation(value).split("\n")[0]
        call = "" if isinstance(raw, (property, types.GetSetDescriptorType, types.MemberDescriptorType)) else signature(value).replace("(self, ", "(").replace("(self)", "()")
        yield f"- `{name}{call}`: {text}"


def class_lines(name, cls):
    yield f"### class {name}\n\n```\n{name}{signature(cls)}\n```\n"
    if documentation(cls):
        yield documentation(cls) + "\n"
    methods = list(method_lines(cls))
    if methods:
        yield "\n".join(methods) + "\n"


def function_lines(name, function):
    yield f"### {name}\n\n```\n{name}{signature(function)}\n```\n"
    text = documentation(function)
    if "\nArgs:" in text:  # of an op's record: a list
        first, _, rest = text.partition("\n\nArgs:\n")
        lines = [f"- `{line.strip().partition(': ')[0]}`: {line.strip().partition(': ')[2]}" if line.startswith("  ") else line for line in rest.split("\n")]
        text = first + "\n\n" + "\n".join(lines).strip()
    if text:
        yield text + "\n"


def page(module):
    shown = module.__name__.replace("tandemflow", "tf", 1)
    lines = [f"# {shown}\n"]
    if documentation(module):
        lines.append(documentation(module) + "\n")
    values = []
    for name, value in entries(module):
        if inspect.isclass(value):
            lines += class_lines(name, value)
        elif callable(value):
            lines += function_lines(name, value)
        else:
            values.append(f"- `{name}` = `{value!r}`" if len(repr(value)) < 80 else f"- `{name}`")
    if values:
        lines += ["## Values\n", "\n".join(values) + "\n"]
    return "\n".join(lines)


def undocumented():
    """Public functions and classes without a docstring."""
    for module in modules():
        for name, value in entries(module):
            if callable(value) and not documentation(value):
                yield f"{module.__name__}.{name}"


def main(folder):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for module in modules():
        name = module.__name__.replace("tandemflow", "tf", 1)
        (folder / f"{name}.md").write_text(page(module), encoding="utf-8")
        names.append((name, documentation(module).split("\n")[0].partition(": ")[2]))
    index = ["# Reference", "", "Written by `scripts/docs` from the op records and the docstrings.", ""]
    index += [f"- [{name}]({name}.md)" + (f": {text}" if text else "") for name, text in names]
    (folder / "README.md").write_text("\n".join(index) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
