"""Takes break, continue and early return out of a function: they become flags that guard what follows.

What follows an `if` whose branch always jumps moves into the other branch, so that most programs need no flag at all.
"""
import ast

from .symbols import SCOPES

_LOOPS = (ast.For, ast.While, ast.AsyncFor)


def _contains(node, kinds, into_loops):
    if isinstance(node, kinds):
        return True
    if isinstance(node, SCOPES) or (isinstance(node, _LOOPS) and not into_loops):
        return False
    return any(_contains(child, kinds, into_loops) for child in ast.iter_child_nodes(node))


def _jumps(node):
    """True when a break or continue of the enclosing loop, or a return, is inside."""
    if isinstance(node, _LOOPS):
        inside = any(_contains(child, ast.Return, True) for child in [*node.body, *node.orelse])
        return inside or any(_contains(child, (ast.Break, ast.Continue), False) for child in node.orelse)
    return _contains(node, ast.Return, True) or _contains(node, (ast.Break, ast.Continue), False)


def always_jumps(statements):
    for node in statements:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if isinstance(node, ast.If) and always_jumps(node.body) and always_jumps(node.orelse):
            return True
        if isinstance(node, (ast.With, ast.AsyncWith)) and always_jumps(node.body):
            return True
    return False


def _set(name, value, like):
    node = ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)
    return ast.fix_missing_locations(ast.copy_location(node, like))


def _not_any(names, like):
    tests = [ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name, ctx=ast.Load())) for name in names]
    node = tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests)
    return ast.fix_missing_locations(ast.copy_location(node, like))


class JumpRemover:
    """Rewrites the body of one function."""

    RETURN_FLAG, RETURN_VALUE = "do_return__", "return_value__"

    def __init__(self):
        self._count = 0
        self._loops = []  # of the loops around: (break flag, continue flag), None where there is none

    def _flags(self, node):
        """The flags that may be set once `node` has run."""
        flags = []
        if self._loops:
            break_flag, continue_flag = self._loops[-1]
            own = [node] if not isinstance(node, _LOOPS) else node.orelse
            if any(_contains(part, ast.Break, False) for part in own):
                flags.append(break_flag)
            if any(_contains(part, ast.Continue, False) for part in own):
                flags.append(continue_flag)
        if _contains(node, ast.Return, True):
            flags.append(self.RETURN_FLAG)
        return flags

    def block(self, statements):
        out = []
        for number, node in enumerate(statements):
            rest = statements[number + 1 :]
            if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
                return out + self._jump(node)
            if not _jumps(node) and not isinstance(node, _LOOPS):
                out.append(self._inside(node))
                continue
            flags = self._flags(node)
            if isinstance(node, ast.If):
                moved = self._move(node, rest)
                out.append(self._inside(node))
                if moved:
                    return out
            else:
                out.extend(self._loop(node) if isinstance(node, _LOOPS) else [self._inside(node)])
            if flags and rest:
                guarded = ast.If(test=_not_any(flags, rest[0]), body=self.block(rest), orelse=[])
                return [*out, ast.copy_location(guarded, rest[0])]
        return out

    @staticmethod
    def _move(node, rest):
        """What follows goes into the branch that does not jump; True when nothing is left to follow."""
        if always_jumps(node.body):
            if not always_jumps(node.orelse):
                node.orelse = node.orelse + rest
            return True
        if always_jumps(node.orelse):
            node.body = node.body + rest
            return True
        return False

    def _jump(self, node):
        true = ast.Constant(value=True)
        if isinstance(node, ast.Return):
            value = node.value if node.value is not None else ast.Constant(value=None)
            return [_set(self.RETURN_VALUE, value, node), _set(self.RETURN_FLAG, true, node)]
        break_flag, continue_flag = self._loops[-1]
        return [_set(break_flag if isinstance(node, ast.Break) else continue_flag, true, node)]

    def _inside(self, node):
        """The same statement, its blocks rewritten."""
        if isinstance(node, SCOPES):
            return node
        flags = self._flags(node) if isinstance(node, ast.Try) else []
        for name in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, name, None), list):
                setattr(node, name, self.block(getattr(node, name)) or ([ast.copy_location(ast.Pass(), node)] if name == "body" else []))
        for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
            part.body = self.block(part.body)
        if flags and node.orelse:
            node.orelse = [ast.copy_location(ast.If(test=_not_any(flags, node), body=node.orelse, orelse=[]), node)]
        return node

    def _loop(self, node):
        """The loop with what stands before and after it."""
        self._count += 1
        breaks = any(_contains(part, ast.Break, False) for part in node.body)
        continues = any(_contains(part, ast.Continue, False) for part in node.body)
        returns = any(_contains(part, ast.Return, True) for part in node.body)
        flags = (f"do_break_{self._count}__" if breaks else None, f"do_continue_{self._count}__" if continues else None)
        orelse, node.orelse = node.orelse, []
        self._loops.append(flags)
        node.body = self.block(node.body)
        self._loops.pop()
        false = ast.Constant(value=False)
        before = [_set(flags[0], false, node)] if breaks else []
        if continues:
            node.body = [_set(flags[1], false, node), *node.body]
        stops = ([flags[0]] if breaks else []) + ([self.RETURN_FLAG] if returns else [])
        if stops:
            go_on = _not_any(stops, node)
            if isinstance(node, ast.While):
                node.test = ast.copy_location(ast.BoolOp(op=ast.And(), values=[go_on, node.test]), node.test)
            else:
                node.extra_test = go_on
        after = self.block(orelse)
        if after and stops:
            after = [ast.copy_location(ast.If(test=_not_any(stops, node), body=after, orelse=[]), node)]
        return [*before, node, *after]


def _early_return(statements):
    return any(_contains(node, ast.Return, True) for node in statements if not isinstance(node, ast.Return)) or any(
        isinstance(node, ast.Return) for node in statements[:-1]
    )


def remove_jumps(function):
    """Rewrites a function definition in place; afterwards at most its last statement is a return."""
    remover = JumpRemover()
    if not _early_return(function.body):
        last = [function.body.pop()] if isinstance(function.body[-1], ast.Return) else []
        function.body = remover.block(function.body) + last
        return
    falls_through = not always_jumps(function.body)
    like = function.body[0]
    start = ast.parse(f"{remover.RETURN_FLAG} = False\n{remover.RETURN_VALUE} = ag__.not_returned()").body
    arguments = f"{remover.RETURN_VALUE}, {remover.RETURN_FLAG}" if falls_through else remover.RETURN_VALUE
    end = ast.parse(f"return ag__.returned({arguments})", mode="exec").body
    last = function.body[-1]
    function.body = [
        *[ast.fix_missing_locations(_at(node, like)) for node in start],
        *remover.block(function.body),
        *[ast.fix_missing_locations(_at(node, last)) for node in end],
    ]


def _at(node, like):
    for child in ast.walk(node):
        if hasattr(child, "lineno"):
            ast.copy_location(child, like)
    return node
