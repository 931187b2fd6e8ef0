"""tf.signal: Fourier transforms, windows, frames, and what speech is described by."""
import numpy as np

from . import _fourier, _names, _tandem
from ._arrays import roll
from ._complex import ComplexTensor, as_complex
from ._matrices import matrix_transpose
from ._ops import matmul, pad, reshape, transpose


def fft(input, name=None):
    """The Fourier transform of the last axis."""
    z = as_complex(input)
    return ComplexTensor(*_fourier.fft(z._re, z._im))


def ifft(input, name=None):
    """The way back of fft."""
    z = as_complex(input)
    return ComplexTensor(*_fourier.ifft(z._re, z._im))


def fft2d(input, name=None):
    """The Fourier transform of the last two axes."""
    z = as_complex(input)
    return ComplexTensor(*_fourier.over_two(_fourier.fft, z._re, z._im))


def ifft2d(input, name=None):
    """The way back of fft2d."""
    z = as_complex(input)
    return ComplexTensor(*_fourier.over_two(_fourier.ifft, z._re, z._im))


def _length(fft_length):
    return None if fft_length is None else int(np.asarray(fft_length).reshape(-1)[-1])


def rfft(input, fft_length=None, name=None):
    """The Fourier transform of real numbers: its first half, of which the other follows."""
    return ComplexTensor(*_fourier.rfft(_fourier.as_float(input), _length(fft_length)))


def irfft(input, fft_length=None, name=None):
    """The way back of rfft."""
    z = as_complex(input)
    return _fourier.irfft(z._re, z._im, _length(fft_length))


def _lengths(fft_length):
    return (None, None) if fft_length is None else tuple(int(length) for length in np.asarray(fft_length).reshape(-1))


def _turned(z):
    """The last two axes of a complex tensor exchanged."""
    return ComplexTensor(matrix_transpose(z._re), matrix_transpose(z._im))


def rfft2d(input, fft_length=None, name=None):
    """The Fourier transform of the last two axes of real numbers: the first half of the last one."""
    rows, columns = _lengths(fft_length)
    half = _turned(ComplexTensor(*_fourier.rfft(_fourier.as_float(input), columns)))
    if rows is not None:
        half = ComplexTensor(_fourier.fitted(half._re, rows), _fourier.fitted(half._im, rows))
    return _turned(fft(half))


def irfft2d(input, fft_length=None, name=None):
    """The way back of rfft2d."""
    rows, columns = _lengths(fft_length)
    turned = _turned(as_complex(input))
    if rows is not None:
        turned = ComplexTensor(_fourier.fitted(turned._re, rows), _fourier.fitted(turned._im, rows))
    back = _turned(ifft(turned))
    return _fourier.irfft(back._re, back._im, columns)


def fftshift(x, axes=None, name=None):
    """The middle of each axis where its beginning was."""
    return _shifted(x, axes, lambda size: size // 2)


def ifftshift(x, axes=None, name=None):
    """The way back of fftshift."""
    return _shifted(x, axes, lambda size: -(size // 2))


def _shifted(x, axes, by):
    if isinstance(x, ComplexTensor):
        return ComplexTensor(_shifted(x._re, axes, by), _shifted(x._im, axes, by))
    x = _tandem.to_tensor(x)
    axes = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    for axis in axes:
        x = roll(x, by(x.shape[axis]), axis)
    return x


def hann_window(window_length, periodic=True, dtype="float32", name=None):
    """Rises from 0 to 1 and falls again, as a cosine does."""
    return _tandem.to_tensor(_fourier.raised_cosine("hann", int(window_length), periodic), dtype)


def hamming_window(window_length, periodic=True, dtype="float32", name=None):
    """As hann_window, beginning at 0.08."""
    return _tandem.to_tensor(_fourier.raised_cosine("hamming", int(window_length), periodic), dtype)


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Windows of frame_length along an axis, which begin every frame_step; with pad_end also those that reach beyond it."""
    x = _tandem.to_tensor(signal)
    axis %= x.ndim
    if pad_end:
        length = x.shape[axis]
        wanted = max(0, (-(-length // frame_step) - 1) * frame_step + frame_length)
        x = pad(x, [[0, wanted - length if i == axis else 0] for i in range(x.ndim)], constant_values=pad_value) if wanted > length else x
    last = [i for i in range(x.ndim) if i != axis] + [axis]
    out = _fourier.frames(transpose(x, last), frame_length, frame_step)
    return transpose(out, [*range(axis), x.ndim - 1, x.ndim, *range(axis, x.ndim - 1)])


def overlap_and_add(signal, frame_step, name=None):
    """Frames that begin every frame_step, added up to one signal."""
    return _fourier.overlap_and_add(_tandem.to_tensor(signal), frame_step)


def _values(window_fn, length, dtype):
    return None if window_fn is None else np.asarray(window_fn(length, dtype=dtype))


def _enclosing_power_of_two(length):
    return 1 << (int(length) - 1).bit_length()


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """Fourier transforms of windows over the last axis: how strong which frequency is when."""
    x = _fourier.as_float(signals)
    frames = frame(x, frame_length, frame_step, pad_end)
    window = _values(window_fn, frame_length, x.dtype)
    frames = frames if window is None else frames * window
    return ComplexTensor(*_fourier.rfft(frames, fft_length or _enclosing_power_of_two(frame_length)))


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """The way back of stft, with window_fn=inverse_stft_window_fn(frame_step)."""
    z = as_complex(stfts)
    window = _values(window_fn, frame_length, z._re.dtype)
    return _fourier.inverse_stft(z._re, z._im, frame_length, frame_step, fft_length or _enclosing_power_of_two(frame_length), window)


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window for inverse_stft that gives back what stft with forward_window_fn was given."""

    def window_fn(frame_length, dtype):
        return _tandem.to_tensor(_fourier.inverse_window(np.asarray(forward_window_fn(frame_length, dtype=dtype)), frame_step), dtype)

    return window_fn


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The cosine transform of type 2 of the last axis, or of type 3, its way back."""
    if type not in (2, 3) or axis != -1 or norm not in (None, "ortho"):
        raise NotImplementedError(f"dct: types 2 and 3 of the last axis with norm None or 'ortho' are there, got type={type}, axis={axis}, norm={norm!r}")
    x = _fourier.as_float(input)
    x = x if n is None else _fourier.fitted(x, n)
    length = x.shape[-1]
    waves = 2 * np.cos(np.pi / length * (np.arange(length)[:, None] + 0.5) * np.arange(length))
    if norm == "ortho":
        waves = waves * np.where(np.arange(length) == 0, np.sqrt(1 / length), np.sqrt(2 / length)) / 2
    if type == 3:
        waves = waves.T if norm == "ortho" else waves.T * np.where(np.arange(length) == 0, 0.5, 1)[:, None]
    return reshape(matmul(reshape(x, [-1, length]), _tandem.to_tensor(waves, x.dtype)), x.shape.as_list())


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The way back of dct, times twice the length where norm is None."""
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz=125.0, upper_edge_hertz=3800.0,
                                dtype="float32", name=None):  # fmt: skip
    """Multiplied with it, a spectrogram has the frequencies that people tell apart."""

    def mel(hertz):
        return 1127 * np.log1p(np.asarray(hertz, "float64") / 700)

    bins = mel(np.linspace(0, float(sample_rate) / 2, num_spectrogram_bins)[1:])[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    lower, middle, upper = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(0, np.minimum((bins - lower) / (middle - lower), (upper - bins) / (upper - middle)))
    return _tandem.to_tensor(np.pad(weights, [[1, 0], [0, 0]]), dtype)  # no weight for what does not swing


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
    """What speech recognition is given: the cosine transform of each frame."""
    x = _fourier.as_float(log_mel_spectrograms)
    return dct(x) / float(np.sqrt(2 * x.shape[-1]))


__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(_windows="inverse_mdct kaiser_bessel_derived_window kaiser_window mdct vorbis_window"))
