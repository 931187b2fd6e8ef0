"""Sequences, which are lists of values, and optional values, which may be None."""
import numpy as np

import tandemflow as tf

from ..support import as_tensor, is_known, known_ints, known_scalar, op, shape_of
from .control import body_values, with_graphs


def _position(node, at, length, last):
    """Where in a sequence of `length`; a negative one is counted from the end."""
    at = int(known_scalar(at, node, "the position"))
    if not -length <= at <= last:
        raise ValueError(f"node '{node.name}' ({node.op}): position {at} is outside a sequence of {length}")
    return at + length if at < 0 else at


@op("SequenceConstruct")
def sequence_construct(node, *values):
    return list(values)


@op("SequenceEmpty")
def sequence_empty(node):
    return []


@op("SequenceLength")
def sequence_length(node, sequence):
    return np.array(len(sequence), np.int64)


@op("SequenceAt")
def sequence_at(node, sequence, at):
    return sequence[_position(node, at, len(sequence), len(sequence) - 1)]


@op("SequenceInsert")
def sequence_insert(node, sequence, value, at=None):
    place = len(sequence) if at is None else _position(node, at, len(sequence), len(sequence))
    return [*sequence[:place], value, *sequence[place:]]


@op("SequenceErase")
def sequence_erase(node, sequence, at=None):
    place = len(sequence) - 1 if at is None else _position(node, at, len(sequence), len(sequence) - 1)
    return [*sequence[:place], *sequence[place + 1 :]]


@op("SplitToSequence")
def split_to_sequence(node, value, split=None):
    value, axis = as_tensor(value), node.get("axis", 0) % len(value.shape)
    size = shape_of(value)[axis]
    if split is None:
        parts = tf.split(value, [1] * size, axis)
        return [part if node.get("keepdims", 1) else tf.squeeze(part, [axis]) for part in parts]
    sizes = known_ints(split, node, "the sizes of the parts")
    if not shape_of(split):
        sizes = [min(sizes[0], size - begin) for begin in range(0, size, sizes[0])]
    return list(tf.split(value, sizes, axis))


@op("ConcatFromSequence")
def concat_from_sequence(node, sequence):
    values = [as_tensor(value) for value in sequence]
    return tf.stack(values, node["axis"]) if node.get("new_axis", 0) else tf.concat(values, node["axis"])


@op("SequenceMap")
@with_graphs
def sequence_map(node, values, sequence, *others):
    """The body over the elements of all sequences side by side; what is no sequence goes to each."""
    rows = []
    for i, value in enumerate(sequence):
        beside = [other[i] if isinstance(other, list) else other for other in others]
        rows.append(body_values(node, node["body"], values, [value, *beside]))
    return tuple(list(column) for column in zip(*rows)) if rows else tuple([] for _ in node.outputs)


@op("Optional")
def optional(node, value=None):
    return value


@op("OptionalHasElement")
def optional_has_element(node, value=None):
    return np.array(value is not None)


@op("OptionalGetElement")
def optional_get_element(node, value):
    if value is None:
        raise ValueError(f"node '{node.name}' (OptionalGetElement): the optional value is empty")
    return value if is_known(value) or isinstance(value, list) else as_tensor(value)
