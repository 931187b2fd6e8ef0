"""tf.audio: sound files."""
import struct

from . import _dtypes, _names, _tandem
from .errors import InvalidArgumentError


def _chunks(data):
    """(name, content) of a RIFF file."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError("decode_wav: Header mismatch: Expected RIFF and WAVE")
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        yield name, data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def decode_wav(contents, desired_channels=-1, desired_samples=-1, name=None):
    """(samples [length, channels] from -1 to 1, rate) of a WAV file of 16 bits."""
    import numpy

    if not _tandem.executing_eagerly():
        from .errors import UnimplementedError

        raise UnimplementedError("E0702 decode_wav: the length is not known while a function is traced; decode outside")
    chunks = dict(_chunks(_tandem.to_tensor(contents).numpy()))
    if b"fmt " not in chunks or b"data" not in chunks:
        raise InvalidArgumentError("decode_wav: No data chunk found in WAV")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", chunks[b"fmt "])
    if kind not in (1, 0xFFFE) or bits != 16:
        raise InvalidArgumentError(f"decode_wav: Can only read 16-bit WAV files, but received {bits}")
    samples = numpy.frombuffer(chunks[b"data"][: len(chunks[b"data"]) // 2 // channels * 2 * channels], "<i2").reshape(-1, channels)
    samples = samples.astype(numpy.float32) / 32768
    if desired_channels > 0:
        samples = samples[:, [min(i, channels - 1) for i in range(desired_channels)]]
    if desired_samples > 0:
        padded = numpy.zeros((desired_samples, samples.shape[1]), numpy.float32)
        padded[: len(samples)] = samples[:desired_samples]
        samples = padded
    return DecodeWav(_tandem.to_tensor(samples), _tandem.to_tensor(rate, _dtypes.int32))


class DecodeWav(tuple):
    """The result of decode_wav: audio and sample_rate."""

    def __new__(cls, audio, sample_rate):
        return tuple.__new__(cls, (audio, sample_rate))

    audio = property(lambda self: self[0])
    sample_rate = property(lambda self: self[1])


def encode_wav(audio, sample_rate, name=None):
    """A WAV file of 16 bits; samples beyond -1 and 1 are cut."""
    import numpy

    samples = numpy.asarray(_tandem.to_tensor(audio).numpy())
    if samples.ndim != 2:
        raise InvalidArgumentError(f"encode_wav: audio must be [length, channels], got {samples.shape}")
    whole = numpy.clip(numpy.round(samples * 32768), -32768, 32767).astype("<i2").tobytes()
    channels, rate = samples.shape[1], int(sample_rate)
    head = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
    body = b"WAVE" + head + struct.pack("<4sI", b"data", len(whole)) + whole
    return _tandem.to_tensor(b"RIFF" + struct.pack("<I", len(body)) + body)


__getattr__, __dir__ = _names.lazy(__name__)
