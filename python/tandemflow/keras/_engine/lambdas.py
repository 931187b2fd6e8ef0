"""Lambdas in files: their code, which is read only where the user says so."""
import base64
import marshal
import types


def pack_lambda(function):
    """Code, defaults and closure."""
    cells = None if function.__closure__ is None else [cell.cell_contents for cell in function.__closure__]
    code = base64.b64encode(marshal.dumps(function.__code__)).decode("ascii")
    return {"code": code, "defaults": function.__defaults__, "closure": cells}


def unpack_lambda(packed, safe):
    """The function; refused in safe mode, because a file may hold any code."""
    if safe:
        raise ValueError(
            "Requested the deserialization of a `Lambda` layer whose `function` is a Python lambda. This carries a potential risk of "
            "arbitrary code execution and thus it is disallowed by default. If you trust the source of the artifact, you can override this "
            "error by passing `safe_mode=False` to the loading function, or calling `keras.config.enable_unsafe_deserialization()."
        )
    if isinstance(packed, dict):
        code, defaults, closure = packed["code"], packed.get("defaults"), packed.get("closure")
    else:
        code, defaults, closure = packed
    code = marshal.loads(base64.b64decode(code))
    import tandemflow

    scope = {"__builtins__": __builtins__, "tf": tandemflow, "keras": tandemflow.keras, "ops": tandemflow.keras.ops}
    cells = None if closure is None else tuple(types.CellType(value) for value in closure)
    return types.FunctionType(code, scope, argdefs=None if defaults is None else tuple(defaults), closure=cells)
