"""Windows of signals: how much each sample of a frame counts."""
import math

from .registry import nearest

# w(n) = sum_k (-1)^k a_k cos(2 pi k n / N), by SciPy's names.
_COSINE_SUMS = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def check_window(name):
    if name not in _COSINE_SUMS and name != "bartlett":
        known = [*_COSINE_SUMS, "bartlett"]
        raise ValueError(f"Unknown window type: '{name}'.{nearest(name, known)} Known are {', '.join(known)}.")


def window(name, length, periodic):
    """A list of weights; a periodic one goes on with its first."""
    check_window(name)
    last = length if periodic else max(length - 1, 1)
    if length == 1:
        return [1.0]
    if name == "bartlett":
        return [1 - abs(2 * n / last - 1) for n in range(length)]
    terms = list(enumerate(_COSINE_SUMS[name]))
    return [sum((-1) ** k * a * math.cos(2 * math.pi * k * n / last) for k, a in terms) for n in range(length)]
