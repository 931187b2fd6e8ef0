"""Arithmetic, comparisons, functions of numbers."""
import tandemflow as tf

from ..support import op, plain

plain(
    Add=tf.add, AddV2=tf.add, Sub=tf.subtract, Mul=tf.multiply, Div=tf.divide, RealDiv=tf.divide, FloorDiv=tf.math.floordiv, FloorMod=tf.math.floormod,
    Mod=tf.truncatemod, TruncateDiv=tf.truncatediv, DivNoNan=tf.math.divide_no_nan, MulNoNan=tf.math.multiply_no_nan, Pow=tf.pow, Atan2=tf.atan2,
    Maximum=tf.maximum, Minimum=tf.minimum, SquaredDifference=tf.math.squared_difference, Xlogy=tf.math.xlogy, Xdivy=tf.math.xdivy,
    Neg=tf.negative, Abs=tf.abs, Sign=tf.sign, Square=tf.square, Sqrt=tf.sqrt, Rsqrt=tf.math.rsqrt, Exp=tf.exp, Expm1=tf.math.expm1,
    Log=tf.math.log, Log1p=tf.math.log1p, Sin=tf.sin, Cos=tf.cos, Tan=tf.tan, Asin=tf.asin, Acos=tf.acos, Atan=tf.atan, Sinh=tf.sinh, Cosh=tf.cosh,
    Tanh=tf.tanh, Asinh=tf.asinh, Acosh=tf.acosh, Atanh=tf.atanh, Floor=tf.floor, Ceil=tf.math.ceil, Rint=tf.math.rint, Round=tf.round,
    Reciprocal=tf.math.reciprocal, Inv=tf.math.reciprocal, Erf=tf.math.erf, Erfc=tf.math.erfc, Lgamma=tf.math.lgamma, Digamma=tf.math.digamma,
    Erfinv=tf.math.erfinv, IsNan=tf.math.is_nan, IsInf=tf.math.is_inf, IsFinite=tf.math.is_finite,
    Equal=tf.equal, NotEqual=tf.not_equal, Greater=tf.greater, GreaterEqual=tf.greater_equal, Less=tf.less, LessEqual=tf.less_equal,
    LogicalAnd=tf.logical_and, LogicalOr=tf.logical_or, LogicalNot=tf.logical_not, ClipByValue=tf.clip_by_value,
    Sigmoid=tf.sigmoid, Relu=tf.nn.relu, Relu6=tf.nn.relu6, Elu=tf.nn.elu, Selu=tf.nn.selu, Softplus=tf.nn.softplus, Softsign=tf.nn.softsign,
    Softmax=tf.nn.softmax, LogSoftmax=tf.nn.log_softmax,
    BitwiseAnd=tf.bitwise.bitwise_and, BitwiseOr=tf.bitwise.bitwise_or, BitwiseXor=tf.bitwise.bitwise_xor, Invert=tf.bitwise.invert,
    LeftShift=tf.bitwise.left_shift, RightShift=tf.bitwise.right_shift,
    Complex=tf.complex, Real=tf.math.real, Imag=tf.math.imag, Conj=tf.math.conj, ComplexAbs=tf.abs,
)  # fmt: skip


@op("Cast")
def cast(node, x):
    return tf.cast(x, node.dtype("DstT"))


@op("LeakyRelu")
def leaky_relu(node, x):
    return tf.nn.leaky_relu(x, node.real("alpha"))


@op("Select", "SelectV2")
def select(node, condition, x, y):
    if node.op == "Select" and condition.ndim == 1 and x.ndim > 1:  # of whole rows
        condition = tf.reshape(condition, [-1] + [1] * (x.ndim - 1))
    return tf.where(condition, x, y)


@op("AddN")
def add_n(node, *inputs):
    return tf.math.add_n(list(inputs))


@op("Identity", "Snapshot", "CheckNumerics", "EnsureShape", "IdentityN", "PlaceholderWithDefault")
def identity(node, *inputs):
    return list(inputs)


@op("StopGradient", "PreventGradient")
def stop_gradient(node, x):
    return tf.stop_gradient(x)
