"""tf.nn.dilation2d and erosion2d: the largest sum, the smallest difference, of a window and a filter."""
from . import _tandem
from ._ops import negative, reduce_max, reshape
from .errors import UnimplementedError


def dilation2d(input, filters, strides, padding, data_format, dilations, name=None):
    """out[y, x, c] = max of input[y + i, x + j, c] + filters[i, j, c]."""
    from ._image_windows import extract_patches
    from ._ops import pad as padded

    if data_format != "NHWC":
        raise ValueError(f"Data formats other than NHWC are not yet supported, got {data_format!r}")
    x, kernel = _tandem.to_tensor(input), _tandem.to_tensor(filters)
    height, width, channels = kernel.shape.as_list()
    if padding not in ("VALID", "SAME"):
        raise UnimplementedError(f"dilation2d: padding must be 'VALID' or 'SAME', got {padding!r}")
    if padding == "SAME":
        lowest = x.dtype.min
        x = padded(x, [[0, 0], *_same(x, (height, width), strides, dilations), [0, 0]], constant_values=lowest)
    patches = extract_patches(x, [1, height, width, 1], list(strides), list(dilations), "VALID")
    batch, rows, columns, _ = patches.shape.as_list()
    windows = reshape(patches, [batch, rows, columns, height * width, channels])
    return reduce_max(windows + reshape(kernel, [height * width, channels]), 3)


def _same(x, kernel, strides, dilations):
    """What TensorFlow adds before and behind rows and columns."""
    pairs = []
    for axis, size in ((1, kernel[0]), (2, kernel[1])):
        length, step, reach = x.shape[axis], strides[axis], (size - 1) * dilations[axis] + 1
        total = max((-(-length // step) - 1) * step + reach - length, 0)
        pairs.append([total // 2, total - total // 2])
    return pairs


def erosion2d(value, filters, strides, padding, data_format, dilations, name=None):
    """out[y, x, c] = min of value[y + i, x + j, c] - filters[-i, -j, c]."""
    turned = _tandem.reverse(_tandem.to_tensor(filters), [0, 1])
    return negative(dilation2d(negative(_tandem.to_tensor(value)), turned, strides, padding, data_format, dilations))
