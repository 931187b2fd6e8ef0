"""keras.layers.MelSpectrogram: how much of each band of frequencies a signal has, frame by frame."""
from ... import _ops, signal
from ._configured import ConfiguredLayer


class MelSpectrogram(ConfiguredLayer):
    """Signals [batch, time] or [time] as [batch, bands, frames], the bands as wide as they sound."""

    _computes_in_floats = True

    def __init__(self, fft_length=2048, sequence_stride=512, sequence_length=None, window="hann", sampling_rate=16000, num_mel_bins=128,
                 min_freq=20.0, max_freq=None, power_to_db=True, top_db=80.0, mag_exp=2.0, min_power=1e-10, ref_power=1.0, **kwargs):  # fmt: skip
        sequence_length = sequence_length or fft_length
        if fft_length < sequence_length:
            raise ValueError(f"`fft_length` must be greater than or equal to `sequence_length`. Received: sequence_length={sequence_length}, fft_length={fft_length}.")
        super().__init__(**kwargs)
        self._keep(fft_length=fft_length, sequence_stride=sequence_stride, sequence_length=sequence_length, window=window,
                   sampling_rate=sampling_rate, num_mel_bins=num_mel_bins, min_freq=min_freq, max_freq=max_freq or int(sampling_rate / 2),
                   power_to_db=power_to_db, top_db=top_db, mag_exp=mag_exp, min_power=min_power, ref_power=ref_power)  # fmt: skip

    def call(self, inputs):
        from .. import ops

        real, imaginary = ops.stft(inputs, self.sequence_length, self.sequence_stride, self.fft_length, self.window, center=True)
        magnitude = _ops.sqrt(_ops.square(real) + _ops.square(imaginary))
        matrix = signal.linear_to_mel_weight_matrix(self.num_mel_bins, magnitude.shape[-1], self.sampling_rate, self.min_freq, self.max_freq)
        bands = _ops.matmul(magnitude**self.mag_exp, _ops.cast(matrix, magnitude.dtype))
        return _ops.cast(_ops.transpose(self._decibels(bands) if self.power_to_db else bands, [*range(bands.ndim - 2), -1, -2]), self.compute_dtype)

    def _decibels(self, power):
        import math

        tenfold = 10.0 / math.log(10.0)
        level = tenfold * _ops.log(_ops.maximum(power, self.min_power)) - tenfold * math.log(max(abs(self.ref_power), self.min_power))
        return _ops.maximum(level, _ops.reduce_max(level) - self.top_db)
