"""keras.layers.Normalization and Discretization: what is learnt from data before training."""
import numpy as np

from ... import _ops, _tandem
from .._engine.floats import epsilon, floatx
from .._engine.layer import Layer
from .._engine.registry import serialize_keras_object
from ._configured import ConfiguredLayer
from .encoding import encode, encoded_shape


def batches_of(data, steps=None):
    """NumPy arrays of a dataset, an array or an iterable of batches; of (x, y, …) only x."""
    if _tandem.is_numpy(data) or hasattr(data, "numpy"):
        data = [data]
    for i, batch in enumerate(data):
        if steps is not None and i >= steps:
            return
        batch = batch[0] if isinstance(batch, tuple) else batch
        yield batch.numpy() if hasattr(batch, "numpy") else np.asarray(batch)


class Normalization(ConfiguredLayer):
    """(x - mean) / deviation, given or found by adapt(data)."""

    def __init__(self, axis=-1, mean=None, variance=None, invert=False, **kwargs):
        super().__init__(**kwargs)
        if (mean is None) != (variance is None):
            raise ValueError(f"When setting values directly, both `mean` and `variance` must be set. Received: mean={mean} and variance={variance}")
        self.axis = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        if np.shape(mean) != np.shape(variance):
            raise ValueError(
                "When setting values directly, `mean` and `variance` must have the same shape. Received: "
                f"mean shape {np.shape(mean)} and variance shape {np.shape(variance)}"
            )
        if len(np.shape(mean)) > len(self.axis):
            raise ValueError(
                f"The rank of `mean` must be less than or equal to the number of axes ({len(self.axis)}). Received: "
                f"mean shape {np.shape(mean)} for axis {self.axis}"
            )
        self.input_mean, self.input_variance, self.invert = mean, variance, invert
        self.supports_masking = True

    def build(self, input_shape):
        rank = len(input_shape)
        if any(not -rank <= a < rank for a in self.axis):
            raise ValueError(f"All `axis` values must be in the range [-ndim, ndim). Received inputs with ndim={rank}, while axis={self.axis}")
        self._kept = sorted(a % rank for a in self.axis)
        for a in self._kept:
            if input_shape[a] is None:
                raise ValueError(f"All `axis` values to be kept must have a known shape. Received axis={self.axis}, inputs.shape={input_shape}, with unknown axis at index {a}")
        self._built_for = tuple(input_shape)
        self._shape = [input_shape[i] if i in self._kept else 1 for i in range(rank)]
        if self.input_mean is None:
            shape = tuple(input_shape[a] for a in self._kept)
            self.adapt_mean = self.add_weight(shape, "zeros", name="mean", trainable=False)
            self.adapt_variance = self.add_weight(shape, "ones", name="variance", trainable=False)
            self.count = self.add_weight((), "zeros", name="count", dtype="int64", trainable=False)

    def adapt(self, data):
        """Finds mean and variance of arrays, datasets or iterables of batches."""
        if hasattr(data, "element_spec") and _rank_of(data.element_spec) == 1:
            data = data.batch(128)
        total, mean, squares = 0, 0.0, 0.0
        for batch in batches_of(data):
            batch = batch.astype(np.float64)
            if not self.built:
                self.build(batch.shape)
            self._check_sizes(batch.shape)
            axes = tuple(i for i in range(batch.ndim) if i not in self._kept)
            count = int(np.prod([batch.shape[i] for i in axes])) if axes else 1
            here, spread = batch.mean(axes), batch.var(axes)
            both = total + count
            shift = here - mean
            squares = squares + spread * count + shift**2 * (total * count / both)
            mean, total = mean + shift * (count / both), both
        if not total:
            raise ValueError("adapt() received no batches; it needs at least one")
        self.adapt_mean.assign(_tandem.to_tensor(np.asarray(mean), self.variable_dtype))
        self.adapt_variance.assign(_tandem.to_tensor(np.asarray(squares / total), self.variable_dtype))

    def _check_sizes(self, shape):
        """Data of later calls must have the sizes of the axes that are kept."""
        if len(shape) != len(self._shape) or any(shape[a] != self._shape[a] for a in self._kept):
            raise ValueError(
                f"The layer was built with input_shape={self._built_for}, but adapt() is being called with data with an incompatible shape, "
                f"data.shape={tuple(shape)}"
            )

    def _statistic(self, given, learnt):
        if given is None:
            return _ops.cast(_ops.reshape(learnt, self._shape), self.compute_dtype)
        value = np.asarray(given, np.float32)
        shape = [1] * len(self._shape)
        for i in range(1, value.ndim + 1):
            shape[self._kept[-i]] = value.shape[-i]
        return _ops.broadcast_to(_tandem.to_tensor(value.reshape(shape), self.compute_dtype), self._shape)

    @property
    def mean(self):
        return self._statistic(self.input_mean, getattr(self, "adapt_mean", None))

    @property
    def variance(self):
        return self._statistic(self.input_variance, getattr(self, "adapt_variance", None))

    def call(self, inputs):
        x = _ops.cast(_tandem.to_tensor(inputs), self.compute_dtype)
        deviation = _ops.maximum(_ops.sqrt(self.variance), epsilon())
        return self.mean + x * deviation if self.invert else (x - self.mean) / deviation

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        config = Layer.get_config(self)
        return {**config, "axis": self.axis, "invert": self.invert, "mean": _listed(self.input_mean),
                "variance": _listed(self.input_variance)}  # fmt: skip


def _rank_of(spec):
    return len((spec[0] if isinstance(spec, tuple) else spec).shape)


def _listed(value):
    return None if value is None else serialize_keras_object(np.asarray(value).tolist())


class Discretization(ConfiguredLayer):
    """The number of the bin each value falls into; bins are given, or found by adapt(data) to be equally full."""

    def __init__(self, bin_boundaries=None, num_bins=None, epsilon=0.01, output_mode="int", sparse=False, dtype=None, name=None):
        super().__init__(name=name, dtype=dtype)
        if (bin_boundaries is None) == (num_bins is None):
            raise ValueError(f"Discretization needs either `num_bins` or `bin_boundaries`. Received: num_bins={num_bins}, bin_boundaries={bin_boundaries}")
        if sparse:
            raise NotImplementedError("Discretization: sparse=True is not supported; leave it at False")
        self.bin_boundaries = None if bin_boundaries is None else [float(b) for b in bin_boundaries]
        self.num_bins, self.epsilon, self.output_mode, self.sparse = num_bins, epsilon, output_mode, sparse
        self._seen = []

    def adapt(self, data, steps=None):
        if self.num_bins is None:
            raise ValueError("Cannot adapt a Discretization layer that has been initialized with `bin_boundaries`, use `num_bins` instead.")
        self.reset_state()
        for batch in batches_of(data, steps):
            self.update_state(batch)
        self.finalize_state()

    def reset_state(self):
        self._seen = []

    def update_state(self, data):
        self._seen.append(np.asarray(data, np.float32).reshape(-1))

    def finalize_state(self):
        values = np.sort(np.concatenate(self._seen))
        shares = np.arange(1, self.num_bins) / self.num_bins
        self.bin_boundaries = np.interp(shares, np.arange(1, len(values) + 1) / len(values), values).astype(np.float32).tolist()

    def _depth(self):
        return self.num_bins if self.bin_boundaries is None else len(self.bin_boundaries) + 1

    def call(self, inputs):
        if self.bin_boundaries is None:
            raise ValueError("You need to either pass the `bin_boundaries` argument at construction time or call `adapt(dataset)` before you can start using the `Discretization` layer.")
        from ..ops import digitize

        places = digitize(_ops.cast(_tandem.to_tensor(inputs), floatx()), np.asarray(self.bin_boundaries, np.float32))
        return encode(places, self.output_mode, self._depth(), self._output_dtype())

    def _output_dtype(self):
        return "int32" if self.output_mode == "int" else self.compute_dtype

    def compute_output_shape(self, input_shape):
        return encoded_shape(input_shape, self.output_mode, self._depth())

    def get_config(self):
        return {"bin_boundaries": self.bin_boundaries, "num_bins": self.num_bins, "epsilon": self.epsilon,
                "output_mode": self.output_mode, "sparse": self.sparse, "name": self.name, "dtype": self.dtype}  # fmt: skip

    @classmethod
    def from_config(cls, config):
        if config.get("bin_boundaries") is not None and config.get("num_bins") is not None:
            layer = super().from_config({**config, "bin_boundaries": None})
            layer.bin_boundaries = config["bin_boundaries"]
            return layer
        return super().from_config(config)
