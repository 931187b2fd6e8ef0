"""tf.nn.ctc_loss and ctc_greedy_decoder: labels of sequences whose places are not known."""
from . import _dtypes, _ops, _tandem
from ._sparse import SparseTensor, to_dense


def _blank_first(logits, blank):
    """The classes with the blank in front, where the loss expects it; and the number of the blank."""
    classes = logits.shape[-1]
    blank = classes + blank if blank < 0 else blank
    order = [blank, *(i for i in range(classes) if i != blank)]
    return _ops.gather(logits, order, axis=-1), blank


def ctc_loss(labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None):
    """-log of the probability of each sample's labels; the blank is class 0 unless told otherwise."""
    from .keras.losses.ctc import alignments

    if blank_index is None and isinstance(labels, SparseTensor):
        raise ValueError("Argument `blank_index` must be provided when `labels` is a `SparseTensor`.")
    logits = _tandem.to_tensor(logits)
    logits, blank = _blank_first(_ops.transpose(logits, [1, 0, 2]) if logits_time_major else logits, int(blank_index or 0))
    if isinstance(labels, SparseTensor):
        length = _counts(labels)
        labels = to_dense(labels, validate_indices=False)
    else:
        labels, length = _tandem.to_tensor(labels), _ops.cast(_tandem.to_tensor(label_length), _dtypes.int32)
    labels = _ops.cast(labels, _dtypes.int32)
    labels = _ops.where(labels < blank, labels + 1, labels)  # as the classes stand now
    inside = _ops.range(labels.shape[1]) < _ops.expand_dims(length, 1)
    labels = _ops.where(inside, labels, _ops.zeros_like(labels))
    return alignments(labels, logits, _ops.cast(_tandem.to_tensor(logit_length), _dtypes.int32))


def _counts(sparse):
    rows = sparse.indices.numpy()[:, 0].tolist()
    return _tandem.to_tensor([rows.count(row) for row in range(sparse.shape[0])], _dtypes.int32)


def best_paths(logits, lengths, merge_repeated, blank):
    """The likeliest class of each step, repetitions and blanks left out, of [batch, time, classes]; and -sum of their logits."""
    best, values = logits.argmax(-1), logits.max(-1)
    rows, scores = [], []
    for path, value, length in zip(best.tolist(), values, lengths):
        path = path[:length]
        kept = [c for i, c in enumerate(path) if c != blank and not (merge_repeated and i and path[i - 1] == c)]
        rows.append(kept)
        scores.append([-float(value[:length].sum())])
    return rows, scores


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """The labels that the likeliest classes of [time, batch, classes] spell, sparse, in a list of one; and their scores."""
    logits = _tandem.to_tensor(inputs).numpy().transpose(1, 0, 2)
    classes = logits.shape[-1]
    blank = classes - 1 if blank_index is None else int(blank_index) % classes
    rows, scores = best_paths(logits, _tandem.as_ints(sequence_length), merge_repeated, blank)
    places = [[row, at] for row, kept in enumerate(rows) for at in range(len(kept))]
    values = _tandem.to_tensor([c for kept in rows for c in kept], _dtypes.int64)
    indices = _ops.reshape(_tandem.to_tensor(places, _dtypes.int64), [-1, 2])
    decoded = SparseTensor(indices, values, [len(rows), max(map(len, rows), default=0)])
    return [decoded], _tandem.to_tensor(scores, _dtypes.float32)
