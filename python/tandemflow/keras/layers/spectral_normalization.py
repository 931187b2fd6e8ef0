"""keras.layers.SpectralNormalization."""
from ... import _arrays, _ops
from .. import initializers
from .._engine.input_spec import InputSpec
from .wrappers import Wrapper


def _unit(x):
    return _arrays.l2_normalize(x, None, 1e-14)


class SpectralNormalization(Wrapper):
    """A layer whose kernel is divided by its largest singular value whenever it trains."""

    def __init__(self, layer, power_iterations=1, **kwargs):
        super().__init__(layer, **kwargs)
        if power_iterations <= 0:
            raise ValueError(f"`power_iterations` should be greater than zero. Received: `power_iterations={power_iterations}`")
        self.power_iterations = power_iterations

    def build(self, input_shape):
        super().build(input_shape)
        self.input_spec = InputSpec(min_ndim=1, axes={-1: input_shape[-1]})
        kernel = getattr(self.layer, "kernel", None)
        self.kernel = getattr(self.layer, "embeddings", None) if kernel is None else kernel
        if self.kernel is None:
            raise ValueError(f"{type(self.layer).__name__} object has no attribute 'kernel' nor 'embeddings'")
        self.vector_u = self.add_weight((1, self.kernel.shape[-1]), initializers.TruncatedNormal(stddev=0.02),
                                        name="vector_u", trainable=False, dtype=self.kernel.dtype)  # fmt: skip

    def call(self, inputs, training=False):
        if training:
            self._normalize()
        return _ops.cast(self.layer(inputs), inputs.dtype)

    def _normalize(self):
        kernel = _ops.identity(self.kernel)
        matrix = _ops.reshape(kernel, [-1, kernel.shape[-1]])
        u = _ops.identity(self.vector_u)
        for _ in range(self.power_iterations):
            v = _unit(_ops.matmul(u, matrix, transpose_b=True))
            u = _unit(_ops.matmul(v, matrix))
        u, v = _ops.stop_gradient(u), _ops.stop_gradient(v)
        sigma = _ops.reshape(_ops.matmul(_ops.matmul(v, matrix), u, transpose_b=True), [])
        some = _ops.reduce_any(_ops.not_equal(kernel, 0.0))  # a kernel of zeros stays
        self.vector_u.assign(_ops.where(some, u, _ops.identity(self.vector_u)))
        self.kernel.assign(_ops.where(some, kernel / _ops.where(some, sigma, 1.0), kernel))
