"""Objects whose checkpoints move between TensorFlow and us: each scene gives a tf.train.Checkpoint and the variables in it, in order.

The module `tf` may be either; the same scene has the same variables in both.
"""
import numpy as np

DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64", "bool")


def variables(tf):
    """Every dtype, no axis and no elements, strings, lists, dicts, tuples, names that must be escaped."""
    of_dtype = {name: tf.Variable(tf.cast(tf.constant([[0, 0, 0], [0, 0, 0]]), name)) for name in DTYPES}
    text, empty, number = tf.Variable(["", "?"]), tf.Variable(tf.zeros([0, 3])), tf.Variable(0, dtype=tf.int64)
    odd = {"a/b.c": tf.Variable(0.0), "d e": tf.Variable(0.0)}
    listed = [tf.Variable(0.0), {"x": tf.Variable([0.0])}, (tf.Variable(0),)]
    checkpoint = tf.train.Checkpoint(of_dtype=of_dtype, text=text, empty=empty, number=number, odd=odd, listed=listed)
    return checkpoint, [*of_dtype.values(), text, empty, number, *odd.values(), listed[0], listed[1]["x"], listed[2][0]]


def module(tf):
    """Modules in modules, a generator, and a variable that two names lead to."""

    class Part(tf.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = tf.Variable(tf.zeros([2, 3])), tf.Variable(tf.zeros([3]))

    class Whole(tf.Module):
        def __init__(self):
            super().__init__()
            self.parts, self.count = [Part(), Part()], 7
            self.first_again = self.parts[0]
            self.shared = self.parts[1].w

        @tf.function
        def __call__(self, x):
            return x @ self.shared

    root, step = Whole(), tf.Variable(0)
    return tf.train.Checkpoint(root, step=step), [root.parts[0].w, root.parts[0].b, root.shared, root.parts[1].b, step]


def sequential(tf):
    """A stack of layers with its optimizer."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((6, 6, 2)), layers.Conv2D(3, 3, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.5), layers.Flatten(), layers.Dense(2)]
    )
    model.compile("adam", "mse", metrics=["mae"])
    model.optimizer.build(model.trainable_variables)
    step = tf.Variable(0, dtype=tf.int64)
    return tf.train.Checkpoint(model=model, optimizer=model.optimizer, step=step), [*model.weights, *model.optimizer.variables, step]


def functional(tf):
    """Recurrent layers, attention, an op between layers, a model inside a model."""
    layers = tf.keras.layers
    x = tokens = tf.keras.Input((4,), dtype="int32")
    x = layers.Embedding(7, 4)(x)
    x = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(x) * 2.0
    x = layers.MultiHeadAttention(2, 2)(x, x)
    inner = tf.keras.Sequential([tf.keras.Input((4, 4)), layers.GRU(3), layers.LayerNormalization()])
    model = tf.keras.Model(tokens, layers.EinsumDense("ab,bc->ac", 2, bias_axes="c")(inner(x)))
    return tf.train.Checkpoint(net=model), list(model.weights)


def subclass(tf):
    """A model with attributes of its own and SGD with momentum."""

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense, self.scale = tf.keras.layers.Dense(3), self.add_weight(shape=(3,), name="scale")
            self._hidden = tf.keras.layers.Dense(1, use_bias=False)
            self.extra = tf.Variable(0.0, trainable=False)
            self.tracker = tf.keras.metrics.Mean()

        def call(self, x):
            return self._hidden(self.dense(x) * self.scale)

    model = Net()
    model(tf.zeros([1, 2]))
    optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)
    parts = [model.dense.kernel, model.dense.bias, model.scale, model._hidden.kernel, model.extra]
    return tf.train.Checkpoint(model=model, optimizer=optimizer), [*parts, optimizer.iterations, optimizer.learning_rate]


def table(tf):
    """A table of words."""
    words = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    return tf.train.Checkpoint(words=words, v=tf.Variable(0.0)), []


SCENES = [variables, module, sequential, functional, subclass, table]


def values_for(made):
    """What the variables of a scene hold when it is saved: numbers that say which variable they belong to."""
    out = []
    for i, variable in enumerate(made):
        name, shape = _dtype_name(variable), tuple(variable.shape)
        if name == "string":
            out.append(np.array([b"", b"text\x00" + b"-" * 200]))
            continue
        numbers = (np.arange(int(np.prod(shape))) * 5 + i) % 100
        numbers = numbers % 2 == 0 if name == "bool" else numbers
        out.append(numbers.reshape(shape))
    return out


def _dtype_name(variable):
    dtype = variable.dtype
    return dtype if isinstance(dtype, str) else dtype.name


def fill(tf, checkpoint, made):
    for variable, value in zip(made, values_for(made)):
        name = _dtype_name(variable)
        variable.assign(tf.constant(value) if name == "string" else tf.cast(tf.constant(value), name))
    if hasattr(checkpoint, "words"):
        checkpoint.words.insert(tf.constant(["one", "two"]), tf.constant([1, 2], tf.int64))


def check(tf, checkpoint, made):
    """Raises unless the scene holds what fill() gives."""
    for i, (variable, value) in enumerate(zip(made, values_for(made))):
        name = _dtype_name(variable)
        got = tf.cast(tf.convert_to_tensor(variable), tf.float32).numpy() if name == "bfloat16" else np.asarray(variable.numpy())
        if not np.array_equal(got, value.astype(got.dtype) if got.dtype != object else value):
            raise AssertionError(f"variable {i} of dtype {name}: got {got!r}, wanted {value!r}")
    if hasattr(checkpoint, "words"):
        np.testing.assert_array_equal(checkpoint.words.lookup(tf.constant(["one", "two", "three"])).numpy(), [1, 2, -1])
