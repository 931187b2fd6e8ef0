"""tf.math: arithmetic, comparisons and reductions."""
from . import _arrays, _matrices, _names, _segments
from ._ops import exported as _exported

globals().update(_exported)
for _composed in (_arrays, _matrices, _segments):
    globals().update(_composed.exported)
truediv = _exported["divide"]
mod = _exported["floormod"]

__getattr__, __dir__ = _names.lazy(__name__, {"special": "_math_special:"} | _names.places_of(
    _complex="angle conj imag real",
    _extras="confusion_matrix",
    _partitions="invert_permutation",
    _special_functions="bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc erfcinv igamma igammac polygamma zeta",
    _seldom="approx_max_k approx_min_k nextafter accumulate_n cumulative_logsumexp is_non_decreasing is_strictly_increasing lbeta polyval reciprocal_no_nan xlog1py",
))  # fmt: skip
