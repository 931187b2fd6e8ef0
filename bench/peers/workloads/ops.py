"""Single ops and chains of them, run eagerly as a user types them."""
import numpy as np

from ..workload import Workload, normal


class Matmul(Workload):
    def __init__(self, n):
        self.name, self.n = f"matmul_{n}", n
        self.doc = f"a @ b, both {n} × {n}"
        self.flops, self.bytes = 2 * n**3, 3 * 4 * n * n

    def inputs(self, rng):
        return {"a": normal(rng, self.n, self.n), "b": normal(rng, self.n, self.n)}

    def tf(self, tf, a, b):
        return lambda: tf.matmul(a, b)

    def torch(self, torch, a, b):
        return lambda: torch.matmul(a, b)

    def jax(self, jax, a, b):
        matmul = jax.jit(jax.numpy.matmul)
        return lambda: matmul(a, b)

    def numpy(self, np, a, b):
        return lambda: np.matmul(a, b)


class MatmulSmall(Matmul):
    """What an op costs beside its arithmetic."""

    def __init__(self):
        super().__init__(2)
        self.name, self.doc, self.flops, self.bytes = "matmul_f64_2x2", "a @ b, 2 × 2 float64, eager", 0, 0

    def inputs(self, rng):
        return {"a": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.array([[5.0, 6.0], [7.0, 8.0]])}

    def jax(self, jax, a, b):
        return lambda: jax.numpy.matmul(a, b)


class ElementwiseChain(Workload):
    """Fused, it reads its operands once; PyTorch compiles it."""

    goals = {"torch": 0.8, "jax": 0.8}

    def __init__(self, n):
        self.name, self.n = f"elementwise_chain_{n}", n
        self.doc = f"erf(tanh(x · y + 0.5) · exp(-x · x)) + y of {n:,} elements, traced where the library traces"
        self.flops, self.bytes = 7 * n, 3 * 4 * n

    def inputs(self, rng):
        return {"x": normal(rng, self.n), "y": normal(rng, self.n)}

    def tf(self, tf, x, y):
        traced = tf.function(lambda x, y: self.chain(x, y, tf.exp, tf.tanh, tf.math.erf))
        return lambda: traced(x, y)

    def torch(self, torch, x, y):
        compiled = torch.compile(lambda x, y: self.chain(x, y, torch.exp, torch.tanh, torch.erf))
        return lambda: compiled(x, y)

    def jax(self, jax, x, y):
        traced = jax.jit(lambda x, y: self.chain(x, y, jax.numpy.exp, jax.numpy.tanh, jax.scipy.special.erf))
        return lambda: traced(x, y)

    @staticmethod
    def chain(x, y, exp, tanh, erf):
        return erf(tanh(x * y + 0.5) * exp(-x * x)) + y


class SquareMean(Workload):
    """Fused, it reads the operand once."""

    goals = {"torch": 0.7, "jax": 0.7}

    def __init__(self, n):
        self.name, self.n = f"square_mean_{n}x{n}", n
        self.doc = f"mean of the squares of {n} × {n}, traced where the library traces"
        self.flops, self.bytes = 2 * n * n, 4 * n * n

    def inputs(self, rng):
        return {"x": normal(rng, self.n, self.n)}

    def tf(self, tf, x):
        traced = tf.function(lambda x: tf.reduce_mean(tf.math.square(x)))
        return lambda: traced(x)

    def torch(self, torch, x):
        return lambda: torch.mean(torch.square(x))

    def jax(self, jax, x):
        traced = jax.jit(lambda x: jax.numpy.mean(jax.numpy.square(x)))
        return lambda: traced(x)

    def numpy(self, np, x):
        return lambda: np.mean(np.square(x))


class EagerChain(Workload):
    """Small ops one after another, none of them traced: what the way from Python to the kernel costs."""

    name, doc = "eager_chain", "100 eager ops on 32 × 32, each on the result before"
    STEPS = 25

    def inputs(self, rng):
        return {"x": normal(rng, 32, 32), "w": normal(rng, 32, 32, scale=0.2)}

    def tf(self, tf, x, w):
        return lambda: self.chain(x, w, tf.matmul, tf.tanh)

    def torch(self, torch, x, w):
        return lambda: self.chain(x, w, torch.matmul, torch.tanh)

    def jax(self, jax, x, w):
        return lambda: self.chain(x, w, jax.numpy.matmul, jax.numpy.tanh)

    def numpy(self, np, x, w):
        return lambda: self.chain(x, w, np.matmul, np.tanh)

    def chain(self, x, w, matmul, tanh):
        for _ in range(self.STEPS):
            x = tanh(matmul(x, w) * 0.5 + x)
        return x
