"""tf.nn.dilation2d and erosion2d: the largest sum, the smallest difference, of a window and a filter."""
from . import _tandem
from ._arrays import where
from ._ops import greater, negative, ones, reduce_max, reshape
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
    margins = _same(x, (height, width), strides, dilations) if padding == "SAME" else [[0, 0], [0, 0]]

    def windows(pictures):
        pictures = padded(pictures, [[0, 0], *margins, [0, 0]])
        patches = extract_patches(pictures, [1, height, width, 1], list(strides), list(dilations), "VALID")
        *places, _ = patches.shape.as_list()
        return reshape(patches, [*places, height * width, pictures.shape[-1]])

    sums = windows(x) + reshape(kernel, [height * width, channels])
    if padding == "SAME":  # what lies outside the picture is passed over
        inside = windows(ones([1, x.shape[1], x.shape[2], 1], x.dtype))
        sums = where(greater(inside, _tandem.to_tensor(0, x.dtype)), sums, _tandem.to_tensor(x.dtype.min, x.dtype))
    return reduce_max(sums, 3)


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
