"""Arrays made ready for training."""


def to_categorical(x, num_classes=None):
    """One-hot rows of class numbers; a last axis of size 1 goes away."""
    import numpy as np

    from ... import _tandem

    is_tensor = isinstance(x, _tandem.Tensor)
    numbers = np.array(x, dtype="int64")
    shape = numbers.shape
    if len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    numbers = numbers.reshape(-1)
    if num_classes is None:
        num_classes = int(numbers.max()) + 1 if numbers.size else 0
    outside = numbers[(numbers < -num_classes) | (numbers >= num_classes)]
    if outside.size:
        raise IndexError(f"to_categorical: class {outside[0]} is out of range for num_classes={num_classes}")
    out = np.zeros((numbers.size, num_classes))
    out[np.arange(numbers.size), numbers] = 1
    out = out.reshape((*shape, num_classes))
    return _tandem.to_tensor(out.astype("float32")) if is_tensor else out


def normalize(x, axis=-1, order=2):
    """Divided by the norm along an axis; what is zero stays zero."""
    import numpy as np

    from ... import _tandem

    is_tensor = isinstance(x, _tandem.Tensor)
    x = np.asarray(x)
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    axis = -1 if axis is None else axis
    out = x / np.expand_dims(norms, axis)
    return _tandem.to_tensor(out) if is_tensor else out


def set_random_seed(seed):
    """Seeds Python's, NumPy's and TandemFlow's random numbers."""
    import random

    from ... import random as tandem_random

    if not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(seed)
    try:
        import numpy as np

        np.random.seed(seed)
    except ImportError:
        pass  # then nobody draws from it
    tandem_random.set_seed(seed)


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """An array of sequences that have different lengths: filled with `value`, cut to `maxlen`."""
    import numpy as np

    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for name, given in (("padding", padding), ("truncating", truncating)):
        if given not in ("pre", "post"):
            raise ValueError(f'{name.capitalize()} type "{given}" not understood: use "pre" or "post"')
    lengths = []
    for sequence in sequences:
        try:
            lengths.append(len(sequence))
        except TypeError:
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {sequence}") from None
    maxlen = max(lengths, default=0) if maxlen is None else maxlen
    inner = next((np.asarray(sequence).shape[1:] for sequence in sequences if len(sequence)), ())
    is_text = np.issubdtype(np.dtype(dtype), np.str_) if dtype is not object else False
    if isinstance(value, str) and dtype is not object and dtype != "object" and not is_text:
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set `dtype=object` for "
            "variable length strings."
        )
    out = np.full((len(lengths), maxlen, *inner), value, dtype=dtype)
    for row, sequence in zip(out, sequences):
        if not len(sequence):
            continue
        kept = np.asarray(sequence[-maxlen:] if truncating == "pre" else sequence[:maxlen], dtype=dtype)
        if maxlen == 0:
            continue
        if kept.shape[1:] != inner:
            raise ValueError(f"Shape of sample {kept.shape[1:]} of sequence is different from expected shape {inner}")
        if padding == "pre":
            row[-len(kept) :] = kept
        else:
            row[: len(kept)] = kept
    return out
