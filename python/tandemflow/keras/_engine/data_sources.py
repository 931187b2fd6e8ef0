"""Where the batches of fit, evaluate and predict come from: arrays, datasets, generators, PyDatasets."""
import itertools

from ... import _ops, _tandem
from ..._dataset import Dataset
from ..._gradient import flatten, pack_like
from ..._sparse import SparseTensor, to_dense
from .floats import floatx


def unpack_x_y_sample_weight(data):
    """(x, y, sample_weight) of what a dataset yields: x, (x,), (x, y) or (x, y, sample_weight)."""
    if isinstance(data, list):
        data = tuple(data)
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(
            "Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found: "
            f"a tuple of {len(data)} items"
        )
    return (*data, None, None, None)[:3]


def pack_x_y_sample_weight(x, y=None, sample_weight=None):
    """The other way round."""
    if y is None:
        return x if not isinstance(x, (tuple, list)) else (x,)
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def to_array(value, what="x", lend=False):
    """A tensor: data frames, lists and arrays too; floats in the dtype that layers use.

    With `lend` an array whose dtype and layout allow it is read where it is, for as long as a call lasts.
    """
    if hasattr(value, "to_numpy") and not _tandem.is_numpy(value):  # data frames and series
        value = value.to_numpy()
    if isinstance(value, SparseTensor):
        value = to_dense(value)
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # a torch tensor
        value = value.detach().cpu().numpy()
    try:
        lent = _tandem.lend(value) if lend else None
        tensor = _tandem.to_tensor(value) if lent is None else lent
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: unrecognized data type {type(value).__name__}: {error}") from None
    if tensor.dtype.is_floating and tensor.dtype.name != floatx():
        tensor = _ops.cast(tensor, floatx())
    return tensor


def to_arrays(structure, what):
    """Tensors nested as the arrays are; a list of numbers, or of lists of them, is one array."""
    if structure is None:
        return None
    if isinstance(structure, (list, tuple)):
        if all(_holds_numbers(item) for item in structure):
            return to_array(structure, what, lend=True)
        return type(structure)(to_arrays(item, what) for item in structure)
    if isinstance(structure, dict):
        return {key: to_arrays(value, f"{what}[{key!r}]") for key, value in structure.items()}
    return to_array(structure, what, lend=True)


def _holds_numbers(value):
    if isinstance(value, (list, tuple)):
        return all(_holds_numbers(item) for item in value)
    return isinstance(value, (bool, int, float, str, bytes))


class ArraySource:
    """Arrays in memory; `fast` runs whole stretches of steps without Python."""

    def __init__(self, x, y, sample_weight, batch_size, shuffle, who):
        self.data = pack_x_y_sample_weight(to_arrays(x, "x"), to_arrays(y, "y"), to_arrays(sample_weight, "sample_weight"))
        leaves = flatten(self.data)
        _check_lengths(self.data, who)
        self.batch_size = min(int(batch_size or 32), max(leaves[0].shape[0], 1)) if batch_size != 0 else 0
        self.loop = _tandem.ArrayLoop(leaves, self.batch_size, who)
        self.steps, self.rows = self.loop.steps, self.loop.rows
        self.shuffle = bool(shuffle)
        self.structure = self.data  # of a batch
        self._traced = {}  # by step: function, structure, what was traced

    def divide(self, sizes):
        """Batches come in parts from now on, sizes(rows) says of how many rows, one a replica; None: whole again."""
        rest = self.loop.remainder
        self.loop.divide(sizes(self.batch_size) if sizes else [], sizes(rest) if sizes and rest else [])
        self.structure = self.data
        if sizes:
            from ...distribute import PerReplica

            count = len(sizes(self.batch_size))
            self.structure = pack_like(self.data, (PerReplica(*[leaf] * count) for leaf in flatten(self.data)))

    restarts = True  # a pass after the last one is a whole one again
    first = 0  # the step with which an epoch begins

    def begin_epoch(self, goes_on=False):
        """A new pass; or, where epochs are shorter than the data, on from where the last one stopped."""
        if goes_on and self.first:
            return
        self.first = 0
        if self.shuffle:
            self.loop.shuffle()

    def end_at(self, step):
        """What the next epoch that goes on begins with."""
        self.first = step if step < self.steps else 0

    def batch(self, step):
        """The tensors of one batch, flat."""
        return self.loop.batch(step)

    def traced(self, function, step, trace):
        """What `trace(step)` makes of the function: once, for batches look alike in every epoch, until they are divided anew."""
        known = self._traced.get(step)
        if known is None or known[0] is not function or known[1] is not self.structure:
            known = self._traced[step] = function, self.structure, trace(step)
        return known[2]

    def batches(self):
        """(structure, leaves) of each batch."""
        return ((self.structure, self.batch(step)) for step in range(self.first, self.steps))

    def end_epoch(self):
        pass


class IterableSource:
    """Whatever yields batches. `restart` gives a new pass, of `length` batches where that is known."""

    def __init__(self, restart, steps=None, end_epoch=None, length=None, restarts=True):
        self._restart, self.steps, self._length, self.restarts = restart, steps, length, restarts
        self._iterator, self._taken, self._end_epoch = None, 0, end_epoch
        self.loop = self.rows = None

    first = 0

    def begin_epoch(self, goes_on=False):
        if not goes_on:
            self._iterator = None

    def batches(self, limit=None):
        """(structure, leaves) of each batch; with a limit, the next epoch goes on where this one stopped."""
        if self._iterator is None:
            self._iterator, self._taken = iter(self._restart()), 0
        first = self._taken
        for data in itertools.islice(self._iterator, limit) if limit is not None else self._iterator:
            self._taken += 1
            yield data, [to_array(leaf) if not isinstance(leaf, _tandem.Tensor) else _as_float(leaf) for leaf in flatten(data)]
        if limit is None or self._taken - first < limit or self._taken == self._length:
            self._iterator = None

    def end_epoch(self):
        if self._end_epoch is not None:
            self._end_epoch()


def _as_float(tensor):
    return _ops.cast(tensor, floatx()) if tensor.dtype.name == "float64" and floatx() != "float64" else tensor


def _check_lengths(data, who):
    counts = {}
    for part, name in zip(unpack_x_y_sample_weight(data), ("x", "y", "sample_weight")):
        for leaf in flatten(part) if part is not None else []:
            if not leaf.ndim:
                raise ValueError(f"{who}: {name} needs a first axis of samples, got a scalar")
            counts.setdefault(name, leaf.shape[0])
            if leaf.shape[0] != counts["x"]:
                raise ValueError(
                    "Data cardinality is ambiguous. Make sure all arrays contain the same number of samples."
                    f"'x' sizes: {counts['x']}\n'{name}' sizes: {leaf.shape[0]}\n"
                )
    if not counts.get("x"):
        raise ValueError(f"{who}: x has no samples")


def make_source(x, y=None, sample_weight=None, batch_size=None, steps=None, shuffle=False, class_weight=None, who="fit"):
    """The source for what the user gave."""
    from ..utils.py_dataset import PyDataset

    if x is None:
        raise ValueError(f"{who}: x is missing; give arrays, a tf.data.Dataset, a generator or a keras.utils.PyDataset")
    if isinstance(x, (str, bytes, int, float)):
        raise ValueError(f"Unrecognized data type: x={x} (of type {type(x)}); {who} takes arrays, a tf.data.Dataset, a generator or a keras.utils.PyDataset")
    if isinstance(x, (Dataset, PyDataset)) or _is_iterator(x):
        if y is not None or sample_weight is not None:
            kind = type(x).__name__
            raise ValueError(f"`y` and `sample_weight` should not be passed when `x` is a {kind}; it yields them itself.")
        return _iterable(x, steps, class_weight, shuffle)
    if class_weight is not None:
        sample_weight = class_weights(class_weight, y, sample_weight)
    x = to_arrays(x, "x")
    if any(leaf.dtype.name == "string" for leaf in flatten(x)):
        return _string_source(x, y, sample_weight, batch_size or 32, shuffle)
    return ArraySource(x, y, sample_weight, 32 if batch_size is None else batch_size, shuffle, who)


def _string_source(x, y, sample_weight, batch_size, shuffle):
    data = pack_x_y_sample_weight(x, to_arrays(y, "y"), to_arrays(sample_weight, "sample_weight"))
    rows = flatten(x)[0].shape[0]
    dataset = Dataset.from_tensor_slices(tuple(flatten(data)))  # flat, as a list would be one tensor there
    dataset = (dataset.shuffle(rows) if shuffle else dataset).batch(batch_size)
    return IterableSource(lambda: (pack_like(data, iter(leaves)) for leaves in dataset), -(-rows // batch_size))


def _is_iterator(x):
    """A generator, a data loader: not an array, a list or a data frame."""
    if isinstance(x, (list, tuple, dict, str)) or _tandem.is_numpy(x) or isinstance(x, (_tandem.Tensor, _tandem.Variable)):
        return False
    return hasattr(x, "__iter__") and not hasattr(x, "dtype") and not hasattr(x, "to_numpy")


def _iterable(x, steps, class_weight, shuffle):
    weighted = (lambda data: data) if class_weight is None else (lambda data: _with_class_weights(class_weight, data))
    if hasattr(x, "cardinality"):  # a dataset, perhaps a distributed one
        count = int(x.cardinality())
        known = None if count == -2 else (steps if count == -1 else count)
        if count == -1 and steps is None:
            raise ValueError(
                "When passing an infinitely repeating dataset, you must specify how many steps to draw: steps_per_epoch=…"
            )
        return IterableSource(lambda: map(weighted, x), known, length=count)
    if hasattr(x, "__getitem__") and hasattr(x, "__len__"):
        from ..utils.py_dataset import batch_count, iterate_py_dataset

        count = batch_count(x)
        known = steps if count is None else count
        if known is None:
            raise ValueError("When passing an infinite PyDataset (num_batches is None), you must specify how many steps to draw: steps_per_epoch=…")
        return IterableSource(lambda: map(weighted, iterate_py_dataset(x, shuffle)), known, getattr(x, "on_epoch_end", None), count)
    if hasattr(x, "__next__"):  # a generator: one pass for all epochs
        return IterableSource(lambda: map(weighted, x), steps, restarts=False)
    return IterableSource(lambda: map(weighted, x), len(x) if hasattr(x, "__len__") else None)


def class_weights(weights, y, sample_weight=None):
    """A weight a sample, by its class: numbers, or one-hot rows."""
    import numpy as np

    if sample_weight is not None:
        raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
    if y is None:
        raise ValueError("`class_weight` needs targets y")
    y = np.asarray(to_array(y, "y"))
    classes = y.argmax(-1) if y.ndim > 1 and y.shape[-1] > 1 else y.reshape(len(y), -1)[:, 0]
    classes = np.round(classes).astype("int64")
    out = np.ones(len(y), floatx())
    for number, weight in weights.items():
        out[classes == int(number)] = weight
    return out


def _with_class_weights(weights, data):
    x, y, sample_weight = unpack_x_y_sample_weight(data)
    return x, y, class_weights(weights, y, sample_weight)


def split(x, y, sample_weight, fraction):
    """The first rows and the last `fraction` of them, for validation."""
    leaves = flatten(x)
    foreign = [type(leaf) for leaf in leaves if isinstance(leaf, Dataset) or _is_iterator(leaf)]
    if foreign:
        raise ValueError(f"Argument `validation_split` is only supported for tensors or NumPy arrays.Found incompatible type in the input: {foreign}")
    if not all(hasattr(leaf, "shape") for leaf in leaves):
        x = to_arrays(x, "x")
        leaves = flatten(x)
    if not 0 < fraction < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {fraction}")
    rows = leaves[0].shape[0]
    at = int(rows * (1 - fraction))
    if at == 0 or at == rows:
        raise ValueError(
            f"Training data contains {rows} samples, which is not sufficient to split it into a validation and training "
            f"set as specified by `validation_split={fraction}`. Either provide more data, or a different value."
        )

    def part(structure, rows):
        if structure is None:
            return None
        structure = to_arrays(structure, "x")
        return pack_like(structure, iter([leaf[rows] for leaf in flatten(structure)]))

    head, tail = slice(0, at), slice(at, None)
    return tuple(part(s, head) for s in (x, y, sample_weight)), tuple(part(s, tail) for s in (x, y, sample_weight))
