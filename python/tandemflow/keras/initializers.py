"""keras.initializers: the first values of weights."""
import math

from .. import _dtypes, _linalg, _matrices, _names, _ops, _tandem
from .. import random as _random
from ._engine import windows
from ._engine.floats import floatx
from ._engine.naming import snake_case
from ._engine.registry import Family, serialize_keras_object

# A normal distribution cut at two deviations has this deviation.
_TRUNCATED_STDDEV = 0.87962566103423978


class Initializer:
    """Makes a tensor of a shape and dtype."""

    _keras_module = "keras.initializers"

    def __call__(self, shape, dtype=None):
        raise NotImplementedError("Initializer subclasses must implement the `__call__()` method.")

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def clone(self):
        return self.__class__.from_config(self.get_config())


def _dtype(dtype):
    return _dtypes.as_dtype(dtype or floatx())


def _sizes(shape):
    return tuple(_tandem.as_ints(shape))


# --- Fixed values ---


class Zeros(Initializer):
    """0 everywhere."""

    def __call__(self, shape, dtype=None):
        return _ops.zeros(shape, _dtype(dtype))


class Ones(Initializer):
    """1 everywhere."""

    def __call__(self, shape, dtype=None):
        return _ops.ones(shape, _dtype(dtype))


class Constant(Initializer):
    """One value everywhere, or a tensor that broadcasts to the shape."""

    def __init__(self, value=0.0):
        self.value = value

    def __call__(self, shape, dtype=None):
        return _ops.broadcast_to(_ops.cast(_tandem.to_tensor(self.value), _dtype(dtype)), shape)

    def get_config(self):
        return {"value": serialize_keras_object(self.value)}

    @classmethod
    def from_config(cls, config):
        from ._engine.registry import deserialize_keras_object

        return cls(deserialize_keras_object(config["value"]))


class Identity(Initializer):
    """gain on the diagonal of a matrix, 0 elsewhere."""

    def __init__(self, gain=1.0):
        self.gain = gain

    def __call__(self, shape, dtype=None):
        if len(shape) != 2:
            raise ValueError(
                "Identity matrix initializer can only be used for 2D matrices. "
                f"Received: shape={shape} of rank {len(shape)}."
            )
        return self.gain * _ops.eye(*shape, dtype=_dtype(dtype))

    def get_config(self):
        return {"gain": self.gain}


class STFT(Initializer):
    """Kernels of a Fourier transform over frames, [frame, 1, frequencies]: the real or the imaginary part."""

    def __init__(self, side="real", window="hann", scaling="density", periodic=False):
        if side not in ("real", "imag"):
            raise ValueError(f"side should be 'real' or 'imag', not {side}")
        if isinstance(window, str):
            windows.check_window(window)
        if scaling not in (None, "density", "spectrum"):
            raise ValueError(f"Scaling is invalid, it must be `None`, 'density' or 'spectrum'. Received scaling={scaling}")
        self.side, self.window, self.scaling, self.periodic = side, window, scaling, periodic

    def __call__(self, shape, dtype=None):
        frame, _, frequencies = _sizes(shape)
        time = _ops.reshape(_ops.range(frame, dtype=_dtypes.float64), [frame, 1, 1])
        turns = _ops.range(frequencies, dtype=_dtypes.float64) / float(2 * (frequencies - 1))
        angles = -2.0 * math.pi * time * _ops.reshape(turns, [1, 1, frequencies])
        kernel = _ops.cos(angles) if self.side == "real" else _ops.sin(angles)
        return _ops.cast(kernel if self.window is None else kernel * self._weights(frame), _dtype(dtype))

    def _weights(self, frame):
        given = windows.window(self.window, frame, self.periodic) if isinstance(self.window, str) else self.window
        weights = _ops.cast(_tandem.to_tensor(given), _dtypes.float64)
        if weights.shape != (frame,):
            raise ValueError(f"The shape of `window` must be equal to [frame_length]. Received: window shape={weights.shape}")
        total = 1.0
        if self.scaling == "density":
            total = _ops.sqrt(_ops.reduce_sum(_ops.square(weights)))
        elif self.scaling == "spectrum":
            total = _ops.reduce_sum(_ops.abs(weights))
        return _ops.reshape(weights / total, [frame, 1, 1])

    def get_config(self):
        return {"side": self.side, "window": self.window, "periodic": self.periodic, "scaling": self.scaling}


# --- Random values: the same for the same seed, and for one initializer in every call ---


class RandomInitializer(Initializer):
    """`seed` is an integer, a keras.random.SeedGenerator, or None for one that follows keras.utils.set_random_seed."""

    def __init__(self, seed=None):
        if isinstance(seed, dict):
            from ._engine.registry import deserialize_keras_object

            seed = deserialize_keras_object(seed)
        if seed is not None and not isinstance(seed, int) and not hasattr(seed, "next"):
            raise ValueError(
                "`seed` argument should be an instance of `keras.random.SeedGenerator()` or an integer. "
                f"Received: seed={seed}"
            )
        self._given_seed = self._seed = seed

    @property
    def seed(self):
        if self._seed is None:
            self._seed = int(_random.uniform([], 1, 10**9, dtype=_dtypes.int32).numpy())
        return self._seed

    def _words(self):
        """The seed as stateless ops take it."""
        return self.seed.next() if hasattr(self.seed, "next") else [self.seed, 0]

    def _draw(self, function, shape, dtype, *parameters):
        dtype = _dtype(dtype)
        drawn = dtype if dtype.name == "float64" else _dtypes.float32
        values = function(_sizes(shape), self._words(), *map(float, parameters), dtype=drawn)
        return values if drawn is dtype else _ops.cast(values, dtype)

    def _normal(self, shape, dtype, mean, stddev):
        return self._draw(_random.stateless_normal, shape, dtype, mean, stddev)

    def _truncated(self, shape, dtype, mean, stddev):
        return self._draw(_random.stateless_truncated_normal, shape, dtype, mean, stddev)

    def _uniform(self, shape, dtype, low, high):
        return self._draw(_random.stateless_uniform, shape, dtype, low, high)

    def get_config(self):
        return {"seed": serialize_keras_object(self._given_seed)}


class RandomNormal(RandomInitializer):
    """Normally distributed."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None):
        super().__init__(seed)
        self.mean, self.stddev = mean, stddev

    def __call__(self, shape, dtype=None):
        return self._normal(shape, dtype, self.mean, self.stddev)

    def get_config(self):
        return {**super().get_config(), "mean": self.mean, "stddev": self.stddev}


class TruncatedNormal(RandomNormal):
    """Normally distributed, what lies beyond two deviations drawn again."""

    def __call__(self, shape, dtype=None):
        return self._truncated(shape, dtype, self.mean, self.stddev)


class RandomUniform(RandomInitializer):
    """Evenly distributed from minval to maxval."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None):
        super().__init__(seed)
        self.minval, self.maxval = minval, maxval

    def __call__(self, shape, dtype=None):
        return self._uniform(shape, dtype, self.minval, self.maxval)

    def get_config(self):
        return {**super().get_config(), "minval": self.minval, "maxval": self.maxval}


def compute_fans(shape, input_axes=None, output_axes=None):
    """How many inputs and outputs a unit of a weight of this shape has."""
    shape = _sizes(shape)
    if input_axes is not None and output_axes is not None:
        return math.prod(shape[a] for a in input_axes), math.prod(shape[a] for a in output_axes)
    if len(shape) < 2:
        fan = shape[0] if shape else 1
        return fan, fan
    field = math.prod(shape[:-2])  # of a convolution's kernel
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(RandomInitializer):
    """The variance is scale / fan, so that signals keep their size from layer to layer."""

    def __init__(
        self, scale=1.0, mode="fan_in", distribution="truncated_normal", seed=None, input_axes=None, output_axes=None
    ):
        if scale <= 0:
            raise ValueError(f"Argument `scale` must be positive float. Received: scale={scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: {mode}. Please use one of 'fan_in', 'fan_out', 'fan_avg'")
        distribution = distribution.lower()
        distribution = "truncated_normal" if distribution == "normal" else distribution
        known = ("uniform", "truncated_normal", "untruncated_normal")
        if distribution not in known:
            raise ValueError(f"Invalid `distribution` argument: {distribution}. Please use one of {known}")
        super().__init__(seed)
        self.scale, self.mode, self.distribution = scale, mode, distribution
        self.input_axes, self.output_axes = input_axes, output_axes

    def __call__(self, shape, dtype=None):
        fan_in, fan_out = compute_fans(shape, self.input_axes, self.output_axes)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "truncated_normal":
            return self._truncated(shape, dtype, 0, math.sqrt(variance) / _TRUNCATED_STDDEV)
        if self.distribution == "untruncated_normal":
            return self._normal(shape, dtype, 0, math.sqrt(variance))
        limit = math.sqrt(3 * variance)
        return self._uniform(shape, dtype, -limit, limit)

    def get_config(self):
        config = {**super().get_config(), "scale": self.scale, "mode": self.mode, "distribution": self.distribution}
        return {**config, "input_axes": self.input_axes, "output_axes": self.output_axes}


class _Scaled(VarianceScaling):
    """One setting of VarianceScaling, by a name of its own."""

    _setting = ()

    def __init__(self, seed=None, input_axes=None, output_axes=None):
        super().__init__(*self._setting, seed=seed, input_axes=input_axes, output_axes=output_axes)

    def get_config(self):
        return {**RandomInitializer.get_config(self), "input_axes": self.input_axes, "output_axes": self.output_axes}


class GlorotUniform(_Scaled):
    """Evenly distributed up to sqrt(6 / (fan_in + fan_out))."""

    _setting = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    """Truncated normal, deviation sqrt(2 / (fan_in + fan_out))."""

    _setting = (1.0, "fan_avg", "truncated_normal")


class LecunNormal(_Scaled):
    """Truncated normal, deviation sqrt(1 / fan_in)."""

    _setting = (1.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    """Evenly distributed up to sqrt(3 / fan_in)."""

    _setting = (1.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    """Truncated normal, deviation sqrt(2 / fan_in)."""

    _setting = (2.0, "fan_in", "truncated_normal")


class HeUniform(_Scaled):
    """Evenly distributed up to sqrt(6 / fan_in)."""

    _setting = (2.0, "fan_in", "uniform")


class Orthogonal(RandomInitializer):
    """gain times a matrix with orthogonal rows or columns, whichever are fewer."""

    def __init__(self, gain=1.0, seed=None):
        super().__init__(seed)
        self.gain = gain

    def __call__(self, shape, dtype=None):
        shape = _sizes(shape)
        if len(shape) < 2:
            raise ValueError(
                "The tensor to initialize must be at least two-dimensional. "
                f"Received: shape={shape} of rank {len(shape)}."
            )
        rows, columns = math.prod(shape[:-1]), shape[-1]
        tall = (max(rows, columns), min(rows, columns))
        q, r = _linalg.qr(self._normal(tall, _dtypes.float64, 0, 1))
        q = q * _ops.sign(_matrices.diag_part(r))  # else some rotations would be more likely than others
        q = _ops.transpose(q, [1, 0]) if rows < columns else q
        return _ops.cast(_ops.reshape(q * float(self.gain), shape), _dtype(dtype))

    def get_config(self):
        return {**super().get_config(), "gain": self.gain}


# --- By name ---

_CLASSES = [
    Constant, Identity, Ones, STFT, Zeros, GlorotNormal, GlorotUniform, HeNormal, HeUniform, LecunNormal, LecunUniform,
    Orthogonal, RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling,
]  # fmt: skip
_by_name = {snake_case(cls.__name__): cls for cls in _CLASSES}
globals().update(_by_name)
IdentityInitializer, OrthogonalInitializer, STFTInitializer = Identity, Orthogonal, STFT
normal, one, uniform, zero = RandomNormal, Ones, RandomUniform, Zeros

family = Family(
    "initializer",
    "keras.initializers",
    [*_CLASSES, Initializer],
    {
        **_by_name, "IdentityInitializer": Identity, "OrthogonalInitializer": Orthogonal,
        "STFTInitializer": STFT, "normal": RandomNormal,
        "one": Ones, "uniform": RandomUniform, "zero": Zeros,
    },
)  # fmt: skip


def get(identifier):
    """An initializer for a name, a configuration, a class, a function, or a tensor that is taken as it is."""
    if isinstance(identifier, (_tandem.Tensor, _tandem.Variable)) or _tandem.is_numpy(identifier):
        return _taking(_tandem.to_tensor(identifier))
    return family.get(identifier)


def _taking(value):
    def initialize(shape, dtype=None):
        if _sizes(shape) != tuple(value.shape):
            raise ValueError(
                f"Expected `shape` to be {value.shape} for direct tensor as initializer. Received shape={shape}"
            )
        return _ops.cast(value, _dtype(dtype))

    return initialize


serialize, deserialize = family.serialize, family.deserialize


__getattr__, __dir__ = _names.lazy(__name__)
