"""keras.layers.STFTSpectrogram: how much of each frequency a signal has, frame by frame."""
import math

from ... import _conv, _ops
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from .. import initializers
from ._configured import ConfiguredLayer

_MODES = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
_SMALL = 1e-7


class STFTSpectrogram(ConfiguredLayer):
    """The Fourier transforms of frames of a signal [batch, time, channels], as convolutions whose kernels can be trained."""

    def __init__(self, mode="log", frame_length=256, frame_step=None, fft_length=None, window="hann", periodic=False, scaling="density",
                 padding="valid", expand_dims=False, data_format=None, **kwargs):  # fmt: skip
        if frame_step is not None and not 1 <= frame_step <= frame_length:
            raise ValueError(
                "`frame_step` should be a positive integer not greater than `frame_length`. "
                f"Received frame_step={frame_step}, frame_length={frame_length}"
            )
        if fft_length is not None and fft_length < frame_length:
            raise ValueError(f"`fft_length` should be not less than `frame_length`. Received fft_length={fft_length}, frame_length={frame_length}")
        if mode not in _MODES:
            raise ValueError(f"Output mode is invalid, it must be one of {', '.join(_MODES)}. Received: mode={mode}")
        if scaling not in (None, "density", "spectrum"):
            raise ValueError(f"Scaling is invalid, it must be `None`, 'density' or 'spectrum'. Received scaling={scaling}")
        if padding not in ("valid", "same"):
            raise ValueError(f"Padding is invalid, it should be 'valid', 'same'. Received: padding={padding}")
        super().__init__(**kwargs)
        self._keep(mode=mode, frame_length=frame_length, frame_step=frame_step, fft_length=fft_length, window=window, periodic=periodic,
                   scaling=scaling, padding=padding, expand_dims=expand_dims, data_format=formats.standardize(data_format))  # fmt: skip
        self.input_spec = InputSpec(ndim=3)

    def build(self, input_shape):
        transformed = self.fft_length or 2 ** math.ceil(math.log2(self.frame_length))
        shape = (self.frame_length, 1, transformed // 2 + 1)
        for side in ("real", "imag"):
            if self.mode != {"real": "imag", "imag": "real"}[side]:
                kernel = initializers.STFT(side, self.window, self.scaling, self.periodic)
                setattr(self, f"{side}_kernel", self.add_weight(shape, kernel, name=f"{side}_kernel"))

    def call(self, inputs):
        signal = inputs if self.data_format == "channels_first" else _ops.transpose(inputs, [0, 2, 1])
        return self._arranged(self._spectrum(signal))

    def _frames(self, signal, kernel):
        """[batch, channels, time] to [batch, channels, frames, frequencies]."""
        batch, channels, time = signal.shape
        step = self.frame_step or self.frame_length // 2
        frames = _conv.conv1d(_ops.reshape(signal, [-1, time, 1]), _ops.cast(kernel, signal.dtype), step, self.padding.upper())
        return _ops.reshape(frames, [batch, channels, *frames.shape[1:]])

    def _spectrum(self, signal):
        if self.mode in ("real", "imag"):
            return self._frames(signal, self.real_kernel if self.mode == "real" else self.imag_kernel)
        real, imaginary = self._frames(signal, self.real_kernel), self._frames(signal, self.imag_kernel)
        if self.mode == "angle":
            return _ops.atan2(imaginary, real)
        if self.mode == "stft":
            return _ops.concat([real, imaginary], -1)
        power = _ops.square(real) + _ops.square(imaginary)
        if self.mode == "psd":  # all but the ends stand for two frequencies
            return power + _ops.pad(power[..., 1:-1], [[0, 0], [0, 0], [0, 0], [1, 1]])
        magnitude = _ops.sqrt(_ops.maximum(power, _SMALL))
        return magnitude if self.mode == "magnitude" else _ops.log(_ops.maximum(magnitude, _SMALL))

    def _arranged(self, spectrum):
        """From [batch, channels, frames, frequencies]."""
        batch, channels, frames, frequencies = spectrum.shape
        if self.expand_dims:
            return spectrum if self.data_format == "channels_first" else _ops.transpose(spectrum, [0, 2, 3, 1])
        if self.data_format == "channels_first":
            return _ops.reshape(_ops.transpose(spectrum, [0, 1, 3, 2]), [batch, channels * frequencies, frames])
        return _ops.reshape(_ops.transpose(spectrum, [0, 2, 1, 3]), [batch, frames, channels * frequencies])
