"""Functions of large tensors as one loop: op by op, each would write what the next one reads."""
import functools

from . import _tandem

_LARGE = 1 << 16  # elements: below it the ops cost less than the call of a traced function


def _elements(tensor, *others):
    return tensor.shape.num_elements()


def in_one_pass(function, elements=_elements):
    """function(tensor, *others), traced where it is called eagerly with a tensor of floats and elements(tensor, *others) are many.

    Others that are no tensors must be hashable, and few: each of them is a trace of its own.
    """
    traced = []

    @functools.wraps(function)
    def run(tensor, *others):
        if not _tandem.executing_eagerly() or not isinstance(tensor, _tandem.Tensor) or not tensor.dtype.is_floating or elements(tensor, *others) < _LARGE:
            return function(tensor, *others)
        if not traced:
            from ._function import Function

            traced.append(Function(function, autograph=False))
        return traced[0](tensor, *others)

    return run
