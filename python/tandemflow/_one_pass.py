"""Functions of large tensors as one loop: op by op, each would write what the next one reads."""
import functools

from . import _tandem

_LARGE = 1 << 16  # elements: below it the ops cost less than the call of a traced function


def in_one_pass(function):
    """function(tensor, *others), traced where it is called eagerly with a large tensor of floats; others that are no tensors must be hashable."""
    traced = []

    @functools.wraps(function)
    def run(tensor, *others):
        if not _tandem.executing_eagerly() or not isinstance(tensor, _tandem.Tensor) or not tensor.dtype.is_floating or tensor.shape.num_elements() < _LARGE:
            return function(tensor, *others)
        if not traced:
            from ._function import Function

            traced.append(Function(function, autograph=False))
        return traced[0](tensor, *others)

    return run
