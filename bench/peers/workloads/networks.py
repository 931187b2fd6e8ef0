"""Convolutional and recurrent networks, attention. Every library starts from the same weights, each in its own layout."""
from ..workload import Workload, labels, normal
from .by_hand import jax_adam, jax_cross_entropy, torch_linear

SIDE, CHANNELS, FILTERS, CLASSES = 28, 3, 32, 10
FLAT = (SIDE - 2) * (SIDE - 2) * FILTERS


class Cnn(Workload):
    """Conv2D(32, 3×3, relu) → Flatten → Dense(10) on 28×28×3 images."""

    raw = True

    def __init__(self, batch):
        self.batch = batch
        self.forward_flops = 2 * batch * FLAT * (9 * CHANNELS + CLASSES)

    def inputs(self, rng):
        return {
            "x": normal(rng, self.batch, SIDE, SIDE, CHANNELS),
            "y": labels(rng, self.batch, CLASSES),
            "kernel": normal(rng, 3, 3, CHANNELS, FILTERS, scale=0.2),
            "w": normal(rng, FLAT, CLASSES, scale=FLAT**-0.5),
        }

    def keras(self, tf, kernel, w):
        model = tf.keras.Sequential([
            tf.keras.layers.Input((SIDE, SIDE, CHANNELS)),
            tf.keras.layers.Conv2D(FILTERS, (3, 3), activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(CLASSES),
        ])
        model.set_weights([kernel, kernel[0, 0, 0] * 0, w, w[0] * 0])
        return model

    def torch_model(self, torch, kernel, w):
        """Channels first, as PyTorch's users have them: the rows of the dense kernel in the order of its Flatten."""
        convolution = torch.nn.Conv2d(CHANNELS, FILTERS, 3)
        with torch.no_grad():
            convolution.weight.copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
            convolution.bias.zero_()
        w = w.reshape(SIDE - 2, SIDE - 2, FILTERS, CLASSES).transpose(2, 0, 1, 3).reshape(FLAT, CLASSES)
        return torch.nn.Sequential(convolution, torch.nn.ReLU(), torch.nn.Flatten(), torch_linear(torch, w.copy()))

    def jax_forward(self, jax):
        def forward(variables, x):
            kernel, b1, w, b2 = variables
            y = jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            return jax.numpy.maximum(y + b1, 0).reshape(len(x), -1) @ w + b2

        return forward


class CnnForward(Cnn):
    goals = {"tensorflow": 0.4}

    def __init__(self, batch):
        super().__init__(batch)
        self.name, self.flops = "cnn_forward", self.forward_flops
        self.doc = f"model(images): Conv2D(32) → Flatten → Dense(10), {batch} × 28 × 28 × 3"

    def tf(self, tf, x, y, kernel, w):
        model, x = self.keras(tf, kernel, w), tf.constant(x)
        return lambda: model(x)

    def torch(self, torch, x, y, kernel, w):
        model, x = self.torch_model(torch, kernel, w), torch.from_numpy(x.transpose(0, 3, 1, 2).copy())

        def forward():
            with torch.no_grad():
                return model(x)

        return forward

    def jax(self, jax, x, y, kernel, w):
        forward, x = jax.jit(self.jax_forward(jax)), jax.numpy.asarray(x)
        variables = tuple(map(jax.numpy.asarray, (kernel, kernel[0, 0, 0] * 0, w, w[0] * 0)))
        return lambda: forward(variables, x)


class CnnTrainStep(Cnn):
    tolerance = 1e-3
    goals = {"torch": 0.5}

    def __init__(self, batch):
        super().__init__(batch)
        self.name, self.flops = "cnn_train_step", 3 * self.forward_flops
        self.doc = f"train_on_batch of the same network, Adam, {batch} images"

    def tf(self, tf, x, y, kernel, w):
        model = self.keras(tf, kernel, w)
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x, y = tf.constant(x), tf.constant(y)

        def step():
            # Keras returns the mean over all steps so far; a first step is compared, so that they agree.
            return model.train_on_batch(x, y)

        return step

    def torch(self, torch, x, y, kernel, w):
        model, y = self.torch_model(torch, kernel, w), torch.from_numpy(y).long()
        x = torch.from_numpy(x.transpose(0, 3, 1, 2).copy())
        optimizer = torch.optim.Adam(model.parameters(), eps=1e-7)

        def step():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return step

    def jax(self, jax, x, y, kernel, w):
        forward = self.jax_forward(jax)
        step, state = jax_adam(jax, lambda v, x, y: jax_cross_entropy(jax, forward(v, x), y), (kernel, kernel[0, 0, 0] * 0, w, w[0] * 0))
        x, y = jax.numpy.asarray(x), jax.numpy.asarray(y)

        def once():
            nonlocal state
            state, loss = step(state, x, y)
            return loss

        return once


class Lstm(Workload):
    """One layer over a sequence, and the gradient of the sum of its outputs by its weights."""

    tolerance = 1e-3

    def __init__(self, batch, steps, features, units):
        self.name, self.sizes = f"lstm_train_{batch}x{steps}x{features}", (batch, steps, features, units)
        self.doc = f"LSTM({units}) over {batch} × {steps} × {features}, forward and backward"
        self.flops = 3 * 2 * batch * steps * (features + units) * 4 * units

    def inputs(self, rng):
        batch, steps, features, units = self.sizes
        return {
            "x": normal(rng, batch, steps, features),
            "w": normal(rng, features, 4 * units, scale=0.1),
            "u": normal(rng, units, 4 * units, scale=0.1),
        }

    def tf(self, tf, x, w, u):
        layer = tf.keras.layers.LSTM(self.sizes[3], return_sequences=True, unit_forget_bias=False)
        layer.build(x.shape)
        layer.set_weights([w.numpy(), u.numpy(), u.numpy()[0] * 0])

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                total = tf.reduce_sum(layer(x))
            return [total, *tape.gradient(total, layer.trainable_variables)[:2]]

        return lambda: step(x)

    def torch(self, torch, x, w, u):
        layer = torch.nn.LSTM(self.sizes[2], self.sizes[3], batch_first=True)
        with torch.no_grad():
            for parameter, value in zip(layer.parameters(), (w.t(), u.t(), torch.zeros(()), torch.zeros(()))):
                parameter.copy_(value.expand_as(parameter))

        def step():
            total = layer(x)[0].sum()
            gradients = torch.autograd.grad(total, list(layer.parameters()))
            return [total, gradients[0].t(), gradients[1].t()]

        return step

    def jax(self, jax, x, w, u):
        np, units = jax.numpy, self.sizes[3]

        def total(wu, x):
            def cell(state, projected):
                h, c = state
                i, f, g, o = np.split(projected + h @ wu[1], 4, axis=-1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * np.tanh(g)
                h = jax.nn.sigmoid(o) * np.tanh(c)
                return (h, c), h

            zero = np.zeros((x.shape[0], units), x.dtype)
            return np.sum(jax.lax.scan(cell, (zero, zero), np.swapaxes(x @ wu[0], 0, 1))[1])

        run = jax.jit(jax.value_and_grad(total))
        return lambda: run((w, u), x)


class Attention(Workload):
    """Self-attention with its four projections, and the gradient of the sum of its outputs by input and weights."""

    tolerance = 1e-3

    def __init__(self, batch, steps, size, heads):
        self.name, self.sizes, self.heads = f"attention_train_{batch}x{steps}x{size}", (batch, steps, size), heads
        self.doc = f"{heads}-head self-attention block on {batch} × {steps} × {size}, forward and backward"
        self.flops = 3 * (4 * 2 * batch * steps * size * size + 2 * 2 * batch * steps * steps * size)

    def inputs(self, rng):
        size = self.sizes[2]
        weights = {name: normal(rng, size, size, scale=size**-0.5) for name in ("q", "k", "v", "o")}
        return {"x": normal(rng, *self.sizes), "mask": normal(rng, *self.sizes), **weights}

    def tf(self, tf, x, mask, q, k, v, o):
        size, heads = self.sizes[2], self.heads
        layer = tf.keras.layers.MultiHeadAttention(heads, size // heads, use_bias=False)
        layer.build(x.shape, x.shape)
        split = [w.numpy().reshape(size, heads, -1) for w in (q, k, v)]
        layer.set_weights([*split, o.numpy().reshape(heads, -1, size)])

        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                total = tf.reduce_sum(layer(x, x) * mask)
            gradients = tape.gradient(total, [x, *layer.trainable_variables])
            return [total, gradients[0], tf.reshape(gradients[1], [size, size])]

        return lambda: step(x)

    def torch(self, torch, x, mask, q, k, v, o):
        functional, (batch, steps, size), heads = torch.nn.functional, self.sizes, self.heads
        leaves = [tensor.clone().requires_grad_() for tensor in (x, q, k, v, o)]

        def step():
            x, *projections, o = leaves
            qkv = [(x @ w).view(batch, steps, heads, -1).transpose(1, 2) for w in projections]
            mixed = functional.scaled_dot_product_attention(*qkv).transpose(1, 2).reshape(batch, steps, size)
            total = ((mixed @ o) * mask).sum()
            gradients = torch.autograd.grad(total, leaves)
            return [total, gradients[0], gradients[1]]

        return step

    def jax(self, jax, x, mask, q, k, v, o):
        np, (batch, steps, size), heads = jax.numpy, self.sizes, self.heads

        def total(leaves):
            x, *projections, o = leaves
            qkv = [(x @ w).reshape(batch, steps, heads, -1) for w in projections]
            return np.sum((jax.nn.dot_product_attention(*qkv).reshape(batch, steps, size) @ o) * mask)

        run = jax.jit(jax.value_and_grad(total))

        def step():
            value, gradients = run((x, q, k, v, o))
            return [value, gradients[0], gradients[1]]

        return step
