"""Rewrites expressions: calls, `and`, `or`, `not`, conditional and chained ones, so that tensors may stand in them."""
import ast

from .symbols import dotted

# Functions that look at the frame they are called from.
_FRAME_FUNCTIONS = {"locals", "globals", "vars", "eval", "exec", "dir"}


def _ag(name, *arguments):
    return ast.Call(func=ast.Attribute(value=ast.Name(id="ag__", ctx=ast.Load()), attr=name, ctx=ast.Load()), args=list(arguments), keywords=[])


def _thunk(expression, parameter=None):
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(arg=parameter)] if parameter else [], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=arguments, body=expression)


def _can_wait(*nodes):
    """False for what may not move into a lambda."""
    return not any(isinstance(child, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for node in nodes for child in ast.walk(node))


class Expressions(ast.NodeTransformer):
    """For the statements of one function; `uncertain` are variables that may not have a value when they are read."""

    def __init__(self, uncertain, first_parameter):
        self._uncertain = uncertain
        self._first_parameter = first_parameter

    @staticmethod
    def _placed(node, like):
        return ast.fix_missing_locations(ast.copy_location(node, like))

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and node.id in self._uncertain:
            return self._placed(_ag("ld", ast.Name(id=node.id, ctx=ast.Load())), node)
        return node

    def visit_Call(self, node):
        name = node.func.id if isinstance(node.func, ast.Name) else None
        path = dotted(node.func)
        if path is not None and path.startswith("ag__."):
            return node
        if name == "super" and not node.args and self._first_parameter:
            node.args = [ast.Name(id="__class__", ctx=ast.Load()), ast.Name(id=self._first_parameter, ctx=ast.Load())]
            return self._placed(node, node)
        self.generic_visit(node)
        if name in _FRAME_FUNCTIONS or name == "super":
            return node
        node.func = self._placed(_ag("call", node.func), node.func)
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if not _can_wait(*node.values):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._placed(_ag(name, *[_thunk(value) for value in node.values]), node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return self._placed(_ag("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if not _can_wait(node.body, node.orelse):
            return node
        return self._placed(_ag("if_exp", node.test, _thunk(node.body), _thunk(node.orelse)), node)

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 or not _can_wait(node):
            return node
        # a < b < c: (lambda b: a < b and b < c)(b)
        left, middle, name = node.left, node.comparators[0], f"between_{len(node.ops)}__"
        first = ast.Compare(left=left, ops=[node.ops[0]], comparators=[ast.Name(id=name, ctx=ast.Load())])
        others = ast.Compare(left=ast.Name(id=name, ctx=ast.Load()), ops=node.ops[1:], comparators=node.comparators[1:])
        rest = others if len(others.ops) == 1 else self._placed(others, node)
        if len(others.ops) > 1:
            rest = self.visit_Compare(rest)
        both = _ag("and_", _thunk(first), _thunk(rest))
        return self._placed(ast.Call(func=_thunk(both, name), args=[middle], keywords=[]), node)

    def visit_Assert(self, node):
        self.generic_visit(node)
        message = node.msg if node.msg is not None else ast.Constant(value="Assertion error")
        return self._placed(ast.Expr(value=_ag("assert_stmt", node.test, _thunk(message))), node)

    def visit_For(self, node):
        extra = getattr(node, "extra_test", None)
        self.generic_visit(node)
        function = node.iter.func if isinstance(node.iter, ast.Call) else None
        if isinstance(function, ast.Call) and dotted(function.func) == "ag__.call":
            function.func.attr = "iterated"  # tf.range need not become a tensor there
        if extra is not None:
            node.extra_test = self.visit(extra)
        return node

    def visit_Lambda(self, node):
        inner = Expressions(self._uncertain - {argument.arg for argument in node.args.args}, None)
        node.body = inner.visit(node.body)
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        return self._placed(_ag("converted", node), node)

    def visit_FunctionDef(self, node):
        return node  # converted on its own

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_ClassDef(self, node):
        return node
