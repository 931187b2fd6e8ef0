"""Which variables a piece of Python reads and writes: names, their attributes and items, "x", "self.count", "d['key']"."""
import ast
import re

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def dotted(node):
    """"self.count" of an attribute of a name; None for other expressions."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not parts:
        return None
    return ".".join([node.id, *reversed(parts)])


def item(node):
    """"d['key']" of an item with a constant key; None for other expressions."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant) or not isinstance(node.slice.value, (int, str)):
        return None
    owner = node.value.id if isinstance(node.value, ast.Name) else dotted(node.value)
    return None if owner is None else f"{owner}[{node.slice.value!r}]"


def is_part(name):
    """True for attributes and items, which belong to an object that lives on."""
    return "." in name or name.endswith("]")


def owner_of(name):
    """"self" of "self.count"."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]


# Methods that change a list, dict, set or deque in its place.
_CHANGING = frozenset("append appendleft extend extendleft insert pop popleft popitem remove clear update setdefault add discard sort reverse".split())
CONTENTS = "[*]"  # "acc[*]": what is in the container acc


def _contents(node):
    """"acc[*]" of a name or attribute."""
    owner = node.id if isinstance(node, ast.Name) else dotted(node)
    return None if owner is None else owner + CONTENTS


def changed_in(*nodes):
    """The contents that statements change in their place: by methods, or by items whose keys are not constants."""
    changed = set()
    for part in (part for node in nodes for part in ast.walk(node)):
        if isinstance(part, ast.Attribute) and part.attr in _CHANGING:
            changed.add(_contents(part.value))
        elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load) and item(part) is None:
            changed.add(_contents(part.value))
    return changed - {None}


class Uses(ast.NodeVisitor):
    """Reads and writes of statements or expressions, nested functions included as reads."""

    def __init__(self, *nodes):
        self.reads = set()
        self.writes = set()
        for node in nodes:
            self.visit(node)

    def visit_Name(self, node):
        (self.reads if isinstance(node.ctx, ast.Load) else self.writes).add(node.id)

    def visit_Attribute(self, node):
        name = dotted(node)
        if name is not None:
            (self.reads if isinstance(node.ctx, ast.Load) else self.writes).add(name)
        self.visit(node.value)

    def visit_Subscript(self, node):
        name = item(node)
        if name is not None:
            (self.reads if isinstance(node.ctx, ast.Load) else self.writes).add(name)
        self.visit(node.value)
        self.visit(node.slice)

    def visit_AugAssign(self, node):
        self.visit(node.value)
        self.visit(node.target)
        name = node.target.id if isinstance(node.target, ast.Name) else dotted(node.target) or item(node.target)
        if name is not None:
            self.reads.add(name)

    def visit_FunctionDef(self, node):
        self.writes.add(node.name)
        for part in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        self.reads |= free_reads(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        self.reads |= free_reads(node)

    def visit_ClassDef(self, node):
        self.writes.add(node.name)
        self.reads |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}

    def _comprehension(self, node):
        inner = Uses()
        for child in ast.iter_child_nodes(node):
            inner.visit(child)
        own = set()
        for generator in node.generators:
            own |= Uses(generator.target).writes
        self.reads |= inner.reads - own
        self.writes |= {child.target.id for child in ast.walk(node) if isinstance(child, ast.NamedExpr)}

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Import(self, node):
        self.writes |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node):
        if node.name:
            self.writes.add(node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node):
        if node.name:
            self.writes.add(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs


def parameters(arguments):
    """The names of a function's parameters."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [argument.arg for argument in every if argument is not None]


def free_reads(function):
    """What a nested function reads of the functions around it, or might."""
    body = function.body if isinstance(function.body, list) else [function.body]
    uses = Uses(*body)
    declared = {name for node in ast.walk(function) if isinstance(node, ast.Nonlocal) for name in node.names}
    own = (set(parameters(function.args)) | (uses.writes if isinstance(function.body, list) else set())) - declared
    return {name for name in uses.reads if owner_of(name) not in own} | declared


def declared(function, kind):
    """The names in a function's own `global` or `nonlocal` statements."""
    names = set()
    pending = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            names |= set(node.names)
        if not isinstance(node, SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return names
