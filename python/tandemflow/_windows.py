"""tf.signal: windows of Kaiser and Vorbis, and the cosine transform of overlapping frames that uses them."""
import numpy as np

from . import _dtypes, _fourier, _tandem
from ._ops import matmul, reshape
from .signal import frame, overlap_and_add


def kaiser_window(window_length, beta=12.0, dtype=_dtypes.float32, name=None):
    """As narrow in time and frequency as beta says."""
    return _tandem.to_tensor(np.kaiser(int(window_length), float(beta)), dtype)


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=_dtypes.float32, name=None):
    """Its square and that of the neighbouring frame's add up to 1."""
    sums = np.cumsum(np.kaiser(int(window_length) // 2 + 1, float(beta)))
    half = np.sqrt(sums[:-1] / sums[-1])
    return _tandem.to_tensor(np.concatenate([half, half[::-1]]), dtype)


def vorbis_window(window_length, dtype=_dtypes.float32, name=None):
    """The window of the Vorbis format."""
    place = np.arange(int(window_length))
    return _tandem.to_tensor(np.sin(np.pi / 2 * np.sin(np.pi / int(window_length) * (place + 0.5)) ** 2), dtype)


def _waves(half, norm):
    """[2 half, half]: what each value of a frame adds to each frequency."""
    place, frequency = np.arange(2 * half)[:, None], np.arange(half)
    waves = 2 * np.cos(np.pi / half * (place + 0.5 + half / 2) * (frequency + 0.5))
    return waves / np.sqrt(2 * half) if norm == "ortho" else waves


def _window(window_fn, length, dtype):
    return None if window_fn is None else window_fn(length, dtype=dtype)


def _checked_norm(norm):
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization mode: {norm}")


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end=False, norm=None, name=None):
    """The cosine transform of frames that overlap by half: [..., frames, frame_length / 2]."""
    _checked_norm(norm)
    x, length = _fourier.as_float(signals), int(frame_length)
    if length % 4:
        raise ValueError("The frame length must be a multiple of 4.")
    frames = frame(x, length, length // 2, pad_end)
    window = _window(window_fn, length, x.dtype)
    frames = frames / float(np.sqrt(2)) if window is None else frames * window
    sizes = frames.shape.as_list()
    waves = _tandem.to_tensor(_waves(length // 2, norm), x.dtype)
    return reshape(matmul(reshape(frames, [-1, length]), waves), [*sizes[:-1], length // 2])


def inverse_mdct(mdcts, window_fn=vorbis_window, norm=None, name=None):
    """The way back of mdct, but for the half frames at both ends, where there was nothing to overlap with."""
    _checked_norm(norm)
    x = _fourier.as_float(mdcts)
    half = x.shape[-1]
    waves = _waves(half, norm).T * (1.0 if norm == "ortho" else 1 / (2 * half))
    frames = matmul(reshape(x, [-1, half]), _tandem.to_tensor(waves, x.dtype))
    window = _window(window_fn, 2 * half, x.dtype)
    frames = frames / float(np.sqrt(2)) if window is None else frames * window
    return overlap_and_add(reshape(frames, [*x.shape.as_list()[:-1], 2 * half]), half)
