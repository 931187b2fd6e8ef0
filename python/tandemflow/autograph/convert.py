"""Converts functions: finds their source, rewrites it, and makes a function with the same globals, closure and defaults."""
import ast
import functools
import inspect
import linecache
import os
import sysconfig
import textwrap
import types

from .transform import rewritten

_AG = "ag__"
_MARK = "_tandem_converted"
_NEVER = "_tandem_do_not_convert"
_LIBRARY = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})
_PACKAGES = ("tandemflow", "numpy", "scipy", "pandas", "matplotlib", "PIL", "sklearn", "h5py", "pytest", "_pytest", "IPython", "ipykernel", "tqdm", "absl")
_codes = {}  # by code object: the rewritten code object, or None when it stays as it is


class ConversionError(Exception):
    """The source of a function cannot be found or rewritten."""


def _is_library(function):
    """True for functions of Python, of this package and of packages that do not work on tensors."""
    module = getattr(function, "__module__", None) or ""
    if module.split(".")[0] in _PACKAGES:
        return True
    path = os.path.realpath(function.__code__.co_filename)
    return path.startswith(_LIBRARY) and "site-packages" not in path and "dist-packages" not in path


# --- Source. ---


def _definitions(tree, code):
    """The definitions in the tree that may be where `code` comes from."""
    is_lambda = code.co_name == "<lambda>"
    kinds = (ast.Lambda,) if is_lambda else (ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (is_lambda or node.name == code.co_name):
            lines = [node.lineno] + [decorator.lineno for decorator in getattr(node, "decorator_list", [])]
            if min(lines) <= code.co_firstlineno <= node.lineno:
                found.append(node)
    return found


def _same_lambda(node, code, path):
    """Compares a lambda of the source with the one at hand, by what it compiles to."""
    made = compile(ast.fix_missing_locations(ast.Expression(body=node)), path, "eval").co_consts
    candidates = [constant for constant in made if isinstance(constant, types.CodeType)]
    return any(one.co_code == code.co_code and one.co_consts == code.co_consts and one.co_names == code.co_names for one in candidates)


def _at_position(nodes, code):
    """Of several lambdas in a line the one at the code's columns, where Python tells them."""
    if not hasattr(code, "co_positions"):
        return []
    spans = [position for position in code.co_positions() if None not in position and position[3] > position[2]]
    return [
        node for node in nodes
        if spans and all((node.body.lineno, node.body.col_offset) <= (line, column) for line, _, column, _ in spans)
        and all((end_line, end) <= (node.body.end_lineno, node.body.end_col_offset) for _, end_line, _, end in spans)
    ]  # fmt: skip


@functools.lru_cache(maxsize=64)
def _tree(path, text):
    return ast.parse(text, path)


def _definition(code):
    """The syntax tree of a function's definition, with the line numbers of its file."""
    path = code.co_filename
    text = "".join(linecache.getlines(path))
    if text:
        try:
            nodes = _definitions(_tree(path, text), code)
        except SyntaxError as error:
            raise ConversionError(f"{path} cannot be parsed: {error}") from error
    else:
        nodes = []
    if not nodes:
        try:
            lines, first = inspect.getsourcelines(code)
        except (OSError, TypeError) as error:
            raise ConversionError(f"the source of {code.co_name} is not there") from error
        tree = ast.parse(textwrap.dedent("".join(lines)))
        ast.increment_lineno(tree, first - 1)
        nodes = _definitions(tree, code)
    if len(nodes) > 1 and code.co_name == "<lambda>":
        nodes = _at_position(nodes, code) or [node for node in nodes if _same_lambda(node, code, path)]
    if len(nodes) != 1:
        raise ConversionError(f"{len(nodes)} definitions of {code.co_name} were found in {path}, line {code.co_firstlineno}")
    return nodes[0]


# --- Making functions. ---


def _owner(function):
    """The class a method is written in; its private names are mangled."""
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


def _factory(definition, free_names):
    """A module with a function that defines the function, so that it has the free variables of the original."""
    factory = ast.parse(f"def factory__({', '.join(free_names)}):\n    pass")
    outer = factory.body[0]
    result = ast.Return(value=ast.Name(id=definition.name, ctx=ast.Load()))
    outer.body = [definition, ast.copy_location(result, definition)]
    return ast.fix_missing_locations(factory)


def _rewritten_definition(function):
    code = function.__code__
    # Not its own name: a function that calls itself means the one of its module, or of the closure.
    name = "lambda__" if code.co_name == "<lambda>" else f"{code.co_name}__converted"
    return rewritten(_definition(code), name, _owner(function))


def _compiled(function):
    """The rewritten code of a function; None when it stays as it is."""
    code = function.__code__
    if code in _codes:
        return _codes[code]
    made = None
    definition = _rewritten_definition(function)
    if definition is not None:
        free_names = [_AG, *code.co_freevars]
        namespace = {}
        exec(compile(_factory(definition, free_names), code.co_filename, "exec"), namespace)
        made = namespace["factory__"](*[None] * len(free_names)).__code__.replace(co_name=code.co_name)
    _codes[code] = made
    return made


def _operators():
    from . import operators

    return operators


def _converted_function(function):
    code = _compiled(function)
    if code is None:
        return function
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells[_AG] = types.CellType(_operators())
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    setattr(made, _MARK, True)
    return made


def mark_converted(function):
    """For functions defined inside converted ones, which are rewritten with them."""
    setattr(function, _MARK, True)
    return function


def do_not_convert(func=None):
    """A function that is called as it is written; also a decorator."""
    if func is None:
        return do_not_convert
    if isinstance(func, types.MethodType):
        return types.MethodType(do_not_convert(func.__func__), func.__self__)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        return func(*args, **kwargs)

    setattr(wrapper, _NEVER, True)
    return wrapper


def stays(function):
    """True for what is not converted: already done, marked, or of a library."""
    return hasattr(function, _MARK) or hasattr(function, _NEVER) or _is_library(function)


def convert(function, strict=False):
    """The function with its control flow converted, and those it calls when it calls them; itself where that is not needed.

    strict=True raises ConversionError where the source is not to be had, instead of leaving the function as it is.
    """
    if isinstance(function, types.MethodType):
        inner = convert(function.__func__, strict)
        return function if inner is function.__func__ else types.MethodType(inner, function.__self__)
    if isinstance(function, functools.partial):
        inner = convert(function.func, strict)
        return function if inner is function.func else functools.partial(inner, *function.args, **function.keywords)
    if not isinstance(function, types.FunctionType):
        return _convert_object(function, strict)
    if hasattr(function, "__wrapped__") and not hasattr(function, _NEVER) and _is_library(function):
        return function
    if stays(function):
        return function
    try:
        return _converted_function(function)
    except ConversionError:
        if strict:
            raise
        return function


def _convert_object(value, strict):
    """An object of a class whose __call__ is the user's."""
    if isinstance(value, type) or not callable(value):
        return value
    method = getattr(type(value), "__call__", None)
    if not isinstance(method, types.FunctionType) or stays(method):
        return value
    made = convert(method, strict)
    return value if made is method else types.MethodType(made, value)


def to_code(entity, recursive=True, experimental_optional_features=None):
    """The source of the function as it is run when it is traced."""
    function = getattr(entity, "python_function", entity)
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"tf.autograph.to_code needs a function, got {entity!r}")
    definition = _rewritten_definition(function)
    if definition is not None:
        definition.name = function.__name__ if function.__name__ != "<lambda>" else definition.name
    return ast.unparse(definition) + "\n" if definition is not None else textwrap.dedent(inspect.getsource(function))
