"""Windows over a series."""


def timeseries_dataset_from_array(data, targets, sequence_length, sequence_stride=1, sampling_rate=1, batch_size=128,
                                  shuffle=False, seed=None, start_index=None, end_index=None, format="tf"):  # fmt: skip
    """A dataset of windows of `sequence_length` rows, `sampling_rate` apart; with targets, the one at each window's start."""
    import numpy as np

    from ... import _ops, _tandem
    from ..._dataset import Dataset

    if format != "tf":
        raise ValueError(f'`format` should be "tf" here. Received: format={format}')
    _check(len(data), sequence_stride, sampling_rate, start_index, end_index)
    start, end = start_index or 0, len(data) if end_index is None else end_index
    count = end - start - (sequence_length - 1) * sampling_rate
    if targets is not None:
        count = min(count, len(targets))
    positions = np.arange(0, max(count, 0), sequence_stride, dtype="int32")
    if shuffle:
        seed = np.random.randint(1000000) if seed is None else seed
        np.random.RandomState(seed).shuffle(positions)
    rows = _tandem.to_tensor(np.asarray(data)[start:end])
    offsets = _tandem.to_tensor(np.arange(sequence_length, dtype="int32") * sampling_rate)

    def windows(at):
        found = _ops.gather(rows, _ops.expand_dims(at, -1) + offsets)
        return found if targets is None else (found, _ops.gather(aims, at))

    aims = None if targets is None else _tandem.to_tensor(np.asarray(targets)[start:end])
    dataset = Dataset.from_tensor_slices(positions)
    if shuffle:
        dataset = dataset.shuffle(len(positions) if batch_size is None else batch_size * 8, seed=seed)
    if batch_size is not None:
        dataset = dataset.batch(batch_size)
    return dataset.map(windows).prefetch()


def _check(length, stride, rate, start, end):
    for name, value in (("sampling_rate", rate), ("sequence_stride", stride)):
        if value <= 0:
            raise ValueError(f"`{name}` must be higher than 0. Received: {name}={value}")
        if value >= length:
            raise ValueError(
                f"`{name}` must be lower than the length of the data. Received: {name}={value}, for data of length {length}"
            )
    if start is not None and not 0 <= start < length:
        raise ValueError(
            f"`start_index` must be 0 or greater and lower than the length of the data. Received: start_index={start}, for "
            f"data of length {length}"
        )
    if end is not None and not (start or 0) < end < length:
        raise ValueError(
            f"`end_index` must be higher than `start_index` and lower than the length of the data. Received: "
            f"start_index={start}, end_index={end}, for data of length {length}"
        )


def split_dataset(dataset, left_size=None, right_size=None, shuffle=False, seed=None, preferred_backend=None):
    """Two datasets of the samples of one, or of arrays; sizes are numbers of samples or fractions."""
    import numpy as np

    from ..._dataset import Dataset
    from ..._gradient import flatten, pack_like

    structure, samples = _samples(dataset)
    left, right = _sizes(len(samples), left_size, right_size)
    if shuffle:
        np.random.RandomState(seed if seed is not None else np.random.randint(1000000)).shuffle(samples)

    def made(part):
        leaves = [np.stack([flatten(sample)[i] for sample in part]) for i in range(len(flatten(structure)))]
        return Dataset.from_tensor_slices(pack_like(structure, iter(leaves))).prefetch()

    return made(samples[:left]), made(samples[left : left + right])


def _samples(dataset):
    import numpy as np

    from ..._dataset import Dataset
    from ..._gradient import flatten, pack_like

    if isinstance(dataset, Dataset):
        samples = list(dataset.as_numpy_iterator())
    elif isinstance(dataset, (list, tuple, dict)) and flatten(dataset) and hasattr(flatten(dataset)[0], "shape"):
        leaves = [np.asarray(leaf) for leaf in flatten(dataset)]
        if len({len(leaf) for leaf in leaves}) != 1:
            raise ValueError(
                f"Received a list of NumPy arrays with different lengths. Sizes found: {[len(leaf) for leaf in leaves]}"
            )
        samples = [pack_like(dataset, iter([leaf[i] for leaf in leaves])) for i in range(len(leaves[0]))]
    else:
        samples = list(dataset)
    if not samples:
        raise ValueError("Received an empty dataset. `dataset` must be a non-empty list/tuple of arrays or a dataset.")
    return samples[0], samples


def _sizes(total, left, right):
    if left is None and right is None:
        raise ValueError("At least one of the `left_size` or `right_size` must be specified. Received: both None")
    for name, size in (("left_size", left), ("right_size", right)):
        if isinstance(size, bool) or size is not None and not isinstance(size, (int, float)):
            raise TypeError(f"Invalid `{name}` type {type(size)}: an int or a float between 0 and 1 is needed")
        if isinstance(size, float) and not 0 < size < 1 or isinstance(size, int) and not 0 < size <= total:
            raise ValueError(f"Invalid value `{name}`={size}: it must be a number of the {total} samples or a fraction")
    if isinstance(left, float) and isinstance(right, float) and left + right > 1:
        raise ValueError(f"The sum of `left_size` and `right_size` is greater than 1: {left} + {right}")
    left = round(left * total) if isinstance(left, float) else left
    right = round(right * total) if isinstance(right, float) else right
    left = total - right if left is None else left
    right = total - left if right is None else right
    if left + right > total:
        raise ValueError(f"The sum of `left_size` and `right_size` should be at most the {total} samples: {left} + {right}")
    if left == 0 or right == 0:
        raise ValueError(f"With a dataset of length={total}, left_size={left} and right_size={right}, one part is empty")
    return left, right
