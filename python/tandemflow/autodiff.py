"""tf.autodiff: derivatives forwards, and the tape."""
from . import _names, _tandem
from ._gradient import GradientTape, dense, flatten, pack_like  # noqa: F401
from ._ops import zeros_like


class ForwardAccumulator:
    """The change of what is computed inside its `with` block when `primals` change by `tangents`.

    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = tf.reduce_sum(x**2)
    accumulator.jvp(y)

    A tape records; jvp differentiates its gradient once more, with respect to what it weighs the target with.
    """

    def __init__(self, primals, tangents):
        self._primals = flatten(primals)
        given = flatten(tangents)
        if len(given) != len(self._primals):
            raise ValueError(f"ForwardAccumulator: {len(self._primals)} primals, but {len(given)} tangents")
        self._tangents = [_tandem.to_tensor_beside(tangent, primal.dtype) for tangent, primal in zip(given, self._primals)]
        for primal, tangent in zip(self._primals, self._tangents):
            if primal.shape != tangent.shape:
                raise ValueError(f"ForwardAccumulator: a primal of shape {primal.shape} has a tangent of shape {tangent.shape}")
        self._tape = GradientTape(persistent=True, watch_accessed_variables=False)

    def __enter__(self):
        self._tape.__enter__()
        self._tape.watch(self._primals)
        return self

    def __exit__(self, *exception):
        self._tape.__exit__(*exception)

    def jvp(self, primals, unconnected_gradients="none"):
        """The changes of what was computed, nested as it is; None, or zeros, where nothing connects it with the primals."""
        kind = getattr(unconnected_gradients, "value", unconnected_gradients)
        return pack_like(primals, iter([self._change(primal, kind) for primal in flatten(primals)]))

    def _change(self, target, unconnected):
        weights = zeros_like(target)
        with GradientTape() as outer:
            outer.watch(weights)
            gradients = self._tape.gradient(target, self._primals, output_gradients=weights)
        pairs = [(dense(gradient), tangent) for gradient, tangent in zip(gradients, self._tangents) if gradient is not None]
        change = dense(outer.gradient([g for g, _ in pairs], weights, output_gradients=[t for _, t in pairs])) if pairs else None
        return weights if change is None and unconnected == "zero" else change


__getattr__, __dir__ = _names.lazy(__name__)
