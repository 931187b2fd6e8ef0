"""tf.gradients and tf.hessians: derivatives inside a traced function, without a tape of its own.

A trace keeps no gradients. The first of these calls ends it and asks for another one, under a tape from its first line on
(Function._with_tape): what was computed before the call is then on it.
"""
import sys
import threading
from contextlib import contextmanager

from . import _gradient, _tandem
from ._gradient import GradientTape, UnconnectedGradients

_open = threading.local()  # .tapes: of the functions being traced, the innermost last


class NeedsTape(Exception):
    """The function has to be traced once more, under a tape."""


@contextmanager
def recorded(tensors):
    """What is traced inside can be differentiated by the tensors, by variables and by what is computed of them."""
    with GradientTape(persistent=True) as tape:
        tape.watch([tensor for tensor in tensors if tensor.dtype.is_floating])
        tapes = _open.__dict__.setdefault("tapes", [])
        tapes.append(tape)
        try:
            yield
        finally:
            tapes.pop()


@contextmanager
def unrecorded():
    """A function that needs no tape is traced: calls inside do not find that of a function around it."""
    tapes = _open.__dict__.setdefault("tapes", [])
    tapes.append(None)
    try:
        yield
    finally:
        tapes.pop()


def _tape(name):
    if _tandem.executing_eagerly():
        raise RuntimeError(f"tf.{name} is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    tapes = _open.__dict__.get("tapes")
    if not tapes or tapes[-1] is None:
        raise NeedsTape(f"tf.{name} is for functions that tf.function traces; use tf.GradientTape here")
    return tapes[-1]


def gradients(ys, xs, grad_ys=None, name="gradients", gate_gradients=False, aggregation_method=None, stop_gradients=None,
              unconnected_gradients=UnconnectedGradients.NONE):  # fmt: skip
    """The derivatives of the sum of ys by each of xs, a list; None where nothing connects them. In a tf.function only."""
    nodes = sys.modules.get("tandemflow._graph_mode.nodes")  # loaded once a program builds a graph
    if nodes is not None and nodes.current() is not None:
        from ._graph_mode import optimizers

        return optimizers.gradients(ys, xs, grad_ys, name)
    tape = _tape("gradients")
    if stop_gradients is not None:
        raise NotImplementedError("tf.gradients: stop_gradients is not supported; put tf.stop_gradient where the derivative shall end")
    targets, sources = _gradient.flatten(ys), _gradient.flatten(xs)
    given = None if grad_ys is None else _gradient.flatten(grad_ys)
    return tape.gradient(targets, sources, given, unconnected_gradients)


def hessians(ys, xs, gate_gradients=False, aggregation_method=None, name="hessians"):
    """The second derivatives of the sum of ys by each of xs, of the shape of x twice; a list. In a tf.function only."""
    tape = _tape("hessians")
    sources = _gradient.flatten(xs)
    firsts = tape.gradient(_gradient.flatten(ys), sources)
    return [None if first is None else tape.jacobian(first, source) for first, source in zip(firsts, sources)]
