"""What functions that are written in ops return, read from their source: "Tensor", a tuple or a list of them, or "Any"."""
import ast
import inspect
import textwrap

# Of the inner module: what gives a tensor.
_INNER = {"made", "to_tensor", "to_tensor_beside", "fill", "range", "expand_dims", "squeeze", "floordiv", "floormod", "truncatediv"}


class ReturnTypes:
    """Remembers what it found, and follows calls among the functions of one module."""

    def __init__(self, is_op):
        self._is_op = is_op  # whether a value is the function of an op with one output
        self._known = {}

    def of(self, function):
        if function not in self._known:
            self._known[function] = "Any"  # what calls itself
            self._known[function] = self._read(function)
        return self._known[function]

    def _read(self, function):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        except (OSError, TypeError, SyntaxError):
            return "Any"
        if not isinstance(tree, ast.FunctionDef):
            return "Any"
        nodes = list(_own_nodes(tree))
        if tree.decorator_list or any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
            return "Any"
        returns = [node for node in nodes if isinstance(node, ast.Return)]
        return _one({self._type(node.value, tree, function) for node in returns}) if returns else "None"

    def _type(self, node, tree, function):
        again = lambda inner: self._type(inner, tree, function)  # noqa: E731
        if node is None or isinstance(node, ast.Constant) and node.value is None:
            return "None"
        if isinstance(node, ast.Tuple):
            return f"builtins.tuple[{', '.join(again(item) for item in node.elts)}]"
        if isinstance(node, ast.ListComp):
            return f"builtins.list[{again(node.elt)}]"
        if isinstance(node, ast.BinOp):
            return "Tensor" if "Tensor" in (again(node.left), again(node.right)) else "Any"
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return again(node.operand)
        if isinstance(node, ast.IfExp):
            return _one({again(node.body), again(node.orelse)})
        if isinstance(node, ast.Call):
            return self._called(node.func, function)
        if isinstance(node, ast.Name):
            return self._variable(node.id, tree, again)
        return "Any"

    def _called(self, callee, function):
        if isinstance(callee, ast.Subscript) and isinstance(callee.value, (ast.Name, ast.Attribute)):  # records["name"](…)
            return "Tensor" if ast.unparse(callee.value).endswith("records") and isinstance(callee.slice, ast.Constant) else "Any"
        if isinstance(callee, ast.Attribute) and ast.unparse(callee.value) == "_tandem":
            return "Tensor" if callee.attr in _INNER else "Any"
        names = inspect.getmodule(function).__dict__
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            names, name = getattr(names.get(callee.value.id), "__dict__", {}), callee.attr
        elif isinstance(callee, ast.Name):
            name = callee.id
        else:
            return "Any"
        value = names.get(name)
        if self._is_op(value):
            return "Tensor"
        ours = inspect.isfunction(value) and (value.__module__ or "").startswith("tandemflow")
        return self.of(value) if ours else "Any"

    def _variable(self, name, tree, again):
        """A local name whose every assignment is of one type; parameters may be anything."""
        found = set()
        for node in _own_nodes(tree):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                if any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(node.value)):
                    continue  # x = f(x) keeps what x is, as ops do
                found.add(again(node.value))
            elif isinstance(node, (ast.Assign, ast.For, ast.AugAssign, ast.With, ast.NamedExpr)) and _binds(node, name):
                return "Any"
        parameters = {a.arg for a in tree.args.args + tree.args.kwonlyargs}
        return _one(found) if found and (name not in parameters or found == {"Tensor"}) else "Any"


def _own_nodes(tree):
    """The nodes of a function without those of functions inside it."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield node
            yield from _own_nodes(node)


def _binds(node, name):
    return any(isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store) for inner in ast.walk(node))


def _one(types):
    return types.pop() if len(types) == 1 else "Any"
