"""Workloads that are run at several sizes, to see how time and memory grow."""
from ..workload import Workload, labels, normal


class Mlp(Workload):
    """A traced training step of a dense network: width² × depth weights, SGD."""

    def __init__(self, batch=32, width=256, depth=2):
        self.batch, self.width, self.depth = batch, width, depth

    def inputs(self, rng):
        weights = {f"w{i}": normal(rng, self.width, self.width, scale=(2 / self.width) ** 0.5) for i in range(self.depth)}
        return {"x": normal(rng, self.batch, self.width), "y": labels(rng, self.batch, 10), **weights}

    def tf(self, tf, x, y, **weights):
        variables = [tf.Variable(w) for w in weights.values()]

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                out = x
                for w in variables:
                    out = tf.nn.relu(tf.matmul(out, w))
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=out))
            for w, gradient in zip(variables, tape.gradient(loss, variables)):
                w.assign_sub(0.001 * gradient)
            return loss

        return lambda: step(x, y)

    def torch(self, torch, x, y, **weights):
        variables = [w.clone().requires_grad_() for w in weights.values()]
        optimizer = torch.optim.SGD(variables, lr=0.001)

        def step():
            out = x
            for w in variables:
                out = torch.relu(out @ w)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(out, y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    def jax(self, jax, x, y, **weights):
        def loss(variables, x, y):
            for w in variables:
                x = jax.numpy.maximum(x @ w, 0)
            return -jax.numpy.mean(jax.numpy.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1))

        @jax.jit
        def step(variables, x, y):
            value, gradients = jax.value_and_grad(loss)(variables, x, y)
            return [v - 0.001 * g for v, g in zip(variables, gradients)], value

        variables = list(weights.values())

        def once():
            nonlocal variables
            variables, value = step(variables, x, y)
            return value

        return once


class Nodes(Workload):
    """Tracing, making ready and the first run of a function of many nodes that cannot be fused into one."""

    def __init__(self, nodes):
        self.pairs = nodes // 2

    def inputs(self, rng):
        return {"x": normal(rng, 8, 8), "w": normal(rng, 8, 8, scale=0.3)}

    def chain(self, x, w, matmul, tanh):
        for _ in range(self.pairs):
            x = tanh(matmul(x, w))
        return x

    def tf(self, tf, x, w):
        return lambda: tf.function(lambda x, w: self.chain(x, w, tf.matmul, tf.tanh))(x, w)

    def jax(self, jax, x, w):
        # A new lambda is compiled anew.
        return lambda: jax.jit(lambda x, w: self.chain(x, w, jax.numpy.matmul, jax.numpy.tanh))(x, w)


class Replicas(Workload):
    """A step on every replica of a MirroredStrategy, gradients summed; the CPU is split into as many devices."""

    raw = True

    def __init__(self, replicas):
        self.replicas = replicas

    def inputs(self, rng):
        return {"x": normal(rng, 64 * self.replicas, 256), "w": normal(rng, 256, 256, scale=0.1)}

    def tf(self, tf, x, w):
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * self.replicas)
        strategy = tf.distribute.MirroredStrategy([f"/CPU:{i}" for i in range(self.replicas)])
        with strategy.scope():
            variable, optimizer = tf.Variable(w), tf.keras.optimizers.SGD(0.001)
            optimizer.build([variable])

        def replica(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, variable)))
            optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
            return loss

        parts = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors(x).unbatch().batch(64 * self.replicas)))
        part = next(parts)
        step = tf.function(lambda x: strategy.run(replica, args=(x,)))
        return lambda: strategy.reduce("mean", step(part), axis=None)


class Curve:
    """`make(size)` is the workload at a size. Sizes grow: memory is the most that was held so far.

    `alone`: a process for every size, where a library can be configured once a process only.
    """

    def __init__(self, doc, axis, sizes, make, alone=False):
        self.doc, self.axis, self.sizes, self.make, self.alone = doc, axis, sizes, make, alone


CURVES = {
    "batch": Curve("training step, 2 layers of 256", "batch size", [16, 64, 256, 1024], lambda n: Mlp(batch=n)),
    "width": Curve("training step, 2 layers, batch 32", "width of a layer", [64, 256, 1024, 2048], lambda n: Mlp(width=n)),
    "depth": Curve("training step, layers of 64, batch 32", "layers", [2, 8, 32, 128], lambda n: Mlp(width=64, depth=n)),
    "nodes": Curve("tracing and first run of matmuls and tanh, 8 × 8", "nodes", [16, 64, 256, 1024], Nodes),
    "replicas": Curve("MirroredStrategy on CPUs, 64 rows each", "replicas", [1, 2, 4], Replicas, alone=True),
}
