"""Running passes over datasets, and what they measured."""
import atexit
import weakref

from . import _tandem
from ._dataset_structure import map_structure
from ._specs import TensorSpec
from ._state_handle import StateHandle

_running = weakref.WeakSet()


@atexit.register
def _stop_all():
    """Workers that call Python functions must end before the interpreter does."""
    for iterator in list(_running):
        iterator._pass.close()


def to_numpy(leaf):
    """NumPy's form of a leaf; a ragged tensor is an array of arrays, a sparse one is filled up."""
    if hasattr(leaf, "as_numpy_iterator"):
        return leaf.as_numpy_iterator()
    if hasattr(leaf, "dense_shape"):
        from .sparse import to_dense

        return to_dense(leaf, validate_indices=False).numpy()
    return None if leaf is None else leaf.numpy()


class NumpyIterator:
    """A running pass that gives NumPy arrays."""

    def __init__(self, dataset):
        self._elements = iter(dataset)

    def __iter__(self):
        return self

    def __next__(self):
        return map_structure(to_numpy, next(self._elements))

    next = __next__


class DatasetStats:
    """What the last pass over a dataset did, stage by stage; printing it gives a table."""

    def __init__(self, entries):
        self.__dict__.update(entries)

    def __repr__(self):
        return self.text


class DatasetIterator:
    """A running pass. Dropping it stops its workers."""

    def __init__(self, dataset):
        self._dataset = dataset
        self._begin(dataset._handle, 0)
        _running.add(self)

    def _begin(self, handle, taken):
        self._taken = taken  # elements given so far
        self._pass = handle.iterate(self._dataset._options.autotune.ram_budget or 0)
        self._dataset._last_pass = self._pass.stats()

    def _checkpoint_children(self):
        """Where the pass is; a restored one goes on there. The order of a shuffle is the same again if it has a seed."""
        if not hasattr(self, "_position"):
            self._position = StateHandle(lambda: self._taken, lambda count: self._begin(self._dataset._handle.skip(int(count)), int(count)))
        return [("position", self._position)]

    def __iter__(self):
        return self

    def __next__(self):
        return self._next_now() if _tandem.executing_eagerly() else self._next_of_a_run()

    def _next_now(self):
        element = self._pass.next()
        self._taken += 1
        return element

    def _next_of_a_run(self):
        """In a traced function: the next element each time it runs."""
        from . import nest

        specs = nest.flatten(self._dataset._exact_spec)
        if not all(isinstance(spec, TensorSpec) and spec.shape.is_fully_defined() for spec in specs):
            from .errors import OpByOpError

            raise OpByOpError(
                f"E0702 next(iterator): a traced function has fixed shapes, but the elements are {self.element_spec!r}; batch "
                "with drop_remainder=True, pass next(iterator) as an argument, or loop over the dataset"
            )
        tensors = _tandem.python_call(lambda _: nest.flatten(self.get_next()), [], [(spec.shape, spec.dtype) for spec in specs], None)
        return nest.pack_sequence_as(self.element_spec, tensors)

    def get_next(self):
        """The next element; OutOfRangeError at the end."""
        if not _tandem.executing_eagerly():
            return self._next_of_a_run()
        try:
            return self._next_now()
        except StopIteration:
            from .errors import OutOfRangeError

            raise OutOfRangeError("End of sequence") from None

    def get_next_as_optional(self):
        """The next element, or an Optional without a value at the end."""
        from ._optional import Optional, only_at_run_time

        only_at_run_time()
        try:
            return Optional.from_value(self._next_now())
        except StopIteration:
            return Optional.empty(self.element_spec)

    @property
    def element_spec(self):
        return self._dataset.element_spec

    @property
    def _exact_spec(self):
        return self._dataset._exact_spec

    def stats(self):
        return DatasetStats(self._pass.stats().read())
