"""Functions of keras.ops in files: Keras has a class for each; constants are its config, tensors the arguments of its use."""
import inspect
import operator

from .keras_tensor import keras_tensors
from .naming import snake_case
from .registry import get_registered_object

# Which module of Keras holds the class; all others are in numpy.
_MODULES = {
    "core": "Cast ConvertToTensor SaturateCast Scatter ScatterUpdate Slice SliceUpdate StopGradient Unstack WhileLoop",
    "nn": "AdaptiveAveragePool AdaptiveMaxPool AveragePool BatchNorm BinaryCrossentropy CTCDecode CTCLoss CategoricalCrossentropy Celu Conv ConvTranspose DepthwiseConv "
    "DotProductAttention Elu Fold Gelu Glu HardShrink HardSigmoid HardSilu HardTanh LayerNorm LeakyRelu LogSigmoid LogSoftmax "
    "MaxPool Moments MultiHot Normalize OneHot PSNR Polar RMSNorm Relu Relu6 Selu SeparableConv Sigmoid Silu SoftShrink "
    "Softmax Softplus Softsign SparseCategoricalCrossentropy SparsePlus SparseSigmoid Sparsemax Squareplus TanhShrink "
    "Threshold Unfold",
    "math": "CDist Erf Erfc Erfinv ExtractSequences FFT FFT2 IFFT2 IRFFT ISTFT InTopK Logdet Logsumexp RFFT Rsqrt STFT SegmentMax "
    "SegmentMin SegmentProd SegmentSum TopK ViewAsComplex ViewAsReal",
    "linalg": "Cholesky CholeskyInverse Det Eig Eigh Inv Lstsq LuFactor MatrixRank Norm Pinv Qr SVD Solve SolveTriangular",
    "image": "AffineTransform CropImages ElasticTransform ExtractPatches GaussianBlur HSVToRGB MapCoordinates PadImages RGBToGrayscale RGBToHSV "
    "PerspectiveTransform Resize SSIM ScaleAndTranslate SobelEdges",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}
_IRREGULAR = {
    name.lower(): name for name in _MODULE_OF if name[:2].isupper() and name not in ("RGBToGrayscale", "RGBToHSV", "HSVToRGB")
}
_IRREGULAR.update({"ctc_loss": "CTCLoss", "rms_normalization": "RMSNorm", "layer_normalization": "LayerNorm",
                   "batch_normalization": "BatchNorm", "rgb_to_grayscale": "RGBToGrayscale", "rgb_to_hsv": "RGBToHSV",
                   "hsv_to_rgb": "HSVToRGB", "allclose": "AllClose", "ctc_decode": "CTCDecode", "isin": "IsIn", "searchsorted": "SearchSorted",
                   "extract_patches_3d": "ExtractPatches"})  # fmt: skip
_FUNCTION_OF = {class_name: function for function, class_name in _IRREGULAR.items() if class_name != "ExtractPatches"}
_SECOND_NAMES = {"abs": "absolute", "conj": "conjugate", "hard_swish": "hard_silu", "swish": "silu"}

# The parameters that Keras' classes take when they are used; the others are given when they are made.
_WHEN_USED = set(
    "x x1 x2 xs y a b q inputs indices values updates start_indices kernel depthwise_kernel pointwise_kernel target output "
    "mean variance query key value gamma beta condition condlist choicelist data segment_ids targets predictions images "
    "transform coordinates sorted_sequence start stop step elements variable tensor".split()
)
# Where a class has more of them, or fewer than the names say.
_ALSO_WHEN_USED = {"Average": "weights", "BatchNorm": "offset scale", "CTCDecode": "sequence_lengths", "CTCLoss": "target_length output_length", "Digitize": "bins",
                   "DotProductAttention": "bias mask scale", "Full": "fill_value", "FullLike": "fill_value", "Isclose": "rtol atol", "Pad": "constant_values",
                   "PerspectiveTransform": "start_points end_points", "Polar": "abs_ angle", "RMSNorm": "scale", "ScaleAndTranslate": "output_shape scale translation",
                   "Select": "default"}  # fmt: skip
_ALWAYS_GIVEN = {"BatchNorm": ["offset", "scale"], "LayerNorm": ["gamma", "beta"]}  # None too
_WHEN_MADE = {"Squareplus": "b", "Trapezoid": "x"}


def is_operation(data):
    """Whether this part of a file is a function of keras.ops. An .h5 file names the class only, Add of a layer and of an op
    alike; but a layer says there whether it is trainable."""
    from .. import ops

    if "module" in data:
        return (data["module"] or "").startswith(("keras.src.ops", "keras.ops"))
    name = data["class_name"]
    if name == "InputLayer" or "trainable" in (data.get("config") or {}) or get_registered_object(name) is not None:
        return False
    return hasattr(ops, _FUNCTION_OF.get(name) or snake_case(name))


def first_name(function):
    """The function that Keras draws for this one of keras.ops: ops.abs is drawn as ops.absolute."""
    module, dot, name = function.rpartition(".")
    return module + dot + _SECOND_NAMES.get(name, name)


def class_name_of(function):
    function = first_name(function).rpartition(".")[2]
    return _IRREGULAR.get(function) or "".join(part[:1].upper() + part[1:] for part in function.split("_"))


def serialize_operation(operation):
    """What stands for the operation in a file, without its uses."""
    class_name = class_name_of(operation.function)
    constants = {**_constants_of_uses(operation), **operation.constants}
    return {
        "module": f"keras.src.ops.{_MODULE_OF.get(class_name, 'numpy')}",
        "class_name": class_name,
        "config": {"name": operation.name, **constants},
        "registered_name": class_name,
    }


def split_use(operation, args, kwargs):
    """(args, kwargs) that go with the use, and the constants that go with the operation, by name."""
    names, when_used = _parameters(operation.function), _names_when_used(class_name_of(operation.function))
    used, keywords, constants = [], {}, {}
    for name, value in zip(names + [None] * len(args), args):
        if name is None or name in when_used or keras_tensors(value):
            used.append(value)
        else:
            constants[name] = value
    for name, value in kwargs.items():
        (keywords if name in when_used or keras_tensors(value) else constants)[name] = value
    for name in _ALWAYS_GIVEN.get(class_name_of(operation.function), []):
        if name not in kwargs and names.index(name) >= len(args):
            keywords[name] = None
    return used, keywords, constants


def arguments_of_use(operation, args):
    """As the function takes them: files have lists where x[:, 0] has a tuple."""
    if operation.function == "get_item" and isinstance(args[-1], list):
        return [*args[:-1], tuple(args[-1])]
    return args


def _names_when_used(class_name):
    return (_WHEN_USED | set(_ALSO_WHEN_USED.get(class_name, "").split())) - set(_WHEN_MADE.get(class_name, "").split())


def _constants_of_uses(operation):
    node = operation._inbound_nodes[0]
    return split_use(operation, node.args, node.kwargs)[2]


def _parameters(function):
    from .. import ops

    return list(inspect.signature(operator.attrgetter(function)(ops)).parameters)


def operation_from_config(config):
    """The operation of a file: keras.ops.<function> with its constants."""
    from .operation import Operation

    function = _function_of(config["class_name"], config.get("module") or "")
    given = config.get("config") or {}
    known = _parameters(function)
    constants = {name: value for name, value in given.items() if name != "name" and name in known}
    return Operation(function, name=given.get("name"), **constants)


def _function_of(class_name, module):
    """Its name in keras.ops, with the module it is in where that is not keras.ops itself."""
    from .. import ops

    name = _FUNCTION_OF.get(class_name) or snake_case(class_name)
    inner = module.rpartition(".")[2]
    for candidate in (name, class_name.lower(), f"{inner}.{name}", f"{inner}.{class_name.lower()}"):
        try:
            operator.attrgetter(candidate)(ops)
        except AttributeError:
            continue
        return candidate
    raise ValueError(f"The model uses {class_name} of {module}, which is not known here")
