"""Dense networks: training loops by hand, fit, predict. Every library starts from the same weights."""
from ..workload import Workload, labels, normal
from .by_hand import jax_adam, jax_dense_loss, torch_dense

CLASSES = 10


class Dense(Workload):
    """features → hidden relu → 10, sparse cross entropy from logits."""

    def __init__(self, name, rows, features, hidden, batch=32):
        self.name, self.rows, self.features, self.hidden, self.batch = name, rows, features, hidden, batch

    def inputs(self, rng):
        return {
            "x": normal(rng, self.rows, self.features),
            "y": labels(rng, self.rows, CLASSES),
            "w1": normal(rng, self.features, self.hidden, scale=self.features**-0.5),
            "w2": normal(rng, self.hidden, CLASSES, scale=self.hidden**-0.5),
        }

    def multiplications(self):
        return self.features * self.hidden + self.hidden * CLASSES

    def keras(self, tf, w1, w2):
        model = tf.keras.Sequential([
            tf.keras.layers.Input((self.features,)),
            tf.keras.layers.Dense(self.hidden, activation="relu"),
            tf.keras.layers.Dense(CLASSES),
        ])
        zeros = [w[0] * 0 for w in (w1, w2)]
        model.set_weights([w1, zeros[0], w2, zeros[1]])
        return model

    def batches(self):
        return [slice(i, i + self.batch) for i in range(0, self.rows, self.batch)]


class Fit(Dense):
    """One epoch of fit in order; peers without fit loop over the batches."""

    raw, long, tolerance = True, True, 5e-3

    def __init__(self, name, rows, features, hidden, goals, batch=32):
        super().__init__(name, rows, features, hidden, batch)
        self.goals = goals
        self.doc = f"fit, {rows:,} × {features} → {hidden} → {CLASSES}, Adam, batch {batch}, one epoch"
        self.flops = 6 * rows * self.multiplications()
        self.bytes = 4 * rows * features

    def tf(self, tf, x, y, w1, w2):
        model = self.keras(tf, w1, w2)
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        return lambda: model.fit(x, y, batch_size=self.batch, shuffle=False, verbose=0).history["loss"]

    def torch(self, torch, x, y, w1, w2):
        model, x, y = torch_dense(torch, w1, w2), torch.from_numpy(x.copy()), torch.from_numpy(y).long()
        optimizer = torch.optim.Adam(model.parameters(), eps=1e-7)

        def epoch():
            total = 0.0
            for rows in self.batches():
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
                loss.backward()
                optimizer.step()
                total += loss.detach() * len(x[rows])
            return total / len(x)

        return epoch

    def jax(self, jax, x, y, w1, w2):
        step, state = jax_adam(jax, jax_dense_loss(jax), (w1, w1[0] * 0, w2, w2[0] * 0))

        def epoch():
            nonlocal state
            total = 0.0
            for rows in self.batches():
                state, loss = step(state, x[rows], y[rows])
                total += loss * len(x[rows])
            return total / len(x)

        return epoch


class TapeStep(Dense):
    """A training loop by hand: GradientTape and SGD, op by op or as one traced function."""

    tolerance = 1e-3

    def __init__(self, traced):
        name = "tape_step_traced" if traced else "tape_step_eager"
        super().__init__(name, 32, 784, 128)
        self.traced = traced
        self.doc = f"a training step by hand, 784 → 128 → 10, batch 32, {'traced where the library traces' if traced else 'eager'}"
        self.flops = 6 * self.rows * self.multiplications()

    def tf(self, tf, x, y, w1, w2):
        w1, b1, w2, b2 = (tf.Variable(v) for v in (w1, w1[0] * 0, w2, w2[0] * 0))
        variables = [w1, b1, w2, b2]

        def step():
            with tf.GradientTape() as tape:
                logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
            for variable, gradient in zip(variables, tape.gradient(loss, variables)):
                variable.assign_sub(0.01 * gradient)
            return loss

        return tf.function(step) if self.traced else step

    def torch(self, torch, x, y, w1, w2):
        model = torch_dense(torch, w1.numpy(), w2.numpy())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    def jax(self, jax, x, y, w1, w2):
        gradient = jax.value_and_grad(jax_dense_loss(jax))
        variables = (w1, w1[0] * 0, w2, w2[0] * 0)

        def updated(variables, x, y):
            loss, gradients = gradient(variables, x, y)
            return tuple(v - 0.01 * g for v, g in zip(variables, gradients)), loss

        run = jax.jit(updated) if self.traced else updated

        def step():
            nonlocal variables
            variables, loss = run(variables, x, y)
            return loss

        return step


class Predict(Dense):
    raw = True

    def __init__(self, rows, features, hidden, batch, goals=None):
        super().__init__(f"predict_{rows}x{features}", rows, features, hidden, batch)
        self.goals = goals or {}
        self.doc = f"predict, {rows:,} × {features} → {hidden} → {CLASSES}, batch {self.batch}"
        self.flops = 2 * rows * self.multiplications()
        self.bytes = 4 * rows * features

    def tf(self, tf, x, y, w1, w2):
        model = self.keras(tf, w1, w2)
        return lambda: model.predict(x, batch_size=self.batch, verbose=0)

    def torch(self, torch, x, y, w1, w2):
        model, x = torch_dense(torch, w1, w2), torch.from_numpy(x.copy())

        def predict():
            with torch.no_grad():
                return torch.cat([model(x[rows]) for rows in self.batches()])

        return predict

    def jax(self, jax, x, y, w1, w2):
        np = jax.numpy
        forward = jax.jit(lambda x: np.maximum(x @ w1, 0) @ w2)
        return lambda: np.concatenate([forward(x[rows]) for rows in self.batches()])

    def numpy(self, np, x, y, w1, w2):
        return lambda: np.concatenate([np.maximum(x[rows] @ w1, 0) @ w2 for rows in self.batches()])
