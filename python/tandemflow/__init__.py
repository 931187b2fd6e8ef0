"""TandemFlow: every op runs on the device where it finishes first, and the system can say why.

import tandemflow as tf
"""
import atexit as _atexit

from . import _tandem
from . import _dtypes, _names, _shape

_atexit.register(_tandem.interpreter_ends)  # registered first, so it comes last

_tandem.register_classes(_dtypes.ALL, _shape.TensorShape, _shape.Reference)

from . import errors  # noqa: E402  registers the exceptions
from . import _arrays, _matrices, _methods, _ops, _segments, _variable_value, bitwise, config, data, debugging, io, linalg, math, nn, random, test, train  # noqa: E402
from ._device import device  # noqa: E402
from ._device_spec import DeviceSpec  # noqa: E402
from ._dtypes import (  # noqa: E402
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._einsum import einsum, tensordot  # noqa: E402
from ._explain import Explanation, explain, last_decisions  # noqa: E402
from ._function import executing_eagerly, function  # noqa: E402
from ._logging import get_logger  # noqa: E402
from ._gradient import GradientTape, UnconnectedGradients, custom_gradient, recompute_grad  # noqa: E402
from ._print import tf_print as print  # noqa: E402
from ._shape import TensorShape  # noqa: E402
from ._specs import TensorSpec, TypeSpec  # noqa: E402

Tensor = _tandem.Tensor
Variable = _tandem.Variable
newaxis = None
__version__ = _tandem.version

# Ops at the top, as in TensorFlow: those of the records and those composed of them, but for what only its modules have.
_ONLY_IN_MODULES = {
    "relu", "relu6", "leaky_relu", "elu", "selu", "silu", "gelu", "softplus", "softsign", "hard_sigmoid", "hard_silu",
    "mish", "log_sigmoid", "softmax", "log_softmax", "conv2d", "max_pool2d", "bias_add",
    "softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits",
    "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "invert",
    "expm1", "log1p", "erf", "erfc", "lgamma", "digamma", "erfinv", "ndtri", "reciprocal", "ceil", "rint", "is_nan", "is_inf", "is_finite", "logical_xor",
    "squared_difference", "divide_no_nan", "multiply_no_nan", "xlogy", "xdivy",
    "cumprod", "unsorted_segment_sum", "unsorted_segment_prod", "unsorted_segment_max", "unsorted_segment_min",
    "unsorted_segment_mean", "unsorted_segment_sqrt_n", "segment_sum", "segment_prod", "segment_mean", "segment_max",
    "segment_min", "bincount", "count_nonzero", "zero_fraction", "moments", "l2_normalize",
    "l2_loss", "global_norm", "top_k", "in_top_k", "reduce_variance", "reduce_std", "reduce_euclidean_norm",
    "diag", "diag_part", "matrix_band_part", "matrix_transpose", "set_diag", "trace",
}  # fmt: skip
_exported = {**_ops.exported, **_arrays.exported, **_matrices.exported, **_segments.exported}
globals().update({name: function for name, function in _exported.items() if name not in _ONLY_IN_MODULES})
truediv = realdiv = _ops.exported["divide"]


# What is used seldom, or costs time to load, comes when it is asked for.
__getattr__, __dir__ = _names.lazy(
    __name__,
    _names.places_of(
        _bits="bitcast edit_distance",
        _assertions="Assert assert_equal assert_greater assert_less assert_rank",
        _control_flow="case cond init_scope switch_case while_loop",
        _complex="complex",
        _composites="type_spec_from_value",
        _graph_gradients="gradients hessians",
        _indexed_slices="IndexedSlices",
        _factors="eig eigvals",
        _graph_names="VariableAggregation VariableSynchronization broadcast_dynamic_shape broadcast_static_shape control_dependencies ensure_shape "
        "get_current_name_scope get_static_value guarantee_const inside_function shape_n grad_pass_through group identity_n is_symbolic_tensor is_tensor no_op timestamp tuple",
        _map_fn="foldl foldr map_fn scan vectorized_map",
        _module="Module name_scope",
        _py_function="numpy_function py_function",
        _partitions="batch_to_space dynamic_partition dynamic_stitch reverse_sequence space_to_batch space_to_batch_nd=space_to_batch unravel_index",
        _ragged="RaggedTensor",
        _ragged_spec="RaggedTensorSpec",
        _sparse="SparseTensor SparseTensorSpec",
        _tensor_array="TensorArray",
        _tensor_message="make_ndarray make_tensor_proto",
        dtypes="saturate_cast",
        keras="initializers losses metrics optimizers",
        strings="as_string",
        **{
            "keras.initializers": "constant_initializer=Constant ones_initializer=Ones random_normal_initializer=RandomNormal "
            "random_uniform_initializer=RandomUniform zeros_initializer=Zeros",
            "_graph_mode.nodes": "Graph Operation",
        },
    ),
    "audio autodiff autograph compat distribute dtypes experimental image keras lookup nest onnx profiler quantization queue ragged saved_model sets signal sparse strings summary sysconfig types version".split(),
)
