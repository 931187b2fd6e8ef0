"""Connectionist temporal classification.

A. Graves et al.: "Connectionist Temporal Classification: Labelling Unsegmented Sequence Data with Recurrent Neural
Networks". All ways to spread the labels over the time steps, blanks between them, are summed up step by step.
"""
from ... import _ops
from ._pairs import as_tensor
from .probabilistic import class_numbers

_BLANK = 0
_NEVER = -1e30  # the logarithm of a probability that is none; finite, so that differences of two are not NaN


def ctc(y_true, y_pred):
    """Labels [batch, length], 0 where there are no more; logits [batch, time, classes], class 0 is the blank."""
    labels, logits = class_numbers(y_true), as_tensor(y_pred)
    if labels.ndim != 2:
        raise ValueError(
            "Targets `y_true` are expected to be a tensor of shape `(batch_size, max_length)` in integer format. "
            f"Received: y_true.shape={labels.shape}"
        )
    if logits.ndim != 3:
        raise ValueError(
            "Logits `y_pred` are expected to be a tensor of shape `(batch_size, max_length, num_classes)`. "
            f"Received: y_pred.shape={logits.shape}"
        )
    return alignments(labels, logits)


def alignments(labels, logits, steps=None):
    """-log of the probability of the labels; `steps` says how many time steps of each sample count."""
    batch, time, classes = logits.shape
    states, may_skip = _states(labels)
    # What each state says at each step: [batch, time, states].
    chosen = _ops.one_hot(states, classes, dtype=logits.dtype)
    said = _ops.matmul(_ops.log_softmax(logits), chosen, transpose_b=True)
    reached = _first(said[:, 0])
    for step in range(1, time):
        further = said[:, step] + _log_add(reached, _moved(reached, 1), _only(may_skip, _moved(reached, 2)))
        reached = further if steps is None else _ops.where(_ops.expand_dims(steps > step, 1), further, reached)
    return -_ended(reached, labels)


def _states(labels):
    """blank, label, blank, label, …, blank; and where a state may be reached from the one before the blank."""
    batch, length = labels.shape
    blanks = _ops.zeros([batch, length, 1], labels.dtype) + _BLANK
    pairs = _ops.reshape(_ops.concat([blanks, _ops.expand_dims(labels, 2)], 2), [batch, 2 * length])
    states = _ops.concat([pairs, blanks[:, 0]], 1)
    before = _ops.concat([_ops.zeros([batch, 2], labels.dtype) + _BLANK, states[:, :-2]], 1)
    return states, _ops.logical_and(states != _BLANK, states != before)


def _first(said):
    """The first step is a blank or the first label."""
    places = _ops.range(said.shape[1])
    return _ops.where(places < 2, said, _ops.zeros_like(said) + _NEVER)


def _moved(reached, by):
    """What the state `by` places before had."""
    batch, states = reached.shape
    return _ops.concat([_ops.zeros([batch, by], reached.dtype) + _NEVER, reached[:, : states - by]], 1)


def _only(allowed, values):
    return _ops.where(allowed, values, _ops.zeros_like(values) + _NEVER)


def _log_add(*terms):
    largest = terms[0]
    for term in terms[1:]:
        largest = _ops.maximum(largest, term)
    largest = _ops.stop_gradient(largest)
    return largest + _ops.log(_ops.add_n([_ops.exp(term - largest) for term in terms]))


def _ended(reached, labels):
    """The last label or the blank after it."""
    count = _ops.reduce_sum(_ops.cast(labels != _BLANK, "int32"), 1, True)
    places = _ops.range(reached.shape[1])
    last = _ops.logical_or(_ops.equal(places, 2 * count), _ops.equal(places, 2 * count - 1))
    largest = _ops.stop_gradient(_ops.reduce_max(_only(last, reached), 1, True))
    total = _ops.reduce_sum(_ops.where(last, _ops.exp(reached - largest), 0.0 * reached), 1)
    return _ops.squeeze(largest, 1) + _ops.log(total)
