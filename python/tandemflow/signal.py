"""tf.signal: Fourier transforms, windows, frames, and what speech is described by."""
import numpy as np

from . import _fourier, _names, _tandem
from ._arrays import roll
from ._complex import ComplexTensor, as_complex
from ._matrices import matrix_transpose
from ._ops import matmul, pad, reshape, transpose, zeros


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


def rfft(input_tensor, fft_length=None, name=None):
    """The Fourier transform of real numbers: its first half, of which the other follows."""
    return ComplexTensor(*_fourier.rfft(_fourier.as_float(input_tensor), _length(fft_length)))


def irfft(input_tensor, fft_length=None, name=None):
    """The way back of rfft."""
    z = as_complex(input_tensor)
    return _fourier.irfft(z._re, z._im, _length(fft_length))


def _lengths(fft_length):
    return (None, None) if fft_length is None else tuple(int(length) for length in np.asarray(fft_length).reshape(-1))


def _turned(z):
    """The last two axes of a complex tensor exchanged."""
    return ComplexTensor(matrix_transpose(z._re), matrix_transpose(z._im))


def rfft2d(input_tensor, fft_length=None, name=None):
    """The Fourier transform of the last two axes of real numbers: the first half of the last one."""
    rows, columns = _lengths(fft_length)
    half = _turned(ComplexTensor(*_fourier.rfft(_fourier.as_float(input_tensor), columns)))
    if rows is not None:
        half = ComplexTensor(_fourier.fitted(half._re, rows), _fourier.fitted(half._im, rows))
    return _turned(fft(half))


def irfft2d(input_tensor, fft_length=None, name=None):
    """The way back of rfft2d."""
    rows, columns = _lengths(fft_length)
    turned = _turned(as_complex(input_tensor))
    if rows is not None:
        turned = ComplexTensor(_fourier.fitted(turned._re, rows), _fourier.fitted(turned._im, rows))
    back = _turned(ifft(turned))
    return _fourier.irfft(back._re, back._im, columns)


def _over_axes(transform, z, axes, lengths):
    """A transform of one axis after another, each of which is brought to the end and cut or filled up."""
    for axis, length in zip(axes, lengths):
        order = [i for i in range(z.ndim) if i != axis] + [axis]
        back = [order.index(i) for i in range(z.ndim)]
        re, im = (part if part is None else transpose(part, order) for part in (z._re, z._im))
        if length is not None:
            re, im = _fourier.fitted(re, length), _fourier.fitted(im, length)
        re, im = transform(re, im)
        z = ComplexTensor(transpose(re, back), transpose(im, back))
    return z


def _axes_and_lengths(x, fft_length, axes, rank=None):
    """The axes of a transform from the first on, and how long each is to be."""
    if axes is None:
        count = rank or (x.ndim if fft_length is None else len(_tandem.as_ints(fft_length)))
        axes = range(-count, 0)
    if any(not -x.ndim <= axis < x.ndim for axis in axes):
        raise ValueError(f"the transform needs {len(axes)} axes, {list(axes)}, got a tensor of shape {tuple(x.shape)}")
    axes = [int(axis) % x.ndim for axis in axes]
    lengths = [None] * len(axes) if fft_length is None else _tandem.as_ints(fft_length)
    if len(lengths) != len(axes):
        raise ValueError(f"fft_length must have a length for each of the {len(axes)} axes, got {lengths}")
    return axes, lengths


def fftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The Fourier transform of several axes, the last ones unless `axes` says which."""
    z = as_complex(input_tensor)
    return _over_axes(_fourier.fft, z, *_axes_and_lengths(z, fft_length, axes))


def ifftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The way back of fftnd."""
    z = as_complex(input_tensor)
    return _over_axes(_fourier.ifft, z, *_axes_and_lengths(z, fft_length, axes))


def rfftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The Fourier transform of several axes of real numbers: the first half of the last one."""
    x = _fourier.as_float(input_tensor)
    axes, lengths = _axes_and_lengths(x, fft_length, axes)
    half = _over_axes(lambda re, im: _fourier.rfft(re), ComplexTensor(x, x), axes[-1:], lengths[-1:])
    return _over_axes(_fourier.fft, half, axes[:-1], lengths[:-1])


def irfftnd(input_tensor, fft_length=None, axes=None, norm=None, name=None):
    """The way back of rfftnd."""
    z = as_complex(input_tensor)
    axes, lengths = _axes_and_lengths(z, fft_length, axes)
    z = _over_axes(_fourier.ifft, z, axes[:-1], lengths[:-1])
    order = [i for i in range(z.ndim) if i != axes[-1]] + axes[-1:]
    real = _fourier.irfft(transpose(z._re, order), transpose(z._im, order), lengths[-1])
    return transpose(real, [order.index(i) for i in range(z.ndim)])


def _last_three(x, fft_length):
    x = x if isinstance(x, ComplexTensor) else _tandem.to_tensor(x)
    return dict(fft_length=fft_length, axes=_axes_and_lengths(x, fft_length, None, rank=3)[0])


def fft3d(input, name=None):
    """The Fourier transform of the last three axes."""
    z = as_complex(input)
    return fftnd(z, **_last_three(z, None))


def ifft3d(input, name=None):
    """The way back of fft3d."""
    z = as_complex(input)
    return ifftnd(z, **_last_three(z, None))


def rfft3d(input_tensor, fft_length=None, name=None):
    """The Fourier transform of the last three axes of real numbers: the first half of the last one."""
    return rfftnd(input_tensor, **_last_three(input_tensor, fft_length))


def irfft3d(input_tensor, fft_length=None, name=None):
    """The way back of rfft3d."""
    z = as_complex(input_tensor)
    return irfftnd(z, **_last_three(z, fft_length))


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
    turned = transpose(x, last)
    if frame_length > x.shape[axis]:  # no frame fits
        out = zeros([*turned.shape.as_list()[:-1], 0, frame_length], x.dtype)
    else:
        out = _fourier.frames(turned, frame_length, frame_step)
    return transpose(out, [*range(axis), x.ndim - 1, x.ndim, *range(axis, x.ndim - 1)])


def overlap_and_add(signal, frame_step, name=None):
    """Frames that begin every frame_step, added up to one signal."""
    signal = _tandem.to_tensor(signal)
    if signal.ndim < 2:
        raise ValueError(f"overlap_and_add: signal needs the axes [..., frames, frame_length], got {signal.shape}")
    return _fourier.overlap_and_add(signal, frame_step)


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


def _cosines(kind, length, norm):
    """What the cosine transform of a type multiplies with; Unnormalised ones are twice the sum, as everywhere."""
    places = np.arange(length)
    first = np.where(places == 0, 1.0, np.sqrt(2.0)) / np.sqrt(length)
    if kind == 1:
        waves = 2 * np.cos(np.pi / (length - 1) * places[:, None] * places)
        waves[[0, -1]] /= 2
        return waves
    if kind == 4:
        waves = 2 * np.cos(np.pi / length * (places[:, None] + 0.5) * (places + 0.5))
        return waves / np.sqrt(2 * length) if norm == "ortho" else waves
    waves = 2 * np.cos(np.pi / length * (places[:, None] + 0.5) * places)  # type 2, of which 3 is the way back
    if norm == "ortho":
        waves = waves * first / 2
        return waves if kind == 2 else waves.T
    return waves if kind == 2 else waves.T * np.where(places == 0, 0.5, 1)[:, None]


def _check_dct(who, kind, axis, n, norm, length):
    if axis != -1:
        raise NotImplementedError(f"{who}: axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError(f"{who}: n should be a positive integer or None, got {n}")
    if kind not in (1, 2, 3, 4):
        raise ValueError(f"{who}: Types I, II, III and IV (I)DCT are supported, got type={kind}")
    if norm not in (None, "ortho"):
        raise ValueError(f"{who}: Unknown normalization. Expected None or 'ortho', got: {norm}")
    if kind == 1 and norm == "ortho":
        raise ValueError(f"{who}: Normalization is not supported for the Type-I DCT.")
    if kind == 1 and length < 2:
        raise ValueError(f"{who}: DCT-I requires the dimension to be greater than one, got {length}")


def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The cosine transform of type 1, 2, 3 or 4 of the last axis."""
    x = _fourier.as_float(input)
    _check_dct("dct", type, axis, n, norm, n or x.shape[-1])
    x = x if n is None else _fourier.fitted(x, n)
    length = x.shape[-1]
    return reshape(matmul(reshape(x, [-1, length]), _tandem.to_tensor(_cosines(type, length, norm), x.dtype)), x.shape.as_list())


def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The way back of dct, times twice the length where norm is None; n is not used yet, as in TensorFlow."""
    return dct(input, {2: 3, 3: 2}.get(type, type), None, axis, norm)


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
