"""Ops on each element by itself."""
import numpy as np

from ... import _dtypes
from ..writer import writes

# By what TensorFlow calls the output.
_SAME = {
    "y": {
        "abs": "Abs", "negative": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "square": "Square", "sign": "Sign",
        "reciprocal": "Reciprocal", "floor": "Floor", "ceil": "Ceil", "rint": "Rint", "round": "Round", "erf": "Erf", "erfc": "Erfc", "sin": "Sin",
        "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan", "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh",
        "atanh": "Atanh", "tanh": "Tanh", "sigmoid": "Sigmoid", "expm1": "Expm1", "log1p": "Log1p", "is_nan": "IsNan", "is_inf": "IsInf",
        "is_finite": "IsFinite", "lgamma": "Lgamma", "digamma": "Digamma",
    },
    "activations": {"relu": "Relu", "relu6": "Relu6", "softplus": "Softplus", "softsign": "Softsign", "elu": "Elu", "selu": "Selu"},
    "z": {
        "add": "AddV2", "subtract": "Sub", "multiply": "Mul", "divide": "RealDiv", "pow": "Pow", "maximum": "Maximum", "minimum": "Minimum",
        "equal": "Equal", "not_equal": "NotEqual", "less": "Less", "less_equal": "LessEqual", "greater": "Greater", "greater_equal": "GreaterEqual",
        "floormod": "FloorMod", "floordiv": "FloorDiv", "truncatediv": "TruncateDiv", "squared_difference": "SquaredDifference", "atan2": "Atan2",
        "divide_no_nan": "DivNoNan", "multiply_no_nan": "MulNoNan", "bias_add": "AddV2", "xlogy": "Xlogy", "xdivy": "Xdivy",
    },
    "output": {"identity": "Identity", "stop_gradient": "StopGradient", "clip_by_value": "ClipByValue"},
}  # fmt: skip


def _same(name, op, out):
    writes(name)(lambda writer, node, *inputs: writer.add(op, inputs, node.dtypes[0], out, T=node.input_dtypes[0]))


for _out, _ops in _SAME.items():
    for _name, _op in _ops.items():
        _same(_name, _op, _out)


@writes("logical_and", "logical_or", "logical_not")
def logical(writer, node, *inputs):
    op = {"logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_not": "LogicalNot"}[node.op]
    return writer.add(op, inputs, _dtypes.bool, "y" if node.op == "logical_not" else "z")


@writes("logical_xor")
def logical_xor(writer, node, x, y):
    return writer.add("NotEqual", [x, y], _dtypes.bool, "z", T=_dtypes.bool)


@writes("where")
def where(writer, node, condition, x, y):
    return writer.add("SelectV2", [condition, x, y], x.dtype, T=x.dtype)


@writes("cast")
def cast(writer, node, x):
    return writer.add("Cast", [x], node.dtypes[0], "y", SrcT=x.dtype, DstT=node.dtypes[0])


@writes("leaky_relu")
def leaky_relu(writer, node, x, alpha):
    """max(x, 0) + alpha min(x, 0): alpha may be a tensor."""
    zero = writer.constant(0, x.dtype)
    low, high = (writer.add(op, [x, zero], x.dtype, "z", T=x.dtype) for op in ("Minimum", "Maximum"))
    return _binary(writer, "AddV2", high, _binary(writer, "Mul", low, alpha))


def _binary(writer, op, x, y):
    return writer.add(op, [x, y], x.dtype, "z", T=x.dtype)


def _number(writer, x, value):
    return writer.constant(np.asarray(value), x.dtype)


@writes("silu")
def silu(writer, node, x):
    return _binary(writer, "Mul", x, writer.add("Sigmoid", [x], x.dtype, "y", T=x.dtype))


@writes("log_sigmoid")
def log_sigmoid(writer, node, x):
    inner = writer.add("Softplus", [writer.add("Neg", [x], x.dtype, "y", T=x.dtype)], x.dtype, "activations", T=x.dtype)
    return writer.add("Neg", [inner], x.dtype, "y", T=x.dtype)


@writes("mish")
def mish(writer, node, x):
    inner = writer.add("Softplus", [x], x.dtype, "activations", T=x.dtype)
    return _binary(writer, "Mul", x, writer.add("Tanh", [inner], x.dtype, "y", T=x.dtype))


@writes("gelu")
def gelu(writer, node, x):
    bell = writer.add("Erf", [_binary(writer, "Mul", x, _number(writer, x, 0.5**0.5))], x.dtype, "y", T=x.dtype)
    return _binary(writer, "Mul", _binary(writer, "Mul", x, _number(writer, x, 0.5)), _binary(writer, "AddV2", bell, _number(writer, x, 1)))


@writes("gelu_tanh")
def gelu_tanh(writer, node, x):
    cube = _binary(writer, "Mul", _binary(writer, "Mul", x, x), x)
    inner = _binary(writer, "AddV2", x, _binary(writer, "Mul", cube, _number(writer, x, 0.044715)))
    bend = writer.add("Tanh", [_binary(writer, "Mul", inner, _number(writer, x, (2 / np.pi) ** 0.5))], x.dtype, "y", T=x.dtype)
    return _binary(writer, "Mul", _binary(writer, "Mul", x, _number(writer, x, 0.5)), _binary(writer, "AddV2", bend, _number(writer, x, 1)))


@writes("hard_sigmoid")
def hard_sigmoid(writer, node, x):
    """relu6(x + 3) / 6."""
    inner = writer.add("Relu6", [_binary(writer, "AddV2", x, _number(writer, x, 3))], x.dtype, "activations", T=x.dtype)
    return _binary(writer, "RealDiv", inner, _number(writer, x, 6))


@writes("hard_silu")
def hard_silu(writer, node, x):
    return _binary(writer, "Mul", x, hard_sigmoid(writer, node, x))
