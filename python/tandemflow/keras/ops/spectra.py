"""keras.ops: Fourier transforms; complex numbers are pairs (real, imaginary)."""
import numpy as np

from ... import _fourier, _ops
from ._convert import drawable, floats


def _pair(x, what):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` of {what} should be a tuple of two tensors - real and imaginary. Received: x={x}")
    re, im = floats(x[0]), floats(x[1])
    if re.shape.as_list() != im.shape.as_list():
        raise ValueError(f"Input `x` of {what}: the real part has shape {re.shape}, the imaginary part {im.shape}; they must be the same")
    return re, im


@drawable
def fft(x):
    """The Fourier transform of the last axis."""
    return _fourier.fft(*_pair(x, "fft"))


@drawable
def fft2(x):
    """The Fourier transform of the last two axes."""
    return _fourier.over_two(_fourier.fft, *_pair(x, "fft2"))


@drawable
def ifft2(x):
    """The way back of fft2."""
    return _fourier.over_two(_fourier.ifft, *_pair(x, "ifft2"))


@drawable
def rfft(x, fft_length=None):
    """The Fourier transform of real numbers: its first half, of which the other follows."""
    return _fourier.rfft(floats(x), fft_length)


@drawable
def irfft(x, fft_length=None):
    """The way back of rfft."""
    return _fourier.irfft(*_pair(x, "irfft"), fft_length)


@drawable
def extract_sequences(x, sequence_length, sequence_stride):
    """Windows over the last axis, which begin every sequence_stride."""
    return _fourier.frames(floats(x), sequence_length, sequence_stride)


def _window(window, sequence_length, fft_length, dtype):
    """The window in the middle of fft_length zeros; None stays None."""
    if window is None:
        return None
    values = _fourier.raised_cosine(window, sequence_length) if isinstance(window, str) else np.asarray(window)
    if values.shape != (sequence_length,):
        raise ValueError(f"The shape of `window` must be equal to [sequence_length].Received: window shape={values.shape}")
    before = (fft_length - sequence_length) // 2
    return np.pad(values, (before, fft_length - sequence_length - before)).astype(dtype)


@drawable
def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    """Fourier transforms of windows over the last axis: how strong which frequency is when."""
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    x = floats(x)
    if center:
        x = _ops.pad(x, [[0, 0]] * (x.ndim - 1) + [[fft_length // 2] * 2], "REFLECT")
    return _fourier.stft(x, fft_length, sequence_stride, fft_length, _window(window, sequence_length, fft_length, x.dtype.as_numpy_dtype))


@drawable
def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    """The way back of stft."""
    re, im = _pair(x, "istft")
    values = _window(window, sequence_length, fft_length, re.dtype.as_numpy_dtype)
    if values is not None:
        values = _fourier.inverse_window(values, sequence_stride)
    x = _fourier.inverse_stft(re, im, fft_length, sequence_stride, fft_length, values)
    begin = fft_length // 2 if center else 0
    if length is not None:
        return x[..., begin : begin + length]
    return x[..., begin : x.shape[-1] - begin]
