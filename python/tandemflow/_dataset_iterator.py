"""Running passes over datasets, what they measured, and the options of a dataset."""
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
    """NumPy's form of a leaf; a ragged tensor stays what it is, a sparse one becomes its three arrays."""
    if hasattr(leaf, "as_numpy_iterator"):
        return leaf.as_numpy_iterator()
    if hasattr(leaf, "_to_arrays"):
        return leaf._to_arrays()
    return leaf.numpy()


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

        specs = nest.flatten(self.element_spec)
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
        from ._optional import Optional

        try:
            return Optional.from_value(self._next_now())
        except StopIteration:
            return Optional.empty(self.element_spec)

    @property
    def element_spec(self):
        return self._dataset.element_spec

    def stats(self):
        return DatasetStats(self._pass.stats().read())


class _Settings:
    """Named settings that may be set to anything; what nobody set is None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Options:
    """tf.data.Options. `autotune.ram_budget` (bytes that buffers may hold) is used; orders are always deterministic."""

    def __init__(self):
        self.autotune = _Settings()
        self.threading = _Settings()
        self.experimental_optimization = _Settings()
        self.experimental_distribute = _Settings()
        self.deterministic = None
        self.experimental_deterministic = None
        self.dataset_name = self.experimental_slack = self.experimental_symbolic_checkpoint = self.experimental_warm_start = self.framework_type = None
        self._complete = True

    def __setattr__(self, name, value):
        if not hasattr(self, name) and hasattr(self, "_complete"):
            raise AttributeError(f"Cannot set the property {name} on Options.")
        super().__setattr__(name, value)

    def merge(self, other):
        merged = Options()
        for source in (self, other):
            for name, value in vars(source).items():
                if isinstance(value, _Settings):
                    vars(getattr(merged, name)).update(vars(value))
                elif value is not None:
                    setattr(merged, name, value)
        return merged
