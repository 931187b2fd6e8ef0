"""Writes the types (.pyi) of the package, for type checkers and editors: stubs.py FOLDER

The build runs it on the package it made. Only modules whose names are not in their source need a file: the inner module,
and those that take ops from the records or load names when they are used. All else type checkers read from the source.
"""
import ast
import importlib
import inspect
import keyword
import pkgutil
import re
import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]).parent))  # not by PYTHONPATH, which pip uses while it builds

import tandemflow  # noqa: E402
from return_types import ReturnTypes  # noqa: E402
from tandemflow import _tandem  # noqa: E402
from tandemflow._dtypes import DType  # noqa: E402

HEADER = '''"""Written by tools/stubs.py from the package; do not edit."""
import builtins
import typing
from typing import Any

'''
ALIASES = '''TensorLike = typing.Union[Tensor, Variable, builtins.bool, int, float, str, bytes, typing.Sequence[Any], "numpy.ndarray[Any, Any]", "numpy.generic"]
DTypeLike = typing.Union[DType, str, type, "numpy.dtype[Any]"]
Integers = typing.Union[typing.SupportsInt, typing.Sequence[Any], TensorLike, None]
'''
_KINDS = [
    ("a tensor, or what converts", "TensorLike"), ("a list of tensors", "typing.Sequence[TensorLike]"), ("an integer or a list", "Integers"),
    ("an integer", "typing.SupportsInt"), ("a number", "typing.SupportsFloat"), ("a bool", "builtins.bool"), ("a dtype", "DTypeLike"), ("one of", "builtins.str"),
]  # fmt: skip
_GIVES_TENSOR = set("add sub mul truediv floordiv mod pow matmul and or xor".split())
_KNOWN_METHODS = {
    "__init__": "(self, *args: Any, **kwargs: Any) -> None", "__iter__": "(self) -> typing.Iterator[Tensor]", "__len__": "(self) -> int",
    "__bool__": "(self) -> bool", "__int__": "(self) -> int", "__float__": "(self) -> float", "__index__": "(self) -> int",
    "__getitem__": "(self, key: Any) -> Tensor", "__neg__": "(self) -> Tensor", "__abs__": "(self) -> Tensor",
    "__pos__": "(self) -> Tensor", "__invert__": "(self) -> Tensor", "numpy": "(self) -> Any", "value": "(self) -> Tensor",
    "read_value": "(self) -> Tensor", "__array__": "(self, dtype: Any = ..., copy: Any = ...) -> Any",
}  # fmt: skip
_KNOWN_PROPERTIES = {"dtype": "DType", "shape": "TensorShape", "ndim": "int", "device": "str", "name": "str", "trainable": "bool"}


def is_op(value):
    return isinstance(value, _tandem.OpFunction)


def gives_one(value):
    return is_op(value) and "Returns: a list" not in value.__doc__


RETURNS = ReturnTypes(gives_one)


def summary(value):
    """The first line of a docstring, as one."""
    text = (inspect.getdoc(value) or "").strip().split("\n")[0]
    return '"""' + text.replace("\\", "\\\\").replace('"""', "'''") + '"""' if text and not text.endswith('"') else "..."


def op_stub(name, function):
    """An op's signature, with the types that its documentation states."""
    kinds = dict(re.findall(r"^  (\w+): (.*)$", function.__doc__, re.M))
    words = []
    for parameter in inspect.signature(function).parameters.values():
        kind = next((known for text, known in _KINDS if kinds.get(parameter.name, "").startswith(text)), "builtins.str | None")
        given = parameter.default is not parameter.empty
        optional = " | None" if given and parameter.default is None and "None" not in kind else ""
        words.append(f"{parameter.name}: {kind}{optional}" + (" = ..." if given else ""))
    result = "Tensor" if gives_one(function) else "builtins.list[Tensor]"
    return f"def {name}({', '.join(words)}) -> {result}: {summary(function)}\n"


def parameter_words(signature):
    words, star = [], False
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            star = True
            words.append(f"*{p.name}: Any")
            continue
        if p.kind is p.VAR_KEYWORD:
            words.append(f"**{p.name}: Any")
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            star = True
            words.append("*")
        words.append(f"{p.name}: Any" + (" = ..." if p.default is not p.empty else ""))
    return ", ".join(words)


def function_stub(name, function):
    try:
        words = parameter_words(inspect.signature(function))
    except (TypeError, ValueError):  # a built-in that does not tell
        words = "*args: Any, **kwargs: Any"
    result = RETURNS.of(function) if inspect.isfunction(function) else "Any"
    return f"def {name}({words}) -> {result}: {summary(function)}\n"


def method_stub(name, value):
    bare = name.strip("_")
    if name in _KNOWN_METHODS:
        return f"    def {name}{_KNOWN_METHODS[name]}: ...\n"
    if name.startswith("__") and (bare in _GIVES_TENSOR or bare[:1] == "r" and bare[1:] in _GIVES_TENSOR):
        return f"    def {name}(self, other: TensorLike) -> Tensor: ...\n"
    if name in ("__lt__", "__le__", "__gt__", "__ge__"):
        return f"    def {name}(self, other: TensorLike) -> Tensor: ...\n"
    if name in ("__eq__", "__ne__"):
        return f"    def {name}(self, other: Any) -> Tensor: ...  # type: ignore[override]\n"
    return f"    def {name}(self, *args: Any, **kwargs: Any) -> Any: {summary(value)}\n" if not name.startswith("__") else ""


def class_stub(cls):
    lines = [f"class {cls.__name__}:\n    {summary(cls)}\n"]
    for name in sorted({*vars(cls), *(["__init__"] if cls is _tandem.Variable else [])}):
        value = getattr(cls, name)
        if isinstance(value, types.GetSetDescriptorType):
            if name[0] != "_":
                lines.append(f"    @property\n    def {name}(self) -> {_KNOWN_PROPERTIES.get(name, 'Any')}: {summary(value)}\n")
        elif callable(value):
            lines.append(method_stub(name, value))
    if cls is _tandem.OpFunction:
        lines.append("    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...\n")
    if cls is _tandem.Variable:
        lines.append("    def __setattr__(self, name: str, value: Any) -> None: ...\n")
    return "".join(lines)


def inner_stub():
    """The types of the inner module; its functions are the package's own business."""
    text = HEADER + "import numpy\n\nfrom ._dtypes import DType\nfrom ._shape import TensorShape\n\n" + ALIASES + "\n"
    values = {name: value for name, value in sorted(vars(_tandem).items()) if name[0] != "_"}
    text += "".join(class_stub(value) for value in values.values() if inspect.isclass(value))
    for name, value in values.items():
        if inspect.isclass(value):
            continue
        text += f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n" if callable(value) else f"{name}: {type(value).__name__}\n"
    return text


def static_names(module):
    """What a module's source binds at its top."""
    names = set()
    for node in ast.parse(Path(module.__file__).read_text()).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            names |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    return names


def public(module):
    return [name for name in dir(module) if name[0] != "_" and not keyword.iskeyword(name)]


def home_of(value, name):
    """The module whose source defines a class or function by a name, if any."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    real = getattr(value, "__name__", None)
    if module is None or not module.__name__.startswith("tandemflow") or getattr(module, real or "", None) is not value:
        return None
    return (module.__name__, real) if module is _tandem or real in static_names(module) else None


def name_stub(module, name, value, statics):
    if isinstance(value, types.ModuleType):
        if not value.__name__.startswith("tandemflow"):
            return ""
        parent, _, last = value.__name__.rpartition(".")
        return f"from {parent} import {last} as {name}\n" if parent else f"import {last} as {name}\n"
    if is_op(value):
        return op_stub(name, value)
    if value in (_tandem.Tensor, _tandem.Variable, _tandem.OpFunction):
        return f"from tandemflow._tandem import {value.__name__} as {name}\n" if name != value.__name__ or module is not tandemflow else ""
    home = home_of(value, name)
    if inspect.isclass(value) and home and home[0] != module.__name__:
        return f"from {home[0]} import {home[1]} as {name}\n"
    if inspect.isclass(value) and value.__module__ == "builtins":
        return ""
    if inspect.isclass(value):
        return f"class {name}:\n    {summary(value)}\n    def __init__(self, *args: Any, **kwargs: Any) -> None: ...\n    def __getattr__(self, name: str) -> Any: ...\n"
    if callable(value) and hasattr(value, "__name__"):
        return function_stub(name, value)
    kind = "DType" if isinstance(value, DType) else type(value).__name__ if type(value) in (int, float, str, bool) else "Any"
    return f"{name}: {kind}\n"


def module_stub(module):
    text = HEADER + "from tandemflow._dtypes import DType\nfrom tandemflow._tandem import DTypeLike, Integers, Tensor, TensorLike, Variable\n\n"
    if module is tandemflow:
        text = text.replace("Tensor, TensorLike, Variable", "Tensor as Tensor, TensorLike, Variable as Variable")
        text = text.replace("import DType\n", "import DType as DType\n")
    if getattr(module, "Variable", _tandem.Variable) is not _tandem.Variable:  # keras has one of its own
        text = text.replace("TensorLike, Variable\n", "TensorLike\n")
    statics = static_names(module)
    skipped = {"DType"} if module is tandemflow else set()
    parts = [name_stub(module, name, getattr(module, name), statics) for name in public(module) if name not in skipped]
    text += "".join(parts)
    return text + "__version__: str\n" if hasattr(module, "__version__") else text


def modules():
    """The package and its public modules, with the files of their types."""
    yield tandemflow, Path("__init__.pyi")
    for found in pkgutil.walk_packages(tandemflow.__path__, "tandemflow."):
        words = found.name.split(".")[1:]
        if not any(word.startswith("_") for word in words):
            path = Path(*words)
            yield importlib.import_module(found.name), path / "__init__.pyi" if found.ispkg else path.with_suffix(".pyi")


def main(folder):
    """Files are written only where they change, so that nothing is checked again that is the same."""
    wanted = {Path("_tandem.pyi"): inner_stub()}
    for module, path in modules():
        if set(public(module)) - static_names(module):
            wanted[path] = module_stub(module)
    for path, text in wanted.items():
        target = Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
