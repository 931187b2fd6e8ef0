"""Gradients made of rows, as those of embeddings are: what optimizers ask about the rows before they are added up.

Keras hands such gradients to update_step as they are: the square of one is the sum of the squares of its rows, and a row that
a batch names twice counts twice, not as the square of a sum.
"""
from ... import _ops
from ..._indexed_slices import IndexedSlices

_MEASURES = {"square": _ops.square, "abs": _ops.abs}


def clipped(grads, value):
    """Each row within -value and value; other gradients as they are."""
    return [
        IndexedSlices(_ops.clip_by_value(g.values, -value, value), g.indices, g.dense_shape) if value and isinstance(g, IndexedSlices) else g
        for g in grads
    ]


def measured(grads, measures):
    """By the number of a gradient made of rows and a measure ("square", "abs"): the sum of the measures of its rows, a whole tensor."""
    found = {i: gradient for i, gradient in enumerate(grads) if isinstance(gradient, IndexedSlices) and gradient.dense_shape is not None}
    return {(i, measure): IndexedSlices(_MEASURES[measure](g.values), g.indices, g.dense_shape).to_dense() for i, g in found.items() for measure in measures}


def scaled(measures, factor):
    """What measured() says of gradients that were multiplied by a factor; the second part of a key is the measure."""
    return {key: value * _MEASURES[key[1]](_ops.cast(factor, value.dtype)) for key, value in measures.items()}
