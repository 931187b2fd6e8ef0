"""tf.einsum and tf.tensordot: any contraction as transposes, sums and matrix products."""
import itertools
import math
import string

import numpy as np

from . import _tandem
from ._one_pass import in_one_pass
from ._ops import matmul, reduce_sum, reshape, transpose
from .errors import InvalidArgumentError


def _label_lists(equation, ranks):
    """The labels of every operand and of the result; axes under an ellipsis get labels of their own."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise InvalidArgumentError(f"einsum: {equation!r} names {len(terms)} operands, {len(ranks)} were given")
    for term in terms + [right]:
        if any(c not in string.ascii_letters for c in term.replace("...", "", 1)):
            raise InvalidArgumentError(f"einsum: {term!r} in {equation!r} must be letters and at most one ellipsis")
    hidden = [rank - len(term.replace("...", "")) if "..." in term else 0 for term, rank in zip(terms, ranks)]
    most = max(hidden, default=0)
    operands = []
    for term, rank, count in zip(terms, ranks, hidden):
        labels = _labels(term, range(most - count, most))
        if count < 0 or len(labels) != rank:
            raise InvalidArgumentError(f"einsum: {term!r} in {equation!r} does not fit an operand with {rank} axes")
        operands.append(labels)
    if arrow and most and "..." not in right:
        raise InvalidArgumentError(f"einsum: the result of {equation!r} must say where the axes under the ellipsis go: write '...' in it")
    if arrow:
        result = _labels(right, range(most))
    else:
        letters = [label for labels in operands for label in labels if isinstance(label, str)]
        result = list(range(most)) + sorted(c for c in set(letters) if letters.count(c) == 1)
    known = {label for labels in operands for label in labels}
    if len(set(result)) != len(result) or not set(result) <= known:
        raise InvalidArgumentError(f"einsum: the result {right!r} of {equation!r} must name labels of the operands, each once")
    return operands, result


def _labels(term, hidden):
    """The letters of a term, and numbers for the axes under its ellipsis."""
    before, dots, after = term.partition("...")
    return [*before, *(hidden if dots else []), *after]


class _Operand:
    """A tensor and the labels of its axes."""

    def __init__(self, tensor, labels):
        self.tensor, self.labels = tensor, labels

    def size(self, label):
        return self.tensor.shape[self.labels.index(label)]

    def ordered(self, labels):
        """The tensor with its axes in this order; axes it does not have are of size 1."""
        have = [label for label in labels if label in self.labels]
        order = [self.labels.index(label) for label in have]
        tensor = self.tensor if order == list(range(len(order))) else transpose(self.tensor, order)
        return reshape(tensor, [self.size(label) if label in have else 1 for label in labels])

    def without(self, unneeded):
        """Summed over labels."""
        axes = [i for i, label in enumerate(self.labels) if label in unneeded]
        if not axes:
            return self
        return _Operand(reduce_sum(self.tensor, axes), [label for label in self.labels if label not in unneeded])


def _diagonals(operand):
    """A label that stands twice in one operand picks its diagonal."""
    tensor, labels = operand.tensor, list(operand.labels)
    while len(set(labels)) != len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        first = labels.index(label)
        second = labels.index(label, first + 1)
        size = tensor.shape[first]
        if tensor.shape[second] != size:
            raise InvalidArgumentError(f"einsum: label {label!r} stands for axes of sizes {size} and {tensor.shape[second]}")
        others = [i for i in range(len(labels)) if i not in (first, second)]
        rest = [tensor.shape[i] for i in others]
        flat = reshape(transpose(tensor, [*others, first, second]), [*rest, size * size])
        tensor, labels = flat[..., :: size + 1], [*(labels[i] for i in others), label]
    return _Operand(tensor, labels)


def _merged(a, b, needed, result):
    """Two operands as one: a batch of matrix products over the labels that nobody needs any more.

    Whose labels come first in the result, comes first: what is left to be moved then stays together.
    """
    places = [[result.index(label) for label in one.labels if label in result and label not in other.labels] for one, other in ((a, b), (b, a))]
    if all(places) and min(places[1]) < min(places[0]):
        a, b = b, a
    a = a.without([label for label in a.labels if label not in needed and label not in b.labels])
    b = b.without([label for label in b.labels if label not in needed and label not in a.labels])
    both = [label for label in a.labels if label in b.labels]
    for label in both:
        if 1 not in (a.size(label), b.size(label)) and a.size(label) != b.size(label):
            raise InvalidArgumentError(f"einsum: label {label!r} stands for axes of sizes {a.size(label)} and {b.size(label)}")
    # An axis of size 1 stretches; where it would be summed on one side only, the other is summed first.
    stretched = [label for label in both if a.size(label) != b.size(label)]
    batch = [label for label in both if label in needed or label in stretched]
    inner = [label for label in both if label not in batch]
    rows = [label for label in a.labels if label not in b.labels]
    columns = [label for label in b.labels if label not in a.labels]

    def count(operand, labels):
        return math.prod(operand.size(label) for label in labels)

    def matrices(operand, first, second):
        """Matrices of `first` by `second`, and whether they stand transposed: matmul reads them in place then."""
        turned = operand.labels == [*batch, *second, *first] and operand.labels != [*batch, *first, *second]
        groups = (second, first) if turned else (first, second)
        shape = [operand.size(label) for label in batch] + [count(operand, group) for group in groups]
        return reshape(operand.ordered(batch + [label for group in groups for label in group]), shape), turned

    (left, left_turned), (right, right_turned) = matrices(a, rows, inner), matrices(b, inner, columns)
    product = matmul(left, right, transpose_a=left_turned, transpose_b=right_turned)
    sizes = product.shape.as_list()[: len(batch)] + [a.size(label) for label in rows] + [b.size(label) for label in columns]
    merged = _Operand(reshape(product, sizes), batch + rows + columns)
    return merged.without([label for label in stretched if label not in needed])


def _operands(values):
    """Tensors of one dtype; complex ones where one of them is complex."""
    if any(getattr(getattr(value, "dtype", None), "is_complex", False) for value in values):
        from ._complex import as_complex

        return [as_complex(value) for value in values]
    first = next((v.dtype for v in values if isinstance(v, (_tandem.Tensor, _tandem.Variable))), None)
    first = first or next((v.dtype for v in values if hasattr(v, "dtype")), None)
    return [_tandem.to_tensor_beside(value, first) for value in values]


def einsum(equation, *inputs, name=None, optimize=None):
    """Sums of products of elements, by Einstein's convention: einsum("bij,bjk->bik", a, b) is a batch of products.

    Letters name axes, "..." stands for any others; labels that the result does not have are summed. Pairs whose result
    is smallest are multiplied first.
    """
    if not inputs:
        raise InvalidArgumentError(f"einsum: {equation!r} needs operands")
    tensors = _operands(inputs)
    labels, result = _label_lists(equation, [tensor.ndim for tensor in tensors])
    operands = [_diagonals(_Operand(tensor, names)) for tensor, names in zip(tensors, labels)]
    while len(operands) > 1:
        def cost(pair):
            sizes = {label: operands[i].size(label) for i in pair for label in operands[i].labels}
            needed = set(result).union(*(o.labels for k, o in enumerate(operands) if k not in pair))
            return math.prod(size for label, size in sizes.items() if label in needed)

        i, j = min(itertools.combinations(range(len(operands)), 2), key=cost)
        others = [operand for k, operand in enumerate(operands) if k not in (i, j)]
        needed = set(result).union(*(operand.labels for operand in others))
        operands = others + [_merged(operands[i], operands[j], needed, result)]
    only = operands[0].without([label for label in operands[0].labels if label not in result])
    return only.ordered(result)


def _counted_from_zero(axes, tensor):
    for axis in axes:
        if not -tensor.ndim <= axis < tensor.ndim:
            raise ValueError(f"tensordot: axis {axis} is outside a tensor of shape {tensor.shape}")
    return [axis % tensor.ndim for axis in axes]


@in_one_pass
def _dot(a, b):
    return reduce_sum(a * b)


def tensordot(a, b, axes, name=None):
    """The sum of products over axes of a and b: the last `axes` of a and the first of b, or two lists of axes."""
    a, b = _operands([a, b])
    axes = np.asarray(axes).tolist() if isinstance(axes, (_tandem.Tensor, np.ndarray)) else axes
    if hasattr(axes, "__index__"):
        count = axes.__index__()
        if not 0 <= count <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: axes must be from 0 to {min(a.ndim, b.ndim)} for {a.shape} and {b.shape}, got {count}")
        of_a, of_b = list(range(a.ndim - count, a.ndim)), list(range(count))
    else:
        of_a, of_b = (_counted_from_zero([x] if hasattr(x, "__index__") else _tandem.as_ints(x), t) for x, t in zip(axes, (a, b)))
    if [a.shape[i] for i in of_a] != [b.shape[i] for i in of_b]:
        raise InvalidArgumentError(f"tensordot: axes {of_a} of {a.shape} and {of_b} of {b.shape} differ in size")
    rest_a, rest_b = ([i for i in range(t.ndim) if i not in used] for t, used in ((a, of_a), (b, of_b)))
    if not rest_a and not rest_b and isinstance(a, _tandem.Tensor) and a.dtype.is_floating:
        order = [of_b[of_a.index(i)] for i in range(a.ndim)]
        return _dot(a, b if order == list(range(b.ndim)) else transpose(b, order))
    inner = math.prod(a.shape[i] for i in of_a)
    left = reshape(transpose(a, rest_a + of_a), [math.prod(a.shape[i] for i in rest_a), inner])
    right = reshape(transpose(b, of_b + rest_b), [inner, math.prod(b.shape[i] for i in rest_b)])
    return reshape(matmul(left, right), [a.shape[i] for i in rest_a] + [b.shape[i] for i in rest_b])
