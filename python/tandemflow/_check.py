"""Which names of TensorFlow and Keras a program uses that are not here: python -m tandemflow check FILE"""
import ast
import importlib
import sys
import types
from collections import namedtuple

from . import _aliases, _names
from ._former_names import use_instead

Missing = namedtuple("Missing", ["line", "name", "nearest", "instead"])  # the name most like it; what is known to stand for it today
_OURS = "tandemflow"


def _module_of(name):
    """The module of this package that an import names; None for other packages."""
    if name == _OURS or name.startswith(_OURS + "."):
        return name
    return _aliases.target(name)


def _loaded(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


class _Names(ast.NodeVisitor):
    """Walks a program; `aliases` are names in it that stand for things of TensorFlow."""

    def __init__(self):
        self.aliases = {}  # name in the program: TensorFlow's dotted name, or this package's
        self.missing = []
        self.used = set()

    # --- Imports. ---

    def visit_Import(self, node):
        for alias in node.names:
            if _module_of(alias.name) is None:
                if alias.name.split(".")[0].startswith("tensorflow_"):
                    self._note(node.lineno, alias.name, False)
                continue
            self._resolve(alias.name, node.lineno)
            name = alias.asname or alias.name.split(".")[0]
            self.aliases[name] = alias.name if alias.asname else alias.name.split(".")[0]

    def visit_ImportFrom(self, node):
        if node.level or not node.module:
            return
        if _module_of(node.module) is None:
            if node.module.split(".")[0].startswith("tensorflow_"):
                self._note(node.lineno, node.module, False)
            return
        for alias in node.names:
            if alias.name == "*":
                self._resolve(node.module, node.lineno)
                continue
            full = f"{node.module}.{alias.name}"
            self._resolve(full, node.lineno)
            self.aliases[alias.asname or alias.name] = full

    # --- Uses. ---

    def visit_Assign(self, node):
        self.visit(node.value)
        full = self._dotted(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and full is not None:
                self.aliases[target.id] = full
            else:
                self.visit(target)

    def _dotted(self, node):
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in self.aliases:
            return ".".join([self.aliases[node.id], *reversed(parts)])
        return None

    def visit_Attribute(self, node):
        full = self._dotted(node)
        if full is None:
            self.generic_visit(node)
        else:
            self._resolve(full, node.lineno)

    # --- Resolving. ---

    def _note(self, line, name, found, nearest=None, instead=None):
        self.used.add(name)
        if not found:
            self.missing.append(Missing(line, name, nearest, instead))

    def _resolve(self, full, line):
        ours = _module_of(full)
        if ours is None:
            return
        value, words = importlib.import_module(_OURS), ours.split(".")[1:]
        shown = full.split(".")[: len(full.split(".")) - len(words)] if words else full.split(".")
        for i, word in enumerate(words):
            path = ".".join([*shown, *words[: i + 1]])
            if not isinstance(value, (types.ModuleType, type)):
                break  # what an object has is known when it is made
            if not hasattr(value, word):
                module = _loaded(".".join([_OURS, *words[: i + 1]])) if isinstance(value, types.ModuleType) else None
                if module is None:
                    place = ".".join([_OURS, *words[:i]])
                    return self._note(line, path, False, _nearest(value, word, place), use_instead(place, word))
                value = module
                continue
            value = getattr(value, word)
        self._note(line, full, True)
        return None


def _nearest(value, word, place):
    alike = _names.nearest(word, dir(value))
    return f"{_names.shown(place)}.{alike}" if alike is not None else None


def check_source(source, path="<program>"):
    """(missing names with their lines, how many different names are used) of a program."""
    from ._run import translate

    try:
        tree = ast.parse(source, path)
    except SyntaxError:
        tree = ast.parse(translate(source), path)
    names = _Names()
    names.visit(tree)
    return sorted(set(names.missing), key=lambda entry: entry[:2]), len(names.used)


def main(paths):
    """Prints a line for each missing name; 1 when there are some."""
    failed = False
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                missing, count = check_source(file.read(), path)
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            print(f"{path}: cannot be read as a Python program: {error}", file=sys.stderr)
            failed = True
            continue
        for entry in missing:
            hint = f"; use {entry.instead}" if entry.instead else f"; the nearest is {entry.nearest}" if entry.nearest else ""
            print(f"{path}:{entry.line}: {entry.name} is missing{hint}")
        gone = len({entry.name for entry in missing})
        print(f"{path}: {count - gone} of {count} names are there")
        failed = failed or bool(missing)
    return 1 if failed else 0
