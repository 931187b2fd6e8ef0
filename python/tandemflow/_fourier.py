"""Fourier transforms over the last axis, of pairs (real, imaginary), written in matmuls: they run where matmuls run, and have gradients.

A length that is a product is taken apart, as Cooley and Tukey do: its factors are transformed one after another.
"""
import functools
import math

import numpy as np

from . import _dtypes, _tandem
from ._arrays import reverse
from ._ops import cast, concat, gather, matmul, pad, reshape, transpose

_WHOLE = 64  # up to this length one matmul is the fastest


@functools.lru_cache(maxsize=64)
def _factor(length):
    """The factor nearest to the root; 1 for a prime."""
    return next((n for n in range(math.isqrt(length), 1, -1) if length % n == 0), 1)


@functools.lru_cache(maxsize=64)
def _angles(rows, columns, length, dtype, sign):
    """(cos, sin) of 2 pi j k / length."""
    turns = np.arange(rows)[:, None] * np.arange(columns) % length
    angles = sign * 2 * np.pi * turns / length
    quarters = 4 * turns % length == 0  # where one of the two is exactly 0
    even = 2 * turns % length == 0
    return np.where(quarters & ~even, 0, np.cos(angles)).astype(dtype), np.where(even, 0, np.sin(angles)).astype(dtype)


def _rows_times(x, matrix):
    return reshape(matmul(reshape(x, [-1, matrix.shape[0]]), _tandem.to_tensor(matrix)), [*x.shape.as_list()[:-1], matrix.shape[1]])


def _turned(x):
    return transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def _transform(re, im, sign):
    """The sums, not divided; `im` may be None, for zeros."""
    length, dtype = re.shape[-1], re.dtype.as_numpy_dtype
    factor = _factor(length) if length > _WHOLE else 1
    if factor == 1:
        cos, sin = _angles(length, length, length, dtype, sign)
        if im is None:
            return _rows_times(re, cos), _rows_times(re, sin)
        return _rows_times(re, cos) - _rows_times(im, sin), _rows_times(re, sin) + _rows_times(im, cos)
    rest, lead = length // factor, re.shape.as_list()[:-1]
    parts = [None if x is None else _turned(reshape(x, [*lead, factor, rest])) for x in (re, im)]
    re, im = _transform(*parts, sign)
    cos, sin = _angles(rest, factor, length, dtype, sign)
    re, im = re * cos - im * sin, re * sin + im * cos
    re, im = _transform(_turned(re), _turned(im), sign)
    return reshape(_turned(re), [*lead, length]), reshape(_turned(im), [*lead, length])


def fft(re, im):
    """The Fourier transform."""
    return _transform(re, im, -1)


def ifft(re, im):
    """The way back of fft."""
    length = re.shape[-1]
    re, im = _transform(re, im, 1)
    return re / length, im / length


def over_two(transform, re, im):
    """A transform over the last two axes."""
    re, im = transform(re, im)
    re, im = transform(_turned(re), _turned(im))
    return _turned(re), _turned(im)


def fitted(x, length):
    """The last axis cut or filled up with zeros."""
    if length <= x.shape[-1]:
        return x if length == x.shape[-1] else x[..., :length]
    return pad(x, [[0, 0]] * (x.ndim - 1) + [[0, length - x.shape[-1]]])


def rfft(x, length=None):
    """The Fourier transform of real numbers, of which the first half says all."""
    x = fitted(x, length or x.shape[-1])
    half = x.shape[-1] // 2 + 1
    re, im = _transform(x, None, -1)
    return re[..., :half], im[..., :half]


def irfft(re, im, length=None):
    """The real numbers that rfft was given."""
    length = length or 2 * (re.shape[-1] - 1)
    half = length // 2 + 1
    re, im = fitted(re, half), fitted(im, half)
    last = length - half + 1  # what the second half repeats, backwards
    re = concat([re, reverse(re[..., 1:last], [-1])], -1)
    im = concat([im, -reverse(im[..., 1:last], [-1])], -1)
    return _transform(re, im, 1)[0] / length


def frames(x, length, step):
    """[…, time] as […, frames, length]: windows that begin every `step`."""
    count = (x.shape[-1] - length) // step + 1
    if count < 1:
        raise ValueError(f"frames of {length} do not fit into {x.shape[-1]} steps")
    places = np.arange(count)[:, None] * step + np.arange(length)
    return gather(x, _tandem.to_tensor(places.astype(np.int32)), axis=-1)


def overlap_and_add(x, step):
    """[…, frames, length] as […, time]: frames that begin every `step`, added where they overlap."""
    lead, (count, length) = x.shape.as_list()[:-2], x.shape.as_list()[-2:]
    pieces = -(-length // step)  # every frame as pieces of `step`; piece i of frame f belongs to place f + i
    x = reshape(fitted(x, pieces * step), [*lead, count, pieces, step])
    places = count + pieces - 1
    total = None
    for i in range(pieces):
        piece = pad(x[..., i, :], [[0, 0]] * len(lead) + [[i, places - count - i], [0, 0]])
        total = piece if total is None else total + piece
    return reshape(total, [*lead, places * step])[..., : (count - 1) * step + length]




def raised_cosine(name, length, periodic=True, dtype="float32"):
    """The window "hann" or "hamming". One of odd length is never periodic, as in TensorFlow."""
    if name not in ("hann", "hamming"):
        raise ValueError(f"If a string is passed to `window`, it must be one of `hann`, `hamming`. Received: window={name}")
    make = np.hanning if name == "hann" else np.hamming
    return (make(length + 1)[:-1] if periodic and length % 2 == 0 else make(length)).astype(dtype)


def inverse_window(values, step):
    """What frames are multiplied with on the way back, so that frames multiplied with `values` add up to what they were."""
    overlaps = -(-len(values) // step)
    sums = np.pad(values**2, (0, overlaps * step - len(values))).reshape(overlaps, step).sum(0)
    return values / np.tile(sums, overlaps)[: len(values)]


def stft(x, frame_length, frame_step, fft_length, window):
    """(real, imaginary) of the transforms of frames, […, frames, fft_length // 2 + 1]; `window` is an array or None."""
    pieces = frames(x, frame_length, frame_step)
    return rfft(pieces if window is None else pieces * window, fft_length)


def inverse_stft(re, im, frame_length, frame_step, fft_length, window):
    """The way back: `window` is what inverse_window gives, or None."""
    pieces = fitted(irfft(re, im, fft_length), frame_length)
    return overlap_and_add(pieces if window is None else pieces * window, frame_step)


def as_float(x):
    x = _tandem.to_tensor(x)
    return x if x.dtype.is_floating else cast(x, _dtypes.float32)
