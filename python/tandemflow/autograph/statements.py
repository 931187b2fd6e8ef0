"""Rewrites `if`, `while` and `for` into calls of operators, which decide when they run whether tensors are involved.

    if x > 0:                def get_state_1(): return (y,)
        y = 1                def set_state_1(values): nonlocal y; (y,) = values
    else:            ->      def body_1(): nonlocal y; y = 1
        y = 2                def orelse_1(): nonlocal y; y = 2
                             ag__.if_stmt(x > 0, body_1, orelse_1, get_state_1, set_state_1, ('y',))
"""
import ast

from .symbols import CONTENTS, Uses, is_part


def _simple(names):
    return sorted(name for name in names if not is_part(name))


def _read(name):
    """The expression for the value of a variable, attribute or item, or for what is in a container."""
    if name.endswith(CONTENTS):
        return f"ag__.contents(lambda: {name.removesuffix(CONTENTS)}, {name!r})"
    return f"ag__.part(lambda: {name}, {name!r})" if is_part(name) else name


def _assignment(name, place):
    """The statement that gives a variable the value of that place."""
    if name.endswith(CONTENTS):
        return f"ag__.set_contents(lambda: {name.removesuffix(CONTENTS)}, values__[{place}])"
    if name.endswith("]"):
        owner, _, key = name.partition("[")
        return f"ag__.set_item(lambda: {owner}, {key[:-1]}, values__[{place}])"
    owner, _, attribute = name.rpartition(".")
    return f"ag__.set_attribute(lambda: {owner}, {attribute!r}, values__[{place}])" if owner else f"{name} = values__[{place}]"


def _written(node, *statements):
    """What the statements of a branch or loop write. The contents of a container that they make themselves are not told from it."""
    writes = Uses(*statements).writes
    return writes | {name for name in node.changed if name.removesuffix(CONTENTS) not in writes}


class Statements:
    """Rewrites the blocks of one function."""

    def __init__(self, global_names, nested):
        self._globals = global_names
        self._nested = nested  # rewrites a nested function definition
        self._count = 0

    def block(self, statements):
        out = []
        for node in statements:
            out.extend(self._statement(node))
        return out

    def _statement(self, node):
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.While):
            return self._while(node)
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.FunctionDef):
            return [self._nested(node)]
        if not isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)):
            for name in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, name, None), list):
                    setattr(node, name, self.block(getattr(node, name)))
            for part in [*getattr(node, "handlers", []), *getattr(node, "cases", [])]:
                part.body = self.block(part.body)
        return [node]

    # --- Pieces. ---

    def _declarations(self, names):
        lines = []
        own = [name for name in names if name not in self._globals]
        if own:
            lines.append("nonlocal " + ", ".join(own))
        if shared := [name for name in names if name in self._globals]:
            lines.append("global " + ", ".join(shared))
        return lines

    def _state(self, names, written, number):
        """Functions that read and set the variables: those of `names`, then what else is written."""
        names = [*names, *sorted(set(written) - set(names))]
        reads = [_read(name) for name in names]
        source = [f"def get_state_{number}__():", f"    return ({''.join(read + ', ' for read in reads)})"]
        source.append(f"def set_state_{number}__(values__):")
        source += ["    " + line for line in self._declarations(_simple(names))]
        source += [f"    {_assignment(name, place)}" for place, name in enumerate(names)]
        if not names:
            source.append("    pass")
        return ast.parse("\n".join(source)).body

    def _function(self, name, body, parameters="", written=()):
        made = ast.parse(f"def {name}({parameters}):\n    pass").body[0]
        declared = [ast.parse(line).body[0] for line in self._declarations(_simple(written))]
        made.body = declared + (body or [ast.Pass()])
        return made

    # --- Statements. ---

    def _next(self):
        self._count += 1
        return self._count

    def _if(self, node):
        number = self._next()
        written, written_else, every = Uses(*node.body).writes, Uses(*node.orelse).writes, _written(node, *node.body, *node.orelse)
        names = sorted(name for name in every if name in node.live_after or is_part(name))
        call = ast.parse(f"ag__.if_stmt(None, body_{number}__, orelse_{number}__, get_state_{number}__, set_state_{number}__, {tuple(names)!r})").body[0]
        made = self._state(names, every, number)
        branches = [
            self._function(f"body_{number}__", self.block(node.body), written=written),
            self._function(f"orelse_{number}__", self.block(node.orelse), written=written_else),
        ]
        return self._assembled(made, branches, call, node, [node.test])

    def _assembled(self, state, functions, call, node, first_arguments):
        """The statements that replace `node`. User code keeps its own lines."""
        for statement in [*state, call]:
            for child in ast.walk(statement):
                if "lineno" in child._attributes:
                    ast.copy_location(child, node)
        for function in functions:
            ast.copy_location(function, node)
            for child in function.body:
                if isinstance(child, (ast.Nonlocal, ast.Global, ast.Pass)):
                    ast.copy_location(child, node)
        for place, argument in enumerate(first_arguments):
            call.value.args[place] = argument
        return [ast.fix_missing_locations(statement) for statement in [*state, *functions, call]]

    def _carried(self, node, written):
        return sorted(name for name in written if is_part(name) or name in node.live_after or name in node.live_inside)

    def _while(self, node):
        number = self._next()
        written = _written(node, *node.body)
        names = self._carried(node, written)
        call = ast.parse(f"ag__.while_stmt(test_{number}__, body_{number}__, get_state_{number}__, set_state_{number}__, {tuple(names)!r})").body[0]
        test = self._function(f"test_{number}__", [ast.copy_location(ast.Return(value=node.test), node.test)])
        body = self._function(f"body_{number}__", self.block(node.body), written=written)
        return self._assembled(self._state(names, written, number), [test, body], call, node, [])

    def _for(self, node):
        number = self._next()
        written = _written(node, node.target, *node.body)
        names = self._carried(node, written)
        extra = getattr(node, "extra_test", None)
        extra_name = f"test_{number}__" if extra is not None else "None"
        call = ast.parse(
            f"ag__.for_stmt(None, {extra_name}, body_{number}__, get_state_{number}__, set_state_{number}__, {tuple(names)!r})"
        ).body[0]  # fmt: skip
        take = ast.Assign(targets=[node.target], value=ast.Name(id="element__", ctx=ast.Load()))
        body = self._function(f"body_{number}__", [ast.copy_location(take, node), *self.block(node.body)], "element__", written)
        functions = [body]
        if extra is not None:
            functions.append(self._function(extra_name, [ast.copy_location(ast.Return(value=extra), node)]))
        return self._assembled(self._state(names, written, number), functions, call, node, [node.iter])
