"""Batches that a Python object makes, by number."""
import collections
import concurrent.futures
import itertools
import random


class PyDataset:
    """Subclass it with __len__ (how many batches) and __getitem__ (batch i: (x, y) or (x, y, sample_weight)).

    With workers > 1 batches are made ahead by threads; with use_multiprocessing by processes.
    """

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        self.workers = workers
        self.use_multiprocessing = use_multiprocessing
        self.max_queue_size = max_queue_size

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} needs a __getitem__(index) that returns batch `index`")

    def __len__(self):
        return self.num_batches

    @property
    def num_batches(self):
        """How many batches an epoch has; one without an end overrides it with None."""
        if type(self).__len__ is not PyDataset.__len__:
            return len(self)
        raise NotImplementedError(f"{type(self).__name__} needs a __len__ that says how many batches there are")

    def on_epoch_begin(self):
        """Called before every epoch."""

    def on_epoch_end(self):
        """Called after every epoch."""


Sequence = PyDataset


def batch_count(dataset):
    """How many batches an epoch has; None for a dataset without an end, whose num_batches is None."""
    return dataset.num_batches if type(dataset).__len__ is PyDataset.__len__ else len(dataset)


def iterate_py_dataset(dataset, shuffle=False):
    """All batches of one epoch, the next ones being made while this one is used."""
    getattr(dataset, "on_epoch_begin", lambda: None)()
    count = batch_count(dataset)
    order = itertools.count() if count is None else list(range(count))
    if shuffle and count is not None:
        random.shuffle(order)
    workers = getattr(dataset, "workers", 1)
    if workers <= 1:
        yield from (dataset[i] for i in order)
        return
    processes = getattr(dataset, "use_multiprocessing", False)
    pool = (concurrent.futures.ProcessPoolExecutor if processes else concurrent.futures.ThreadPoolExecutor)(workers)
    waiting, ahead = collections.deque(), max(1, getattr(dataset, "max_queue_size", 10))
    try:
        for index in order:
            waiting.append(pool.submit(dataset.__getitem__, index))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
