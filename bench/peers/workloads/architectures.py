"""Training steps of the networks of examples/: the small ResNet, the character LSTM, the transformer of two layers.

Every library starts from the same weights and has taken two steps before the one whose loss is compared, so that gradients
and updates are compared as well.
"""
from ..workload import Workload, labels, normal
from .by_hand import torch_linear


class TrainingStep(Workload):
    """One step of Adam. A network says its `weights`, its layers for Keras and its module for PyTorch."""

    raw, quick, tolerance = True, False, 1e-3
    goals = {"torch": 0.8, "tensorflow": 0.4}

    def tf(self, tf, x, y, **weights):
        model = self.keras(tf, weights)
        model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x, y = tf.constant(x), tf.constant(y)
        for _ in range(2):
            model.train_on_batch(x, y)
        model.reset_metrics()  # Keras returns the mean since then
        return lambda: model.train_on_batch(x, y)

    def torch(self, torch, x, y, **weights):
        forward, parameters = self.torch_network(torch, weights)
        optimizer = torch.optim.Adam(parameters, eps=1e-7)
        x, y = self.torch_input(torch.from_numpy(x.copy())), torch.from_numpy(y).long().flatten()

        def step():
            optimizer.zero_grad()
            logits = forward(x)
            loss = torch.nn.functional.cross_entropy(logits.reshape(len(y), -1), y)
            loss.backward()
            optimizer.step()
            return loss

        step(), step()
        return step

    def torch_input(self, x):
        return x


# TensorFlow adds up the squares of what each use of a row of an embedding brings; the others square the sum, as Adam has it.
# With embeddings left alone all agree within 1e-5.
EMBEDDINGS_APART = 3e-3


class ResNet(TrainingStep):
    """examples/resnet.py: a convolution, three blocks of two with a way around them, 32×32 pictures."""

    BLOCKS = [(16, 1), (32, 2), (64, 2)]
    CLASSES = 10

    def __init__(self, batch):
        self.name, self.batch = "resnet_train_step", batch
        self.doc = f"train_on_batch of ResNet-8 on {batch} pictures of 32 × 32 × 3, Adam"
        self.flops = 3 * 2 * batch * sum(side * side * k * k * i * o for _, side, k, _, i, o in self.convolutions())

    def convolutions(self):
        """(name, side of its output, kernel, strides, channels in and out)."""
        found, channels, side = [("first", 32, 3, 1, 3, 16)], 16, 32
        for number, (filters, strides) in enumerate(self.BLOCKS):
            side //= strides
            found.append((f"a{number}", side, 3, strides, channels, filters))
            found.append((f"b{number}", side, 3, 1, filters, filters))
            if strides != 1 or channels != filters:
                found.append((f"around{number}", side, 1, strides, channels, filters))
            channels = filters
        return found

    def inputs(self, rng):
        kernels = {name: normal(rng, k, k, i, o, scale=(2 / (k * k * i)) ** 0.5) for name, _, k, _, i, o in self.convolutions()}
        dense = normal(rng, self.BLOCKS[-1][0], self.CLASSES, scale=0.2)
        return {"x": normal(rng, self.batch, 32, 32, 3), "y": labels(rng, self.batch, self.CLASSES), **kernels, "dense": dense}

    def network(self, x, normalized, relu, weights):
        """The graph, from convolutions that are normalized; PyTorch's and Keras' alike."""
        x = relu(normalized("first", x))
        for number in range(len(self.BLOCKS)):
            y = normalized(f"b{number}", relu(normalized(f"a{number}", x)))
            around = normalized(f"around{number}", x) if f"around{number}" in weights else x
            x = relu(y + around)
        return x

    def keras(self, tf, weights):
        layers, strides = tf.keras.layers, {name: strides for name, _, _, strides, _, _ in self.convolutions()}

        def normalized(name, x):
            kernel = weights[name]
            layer = layers.Conv2D(kernel.shape[3], kernel.shape[0], strides[name], padding="same", use_bias=False)
            x = layer(x)
            layer.set_weights([kernel])
            return layers.BatchNormalization()(x)

        inputs = tf.keras.Input((32, 32, 3))
        x = self.network(inputs, normalized, lambda x: layers.ReLU()(x), weights)
        dense = layers.Dense(self.CLASSES)
        outputs = dense(layers.GlobalAveragePooling2D()(x))
        dense.set_weights([weights["dense"], weights["dense"][0] * 0])
        return tf.keras.Model(inputs, outputs)

    def torch_network(self, torch, weights):
        convolutions, norms = {}, {}
        for name, _, size, strides, inputs, outputs in self.convolutions():
            layer = torch.nn.Conv2d(inputs, outputs, size, strides, padding=size // 2 if strides == 1 else 0, bias=False)
            with torch.no_grad():
                layer.weight.copy_(torch.from_numpy(weights[name].transpose(3, 2, 0, 1).copy()))
            convolutions[name] = layer.to(memory_format=torch.channels_last)
            norms[name] = torch.nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01)
        dense = torch_linear(torch, weights["dense"])

        def normalized(name, x):
            layer = convolutions[name]
            if layer.stride != (1, 1) and layer.kernel_size != (1, 1):
                x = torch.nn.functional.pad(x, (0, 1, 0, 1))  # what "same" means where it strides
            return norms[name](layer(x))

        modules = torch.nn.ModuleList([*convolutions.values(), *norms.values(), dense])
        return lambda x: dense(self.network(x, normalized, torch.relu, weights).mean((2, 3))), modules.parameters()

    def torch_input(self, x):
        return x.permute(0, 3, 1, 2)  # channels last in memory, the faster layout there


class CharacterLstm(TrainingStep):
    """examples/char_lstm.py: an embedding, an LSTM that answers at every step, a dense layer."""

    tolerance = EMBEDDINGS_APART

    def __init__(self, batch, steps=24, characters=20, width=16, units=64):
        self.name, self.sizes = "char_lstm_train_step", (batch, steps, characters, width, units)
        self.doc = f"train_on_batch of a character LSTM({units}), {batch} × {steps}, Adam"
        self.flops = 3 * 2 * batch * steps * ((width + units) * 4 * units + units * characters)

    def inputs(self, rng):
        batch, steps, characters, width, units = self.sizes
        return {
            "x": rng.integers(0, characters, (batch, steps)).astype("int32"),
            "y": rng.integers(0, characters, (batch, steps)).astype("int32"),
            "embeddings": normal(rng, characters, width, scale=0.5),
            "kernel": normal(rng, width, 4 * units, scale=0.2),
            "recurrent": normal(rng, units, 4 * units, scale=0.1),
            "dense": normal(rng, units, characters, scale=0.2),
        }

    def keras(self, tf, weights):
        batch, steps, characters, width, units = self.sizes
        layers = tf.keras.layers
        model = tf.keras.Sequential([
            layers.Input((steps,), dtype="int32"),
            layers.Embedding(characters, width),
            layers.LSTM(units, return_sequences=True),
            layers.Dense(characters),
        ])
        kernel, recurrent, dense = weights["kernel"], weights["recurrent"], weights["dense"]
        model.set_weights([weights["embeddings"], kernel, recurrent, kernel[0] * 0, dense, dense[0] * 0])
        return model

    def torch_network(self, torch, weights):
        _, _, characters, width, units = self.sizes
        embedding = torch.nn.Embedding(characters, width)
        lstm = torch.nn.LSTM(width, units, batch_first=True)
        dense = torch_linear(torch, weights["dense"])
        with torch.no_grad():
            embedding.weight.copy_(torch.from_numpy(weights["embeddings"].copy()))
            lstm.weight_ih_l0.copy_(torch.from_numpy(weights["kernel"].T.copy()))
            lstm.weight_hh_l0.copy_(torch.from_numpy(weights["recurrent"].T.copy()))
            lstm.bias_ih_l0.zero_()
            lstm.bias_hh_l0.zero_()
        trained = [*embedding.parameters(), lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0, *dense.parameters()]
        lstm.bias_hh_l0.requires_grad_(False)  # Keras has one bias
        return lambda x: dense(lstm(embedding(x.long()))[0]), trained


class Transformer(TrainingStep):
    """examples/transformer.py: two layers of attention and a dense part, each with a way around it, normalized after."""

    tolerance = EMBEDDINGS_APART

    def __init__(self, batch, steps=8, words=10, width=48, heads=4):
        self.name, self.sizes = "transformer_train_step", (batch, steps, words, width, heads)
        self.doc = f"train_on_batch of a transformer of two layers, {batch} × {steps} × {width}, Adam"
        self.flops = 3 * 2 * batch * steps * (2 * (4 * width * width + 2 * steps * width + 4 * width * width) + width * words)

    def inputs(self, rng):
        batch, steps, words, width, _ = self.sizes
        made = {
            "x": rng.integers(0, words, (batch, steps)).astype("int32"),
            "y": rng.integers(0, words, (batch, steps)).astype("int32"),
            "embeddings": normal(rng, words, width, scale=0.5),
            "places": normal(rng, steps, width, scale=0.5),
            "dense": normal(rng, width, words, scale=0.2),
        }
        for layer in range(2):
            for name in ("q", "k", "v", "o"):
                made[f"{name}{layer}"] = normal(rng, width, width, scale=width**-0.5)
            made[f"up{layer}"] = normal(rng, width, 2 * width, scale=width**-0.5)
            made[f"down{layer}"] = normal(rng, 2 * width, width, scale=(2 * width) ** -0.5)
        return made

    def keras(self, tf, weights):
        _, steps, words, width, heads = self.sizes
        layers = tf.keras.layers

        class Positions(layers.Layer):
            def build(self, input_shape):
                self.places = self.add_weight(shape=input_shape[1:], initializer="zeros", name="places")
                self.places.assign(weights["places"])

            def call(self, x):
                return x + self.places

        def dense(x, kernel, **options):
            layer = layers.Dense(kernel.shape[1], **options)
            y = layer(x)
            layer.set_weights([kernel, kernel[0] * 0])
            return y

        def attention(x, number):
            layer = layers.MultiHeadAttention(num_heads=heads, key_dim=width // heads)
            y = layer(x, x)
            inward = [weights[f"{name}{number}"].reshape(width, heads, -1) for name in "qkv"]
            o = weights[f"o{number}"].reshape(heads, -1, width)
            layer.set_weights([*(part for w in inward for part in (w, w[0] * 0)), o, o[0, 0] * 0])
            return y

        inputs = tf.keras.Input((steps,), dtype="int32")
        embedding = layers.Embedding(words, width)
        x = Positions()(embedding(inputs))
        embedding.set_weights([weights["embeddings"]])
        for number in range(2):
            x = layers.LayerNormalization()(x + attention(x, number))
            hidden = dense(x, weights[f"up{number}"], activation="gelu")
            x = layers.LayerNormalization()(x + dense(hidden, weights[f"down{number}"]))
        return tf.keras.Model(inputs, dense(x, weights["dense"]))

    def torch_network(self, torch, weights):
        batch, steps, words, width, heads = self.sizes
        functional = torch.nn.functional
        vectors = [torch.nn.Parameter(torch.from_numpy(weights[name].copy())) for name in ("embeddings", "places")]
        linear = {name: torch_linear(torch, w) for name, w in weights.items() if name not in ("embeddings", "places")}
        norms = torch.nn.ModuleList(torch.nn.LayerNorm(width, eps=1e-3) for _ in range(4))

        def attention(x, number):
            q, k, v = (linear[f"{name}{number}"](x).view(batch, steps, heads, -1).transpose(1, 2) for name in "qkv")
            mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, steps, width)
            return linear[f"o{number}"](mixed)

        def forward(x):
            x = functional.embedding(x.long(), vectors[0]) + vectors[1]
            for number in range(2):
                x = norms[2 * number](x + attention(x, number))
                x = norms[2 * number + 1](x + linear[f"down{number}"](functional.gelu(linear[f"up{number}"](x))))
            return linear["dense"](x)

        return forward, [*vectors, *norms.parameters(), *(p for layer in linear.values() for p in layer.parameters())]
