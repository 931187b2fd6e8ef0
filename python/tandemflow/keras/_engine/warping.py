"""Images read at other places: rotated, moved, zoomed."""
from ... import _ops, _tandem

FILL_MODES = ("reflect", "wrap", "constant", "nearest")
INTERPOLATIONS = ("nearest", "bilinear")


def check(fill_mode, interpolation):
    if fill_mode not in FILL_MODES:
        raise ValueError(f"Unknown `fill_mode` {fill_mode}. Expected of one {set(FILL_MODES)}.")
    if interpolation not in INTERPOLATIONS:
        raise ValueError(f"Unknown `interpolation` {interpolation}. Expected of one {set(INTERPOLATIONS)}.")


def _inside(x, size, fill_mode):
    """Where an axis of `size` is read for a place x outside of it."""
    if fill_mode == "constant":
        return x
    if fill_mode == "reflect":  # d c b a | a b c d | d c b a
        t = _ops.floormod(x + 0.5, 2.0 * size)
        x = _ops.minimum(t, 2.0 * size - t) - 0.5
    elif fill_mode == "wrap" and size > 1:  # a b c d | a b c d
        before = x + float(size) * (_ops.floor(-x / (size - 1.0)) + 1.0)
        after = x - float(size) * _ops.floor(x / (size - 1.0))
        x = _ops.where(x < 0.0, before, _ops.where(x > size - 1.0, after, x))
    return _ops.clip_by_value(x, 0.0, size - 1.0)


class _Pixels:
    """Images [batch, height, width, channels] as one list of pixels."""

    def __init__(self, images, fill_value):
        self.batch, self.height, self.width, channels = images.shape.as_list()
        self._pixels = _ops.reshape(images, [-1, channels])
        self._fill = _tandem.to_tensor(float(fill_value), images.dtype)

    def at(self, row, column):
        """Pixels at whole places given as floats; the fill value outside."""
        outside = _ops.logical_or(_ops.logical_or(row < 0.0, row > self.height - 1.0), _ops.logical_or(column < 0.0, column > self.width - 1.0))
        rows = _ops.cast(_ops.clip_by_value(row, 0.0, self.height - 1.0), "int32")
        columns = _ops.cast(_ops.clip_by_value(column, 0.0, self.width - 1.0), "int32")
        first = _ops.reshape(_ops.range(self.batch), [self.batch] + [1] * (row.ndim - 1)) * (self.height * self.width)
        values = _ops.gather(self._pixels, first + rows * self.width + columns)
        return _ops.where(_ops.expand_dims(outside, -1), self._fill, values)


def _rounded(x):
    """To the nearest whole number, halves away from zero."""
    return _ops.sign(x) * _ops.floor(_ops.abs(x) + 0.5)


def sample(images, rows, columns, fill_mode="constant", interpolation="bilinear", fill_value=0.0):
    """The images at places [batch, new height, new width], given as floats."""
    pixels = _Pixels(images, fill_value)
    rows, columns = _inside(rows, pixels.height, fill_mode), _inside(columns, pixels.width, fill_mode)
    if interpolation == "nearest":
        return pixels.at(_rounded(rows), _rounded(columns))
    top, left = _ops.floor(rows), _ops.floor(columns)
    down, right = (_ops.cast(_ops.expand_dims(part, -1), images.dtype) for part in (rows - top, columns - left))
    above = pixels.at(top, left) * (1.0 - right) + pixels.at(top, left + 1.0) * right
    below = pixels.at(top + 1.0, left) * (1.0 - right) + pixels.at(top + 1.0, left + 1.0) * right
    return above * (1.0 - down) + below * down


def affine(images, transforms, fill_mode="constant", interpolation="bilinear", fill_value=0.0):
    """images [batch, height, width, channels]; pixel (x, y) is read at the place that transforms [batch, 8] say:

    ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1 for [a0, a1, a2, b0, b1, b2, c0, c1].
    """
    _, height, width, _ = images.shape.as_list()
    t = _ops.cast(transforms, "float32")
    a0, a1, a2, b0, b1, b2, c0, c1 = (_ops.reshape(t[:, i], [-1, 1, 1]) for i in range(8))
    x = _ops.reshape(_ops.cast(_ops.range(width), "float32"), [1, 1, width])
    y = _ops.reshape(_ops.cast(_ops.range(height), "float32"), [1, height, 1])
    k = c0 * x + c1 * y + 1.0
    return sample(images, (b0 * x + b1 * y + b2) / k, (a0 * x + a1 * y + a2) / k, fill_mode, interpolation, fill_value)
