"""tf.queue: queues of tensors that threads fill and empty."""
import threading
from collections import deque

from . import _dtypes, _ops, _tandem
from ._shape import TensorShape
from .errors import CancelledError, InvalidArgumentError, OutOfRangeError


class QueueBase:
    """Elements of one or several components; enqueue waits while the queue is full, dequeue while it is empty."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="queue"):
        dtypes = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
        self._capacity = int(capacity) if int(capacity) >= 0 else float("inf")
        self._dtypes = [_dtypes.as_dtype(dtype) for dtype in dtypes]
        self._shapes = self._component_shapes(shapes)
        self._names = [names] if isinstance(names, str) else names
        if self._names is not None and len(self._names) != len(dtypes):
            raise ValueError(f"{name}: {len(self._names)} names for {len(dtypes)} dtypes; there must be one for each component")
        self._name = name
        self._elements, self._changed, self._closed = deque(), threading.Condition(), False

    def _component_shapes(self, shapes):
        if shapes is None:
            return None
        if len(self._dtypes) == 1 and (isinstance(shapes, TensorShape) or not shapes or not isinstance(shapes[0], (list, tuple, TensorShape))):
            shapes = [shapes]
        if len(shapes) != len(self._dtypes):
            raise ValueError(f"queue: {len(shapes)} shapes for {len(self._dtypes)} dtypes; there must be one for each component")
        return [TensorShape(shape) for shape in shapes]

    @property
    def dtypes(self):
        return list(self._dtypes)

    @property
    def shapes(self):
        return self._shapes

    @property
    def names(self):
        return self._names

    @property
    def name(self):
        return self._name

    # --- Going in. ---

    def _components(self, vals):
        if isinstance(vals, dict):
            if self._names is None or set(vals) != set(self._names):
                raise ValueError(f"{self._name}: a dict must have the queue's names {self._names}, got {sorted(vals)}")
            vals = [vals[name] for name in self._names]
        elif len(self._dtypes) == 1 and not (isinstance(vals, (list, tuple)) and len(vals) == 1):
            vals = [vals]
        if len(vals) != len(self._dtypes):
            raise ValueError(f"{self._name}: an element has {len(self._dtypes)} components, got {len(vals)}")
        return [_tandem.to_tensor(value, dtype) for value, dtype in zip(vals, self._dtypes)]

    def _check(self, element):
        for i, (tensor, shape) in enumerate(zip(element, self._shapes or [])):
            if not shape.is_compatible_with(tensor.shape):
                raise InvalidArgumentError(f"{self._name}: component {i} has shape {tensor.shape}, the queue was made for {shape}")

    def enqueue(self, vals, name=None):
        """Adds one element."""
        element = self._components(vals)
        self._check(element)
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._elements) < self._capacity)
            if self._closed:
                raise CancelledError(f"{self._name}: the queue is closed, nothing can be enqueued")
            self._add(element)
            self._changed.notify_all()

    def _add(self, element):
        self._elements.append(element)

    def enqueue_many(self, vals, name=None):
        """Adds an element for each row of the components."""
        components = self._components(vals)
        counts = {component.shape[0] for component in components}
        if len(counts) != 1:
            raise ValueError(f"{self._name}: the components must have equally many rows, got {sorted(counts)}")
        for i in range(counts.pop()):
            self.enqueue([component[i] for component in components] if len(components) > 1 else components[0][i])

    # --- Coming out. ---

    def _ready(self):
        return len(self._elements) > 0

    def _take(self):
        return self._elements.popleft()

    def _next(self):
        with self._changed:
            self._changed.wait_for(lambda: self._ready() or self._closed)
            if not self._elements:
                raise OutOfRangeError(f"{self._name}: the queue is closed and has no elements left")
            element = self._take()
            self._changed.notify_all()
            return element

    def _given(self, components):
        if self._names is not None:
            return dict(zip(self._names, components))
        return components[0] if len(components) == 1 else components

    def dequeue(self, name=None):
        """Takes one element out."""
        return self._given(self._next())

    def dequeue_many(self, n, name=None):
        """Takes n elements out, stacked."""
        if self._shapes is None:
            raise InvalidArgumentError(f"{self._name}: dequeue_many needs a queue that was made with shapes")
        with self._changed:
            if self._closed and len(self._elements) < int(n):
                raise OutOfRangeError(f"{self._name}: the queue is closed and has {len(self._elements)} elements, {int(n)} were asked for")
        return self._given(self._joined([self._next() for _ in range(int(n))]))

    def dequeue_up_to(self, n, name=None):
        """Takes up to n elements out, stacked; fewer only when the queue is closed."""
        elements = [self._next()]
        while len(elements) < int(n) and (self._elements or not self._closed):
            elements.append(self._next())
        return self._given(self._joined(elements))

    def _joined(self, elements):
        return [_ops.stack(parts) for parts in zip(*elements)]

    # --- What it is. ---

    def size(self, name=None):
        return _tandem.to_tensor(len(self._elements), _dtypes.int32)

    def close(self, cancel_pending_enqueues=False, name=None):
        """Nothing more may go in; what is in may still come out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def is_closed(self, name=None):
        return _tandem.to_tensor(self._closed)


class FIFOQueue(QueueBase):
    """Elements come out in the order they went in."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)


class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose dequeue_many fills elements of different sizes up with zeros."""

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        super().__init__(capacity, dtypes, shapes, names, shared_name, name)

    def _joined(self, elements):
        return [_padded(parts) for parts in zip(*elements)]


def _padded(tensors):
    largest = [max(sizes) for sizes in zip(*(tensor.shape.as_list() for tensor in tensors))]
    return _ops.stack([_ops.pad(t, [[0, size - own] for own, size in zip(t.shape.as_list(), largest)]) if largest else t for t in tensors])


class RandomShuffleQueue(QueueBase):
    """Elements come out in random order; min_after_dequeue of them stay until the queue is closed."""

    def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None, shared_name=None, name="random_shuffle_queue"):
        import random

        super().__init__(capacity, dtypes, shapes, names, shared_name, name)
        self._least, self._random = int(min_after_dequeue), random.Random(seed)

    def _ready(self):
        return len(self._elements) > self._least

    def _take(self):
        place = self._random.randrange(len(self._elements))
        self._elements[place], self._elements[0] = self._elements[0], self._elements[place]
        return self._elements.popleft()


class PriorityQueue(QueueBase):
    """The first component is an int64; elements with the smallest come out first."""

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        types = list(types) if isinstance(types, (list, tuple)) else [types]
        shapes = None if shapes is None else [(), *shapes]
        super().__init__(capacity, [_dtypes.int64, *types], shapes, names, shared_name, name)

    def _add(self, element):
        place = next((i for i, other in enumerate(self._elements) if int(other[0]) > int(element[0])), len(self._elements))
        self._elements.insert(place, element)
