"""Rewrites the syntax tree of a function, pass after pass."""
import ast
import copy

from .expressions import Expressions
from .jumps import remove_jumps
from .liveness import block as mark_live
from .statements import Statements
from .symbols import CONTENTS, SCOPES, Uses, changed_in, declared, free_reads, is_part, parameters


def _own_nodes(statements):
    """The nodes of a function's body, without those of nested functions."""
    pending = list(statements)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, SCOPES):
            pending.extend(ast.iter_child_nodes(node))


def _written_in_control_flow(function):
    written = set()
    for node in _own_nodes(function.body):
        if isinstance(node, (ast.If, ast.While, ast.For)):
            target = [node.target] if isinstance(node, ast.For) else []
            written |= Uses(*target, *node.body, *node.orelse).writes
    return {name for name in written if not is_part(name)}


def _mark_changed(function):
    """Notes with every branch and loop which containers it changes, while calls are still seen as calls. A branch may also change
    those that it hands to a function, or that a function inside this one takes from around it."""
    inside = {node.name: free_reads(node) for node in _own_nodes(function.body) if isinstance(node, ast.FunctionDef)}
    for node in _own_nodes(function.body):
        if isinstance(node, (ast.If, ast.While, ast.For)):
            node.changed = changed_in(*node.body, *node.orelse)
        if isinstance(node, ast.If):
            reads = Uses(*node.body, *node.orelse).reads
            reads = reads.union(*(inside[name] for name in reads if name in inside))
            node.changed |= {name + CONTENTS for name in reads if not name.endswith("]")}


def _seen_by_nested(function):
    """Variables that nested functions read whenever they are called."""
    names = set()
    for node in _own_nodes(function.body):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            names |= free_reads(node)
    return names


def rewrite_function(node):
    """Rewrites a function definition in place and returns it."""
    remove_jumps(node)
    own_parameters = parameters(node.args)
    global_names, outer_names = declared(node, ast.Global), declared(node, ast.Nonlocal)
    written = _written_in_control_flow(node)
    uncertain = written - set(own_parameters) - global_names - outer_names
    mark_live(node.body, _seen_by_nested(node) | global_names | outer_names)
    _mark_changed(node)
    expressions = Expressions(uncertain, own_parameters[0] if own_parameters else None)
    node.body = [expressions.visit(statement) for statement in node.body]
    node.body = Statements(global_names, _rewrite_nested).block(node.body)
    node.body = _split_declarations(node, uncertain)
    return ast.fix_missing_locations(node)


def _split_declarations(node, uncertain):
    """Docstring and declarations come first, then values for variables that may never get another."""
    body = node.body
    count = 1 if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else 0
    while count < len(body) and isinstance(body[count], (ast.Global, ast.Nonlocal)):
        count += 1
    begin = ast.parse("\n".join(f"{name} = ag__.Undefined({name!r})" for name in sorted(uncertain))).body
    for statement in begin:
        for child in ast.walk(statement):
            if "lineno" in child._attributes:
                ast.copy_location(child, node)
    return [*body[:count], *begin, *body[count:]]


def _is_generator(node):
    return any(isinstance(child, (ast.Yield, ast.YieldFrom, ast.Await)) for child in _own_nodes(node.body))


def _rewrite_nested(node):
    if _is_generator(node):
        return node
    rewrite_function(node)
    mark = ast.parse("ag__.converted", mode="eval").body
    for child in ast.walk(mark):
        ast.copy_location(child, node)
    node.decorator_list = [*node.decorator_list, mark]
    return node


class _Mangle(ast.NodeTransformer):
    """self.__x in a class becomes self._Class__x, as Python's compiler does."""

    def __init__(self, owner):
        self._prefix = "_" + owner.lstrip("_")

    def _name(self, name):
        return self._prefix + name if name.startswith("__") and not name.endswith("__") else name

    def visit_Attribute(self, node):
        self.generic_visit(node)
        node.attr = self._name(node.attr)
        return node

    def visit_Name(self, node):
        node.id = self._name(node.id)
        return node

    def visit_arg(self, node):
        node.arg = self._name(node.arg)
        return node


def _plain_arguments(arguments):
    """Defaults are taken from the original function, annotations are not needed."""
    none = ast.Constant(value=None)
    arguments.defaults = [copy.copy(none) for _ in arguments.defaults]
    arguments.kw_defaults = [None if default is None else copy.copy(none) for default in arguments.kw_defaults]
    for node in ast.walk(arguments):
        if isinstance(node, ast.arg):
            node.annotation = None


def rewritten(node, name, owner=None):
    """The definition (of a function or lambda) rewritten under the given name; None for generators and coroutines."""
    node = copy.deepcopy(node)
    if isinstance(node, ast.Lambda):
        body = [ast.copy_location(ast.Return(value=node.body), node.body)]
        definition = ast.FunctionDef(name=name, args=node.args, body=body, decorator_list=[], returns=None, type_params=[])
        node = ast.copy_location(definition, node)
    if isinstance(node, ast.AsyncFunctionDef) or _is_generator(node):
        return None
    if owner:
        node = _Mangle(owner).visit(node)
    node.name, node.decorator_list, node.returns = name, [], None
    _plain_arguments(node.args)
    return rewrite_function(node)
