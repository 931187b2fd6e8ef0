"""keras.layers.CategoryEncoding, Hashing and HashedCrossing: numbers and strings as categories."""
import numpy as np

from ... import _ops, _tandem
from ..._py_function import numpy_function
from ..._specs import TensorSpec
from .._engine.farmhash import fingerprint64
from .._engine.floats import floatx
from .._engine.keras_tensor import KerasTensor
from .._engine.siphash import siphash
from ._configured import ConfiguredLayer

_MODES = ("int", "one_hot", "multi_hot", "count")


def check_mode(layer, output_mode, allowed=_MODES):
    if output_mode not in allowed:
        raise ValueError(
            f"Invalid value for argument `output_mode` of {type(layer).__name__}. Expected one of {allowed}. Received: "
            f"output_mode={output_mode}"
        )
    return output_mode


def encode(indices, output_mode, depth, dtype, count_weights=None):
    """Numbers of categories as they are, as a 1 at their place, or as what a sample has of each."""
    if output_mode == "int":
        return _ops.cast(indices, dtype)
    x = indices if indices.dtype.is_integer else _ops.cast(indices, "int64")
    if x.ndim == 0:
        x = _ops.expand_dims(x, 0)
    if output_mode == "one_hot":
        if x.ndim > 1 and x.shape[-1] == 1:
            x = _ops.squeeze(x, [x.ndim - 1])
        return _ops.one_hot(x, depth, dtype=dtype)
    hot = _ops.one_hot(x, depth, dtype=dtype)
    if count_weights is not None:
        hot = hot * _ops.expand_dims(_ops.cast(count_weights, hot.dtype), -1)
    return (_ops.reduce_max if output_mode == "multi_hot" else _ops.reduce_sum)(hot, x.ndim - 1)


def encoded_shape(shape, output_mode, depth):
    shape = tuple(shape)
    if output_mode == "int":
        return shape
    if output_mode == "one_hot" and (len(shape) < 2 or shape[-1] != 1):
        return (*shape, depth)
    return (*shape[:-1], depth)


class CategoryEncoding(ConfiguredLayer):
    """Whole numbers below num_tokens as vectors."""

    _takes_values = True

    def __init__(self, num_tokens=None, output_mode="multi_hot", sparse=False, **kwargs):
        super().__init__(**kwargs)
        if num_tokens is None or num_tokens < 1:
            raise ValueError(f"`num_tokens` must be set to a number >= 1 to use this layer. Received: num_tokens={num_tokens}.")
        if sparse:
            raise NotImplementedError("CategoryEncoding: sparse=True is not supported; leave it at False")
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        self.num_tokens, self.output_mode, self.sparse = num_tokens, check_mode(self, output_mode, _MODES[1:]), sparse
        self.autocast = False

    def call(self, inputs, count_weights=None):
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(f"`count_weights` is not used when `output_mode` is not `'count'`. Received `count_weights={count_weights}`.")
        return encode(_tandem.to_tensor(inputs), self.output_mode, self.num_tokens, self.compute_dtype, count_weights)

    def get_config(self):
        config = super().get_config()
        del config["sparse"]  # as in Keras
        return config


def _texts(values):
    """Numbers and strings as bytes, as TensorFlow writes numbers down."""
    flat = np.asarray(values).reshape(-1)
    if flat.dtype.kind in "OSU":
        return [v if isinstance(v, bytes) else str(v).encode() for v in flat.tolist()]
    return [str(int(v)).encode() for v in flat.tolist()]


def as_tensor(values):
    """A list of strings too."""
    return values if hasattr(values, "numpy") else _tandem.to_tensor(values)


class _OnHost(ConfiguredLayer):
    """A layer of strings: it computes in Python, when values are there; in a model its shapes are known beforehand.

    A traced function calls back into Python each time it runs.
    """

    _takes_values = True

    def call(self, inputs):
        if hasattr(inputs, "with_flat_values"):  # of a ragged tensor each value by itself
            return inputs.with_flat_values(self.call(inputs.flat_values))
        if _tandem.executing_eagerly():
            return self._compute(inputs)
        several = isinstance(inputs, (list, tuple))
        spec = self.compute_output_spec(inputs)
        return numpy_function(
            lambda *arrays: self._compute([_tandem.to_tensor(array) for array in arrays] if several else arrays[0]),
            list(inputs) if several else [inputs], TensorSpec(spec.shape, self._output_dtype()),
        )  # fmt: skip

    def compute_output_spec(self, inputs, *args, **kwargs):
        shape = self.compute_output_shape([x.shape for x in inputs] if isinstance(inputs, (list, tuple)) else inputs.shape)
        return KerasTensor(shape, self._announced_dtype())

    def _cast_in(self, value):
        """Strings stay what they are."""
        if value is None or isinstance(value, KerasTensor) or hasattr(value, "with_flat_values"):
            return value
        return _tandem.to_tensor(value)

    def _output_dtype(self):
        return self.compute_dtype

    def _announced_dtype(self):
        """What a model under construction sees."""
        return self._output_dtype()


class Hashing(_OnHost):
    """Strings or whole numbers in num_bins bins by their fingerprint."""

    def __init__(self, num_bins, mask_value=None, salt=None, output_mode="int", sparse=False, **kwargs):
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = "int64" if output_mode == "int" else floatx()
        super().__init__(**kwargs)
        if num_bins is None or num_bins <= 0:
            raise ValueError(f"The `num_bins` for `Hashing` cannot be `None` or non-positive values. Received: num_bins={num_bins}.")
        if sparse:
            raise NotImplementedError("Hashing: sparse=True is not supported; leave it at False")
        if salt is not None and not isinstance(salt, int) and len(salt) != 2:
            raise ValueError(f"The `salt` argument for `Hashing` can only be a tuple of size 2 integers, or a single integer. Received: salt={salt}.")
        self.num_bins, self.mask_value = num_bins, mask_value
        self.salt = [salt, salt] if isinstance(salt, int) else salt
        self.output_mode, self.sparse = check_mode(self, output_mode), sparse
        self.built = True

    def _hash(self, text):
        return fingerprint64(text) if self.salt is None else siphash(text, self.salt)

    def _compute(self, inputs):
        values = as_tensor(inputs).numpy()
        texts = _texts(values)
        bins = self.num_bins
        if self.mask_value is None or bins == 1:
            places = [self._hash(text) % bins for text in texts]
        else:  # the first bin is for the mask
            mask = _texts([self.mask_value])[0]
            places = [0 if text == mask else self._hash(text) % (bins - 1) + 1 for text in texts]
        indices = _tandem.to_tensor(np.array(places, np.int64).reshape(values.shape))
        return encode(indices, self.output_mode, bins, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return encoded_shape(input_shape, self.output_mode, self.num_bins)


class HashedCrossing(_OnHost):
    """Pairs, triples … of features in num_bins bins."""

    _SEED = 0xDECAFCAFFE

    def __init__(self, num_bins, output_mode="int", sparse=False, name=None, dtype=None, **kwargs):
        super().__init__(name=name, dtype="int64" if output_mode == "int" and dtype is None else dtype, **kwargs)
        if sparse:
            raise NotImplementedError("HashedCrossing: sparse=True is not supported; leave it at False")
        self.num_bins, self.output_mode, self.sparse = num_bins, check_mode(self, output_mode, ("int", "one_hot")), sparse
        self.built = True

    def _compute(self, inputs):
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(f"`HashedCrossing` should be called on a list of at least two inputs. Received: inputs={inputs}")
        arrays = [x.numpy() for x in inputs]
        if any(a.shape != arrays[0].shape for a in arrays) or arrays[0].ndim > 2 or arrays[0].ndim == 2 and arrays[0].shape[1] != 1:
            raise ValueError(f"All `HashedCrossing` inputs should have one shape: `()`, `(batch_size)` or `(batch_size, 1)`. Received: {[a.shape for a in arrays]}")
        columns = [self._prints(a) for a in arrays]
        places = [self._crossed(row) % self.num_bins for row in zip(*columns)]
        indices = _tandem.to_tensor(np.array(places, np.int64).reshape(arrays[0].shape))
        return encode(indices, self.output_mode, self.num_bins, self.compute_dtype)

    @staticmethod
    def _prints(values):
        flat = values.reshape(-1)
        if flat.dtype.kind in "OSU":
            return [fingerprint64(text) for text in _texts(flat)]
        return [int(v) % 2**64 for v in flat.tolist()]

    def _crossed(self, row):
        total = self._SEED
        for number in row:
            total = _concatenated(total, number)
        return total

    def compute_output_shape(self, input_shape):
        return encoded_shape(input_shape[0], self.output_mode, self.num_bins)

    def get_config(self):
        return {"num_bins": self.num_bins, "output_mode": self.output_mode, "sparse": self.sparse, "name": self.name, "dtype": self.dtype}


def _concatenated(first, second):
    """TensorFlow's FingerprintCat64."""
    multiplier, mask = 0xC6A4A7935BD1E995, 2**64 - 1
    out = first ^ multiplier
    out ^= (_shifted((second * multiplier) & mask) * multiplier) & mask
    out = (out * multiplier) & mask
    out = (_shifted(out) * multiplier) & mask
    return _shifted(out)


def _shifted(value):
    return value ^ (value >> 47)
