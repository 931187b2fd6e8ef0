"""Ops on each element by itself."""
import numpy as np

from ..writer import exports

_SAME = {
    "abs": "Abs", "negative": "Neg", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sign": "Sign", "reciprocal": "Reciprocal", "floor": "Floor",
    "ceil": "Ceil", "rint": "Round", "round": "Round", "erf": "Erf", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
    "sinh": "Sinh", "cosh": "Cosh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "tanh": "Tanh", "sigmoid": "Sigmoid", "relu": "Relu",
    "softplus": "Softplus", "softsign": "Softsign", "mish": "Mish", "hard_silu": "HardSwish", "gelu": "Gelu", "elu": "Elu", "selu": "Selu",
    "is_nan": "IsNaN", "is_inf": "IsInf", "logical_not": "Not", "identity": "Identity", "stop_gradient": "Identity",
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "pow": "Pow", "maximum": "Max", "minimum": "Min", "bias_add": "Add",
    "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual",
    "logical_and": "And", "logical_or": "Or", "logical_xor": "Xor", "where": "Where", "floormod": "Mod", "truncatediv": "Div",
}  # fmt: skip


def _same(name, onnx):
    exports(name)(lambda writer, node, *inputs: writer.add(onnx, inputs))


for _name, _onnx in _SAME.items():
    _same(_name, _onnx)


def _number(writer, node, value):
    return writer.constant(value, node.input_dtypes[0].as_numpy_dtype)


@exports("cast")
def cast(writer, node, x):
    return x if node.input_dtypes[0] == node.dtypes[0] else writer.cast(x, node.dtypes[0])


@exports("square")
def square(writer, node, x):
    return writer.add("Mul", [x, x])


@exports("rsqrt")
def rsqrt(writer, node, x):
    return writer.add("Reciprocal", [writer.add("Sqrt", [x])])


@exports("expm1")
def expm1(writer, node, x):
    return writer.add("Sub", [writer.add("Exp", [x]), _number(writer, node, 1)])


@exports("log1p")
def log1p(writer, node, x):
    return writer.add("Log", [writer.add("Add", [x, _number(writer, node, 1)])])


@exports("silu")
def silu(writer, node, x):
    return writer.add("Mul", [x, writer.add("Sigmoid", [x])])


@exports("log_sigmoid")
def log_sigmoid(writer, node, x):
    return writer.add("Neg", [writer.add("Softplus", [writer.add("Neg", [x])])])


@exports("gelu_tanh")
def gelu_tanh(writer, node, x):
    return writer.add("Gelu", [x], approximate="tanh")


@exports("leaky_relu")
def leaky_relu(writer, node, x, alpha):
    return writer.add("LeakyRelu", [x], alpha=float(writer.array(alpha, node)))


@exports("relu6")
def relu6(writer, node, x):
    return writer.add("Clip", [x, _number(writer, node, 0), _number(writer, node, 6)])


@exports("hard_sigmoid")
def hard_sigmoid(writer, node, x):
    return writer.add("HardSigmoid", [x], alpha=1 / 6, beta=0.5)


@exports("clip_by_value")
def clip_by_value(writer, node, x, low, high):
    return writer.add("Min", [writer.add("Max", [x, low]), high])


@exports("squared_difference")
def squared_difference(writer, node, x, y):
    difference = writer.add("Sub", [x, y])
    return writer.add("Mul", [difference, difference])


@exports("not_equal")
def not_equal(writer, node, x, y):
    return writer.add("Not", [writer.add("Equal", [x, y])])


@exports("is_finite")
def is_finite(writer, node, x):
    return writer.add("Not", [writer.add("Or", [writer.add("IsNaN", [x]), writer.add("IsInf", [x])])])


@exports("floordiv")
def floordiv(writer, node, x, y):
    quotient = writer.add("Div", [x, y])
    if np.dtype(node.dtypes[0].as_numpy_dtype).kind == "f":
        return writer.add("Floor", [quotient])
    raise NotImplementedError("export: floordiv of integers has no ONNX node")


@exports("divide_no_nan")
def divide_no_nan(writer, node, x, y):
    zero = _number(writer, node, 0)
    return writer.add("Where", [writer.add("Equal", [y, zero]), zero, writer.add("Div", [x, y])])
