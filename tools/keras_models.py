"""Models that real Keras writes for the tests, and a check that Keras opens ours.

Run with a Python that has TensorFlow and Keras:
  python tools/keras_models.py write [NAME…]         tests/data/models/*.keras with inputs and predictions beside them
  python tools/keras_models.py check FILE.keras IO   opens a file of ours and compares its predictions with those in IO
"""
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
from keras import layers

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "models"


def two_towers():
    """Two inputs, two outputs, a layer used twice."""
    a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
    shared = layers.Dense(5, activation="tanh", name="shared")
    x, y = shared(a), shared(b)
    both = layers.Concatenate()([x, y, layers.Multiply()([x, y])])
    both = layers.Subtract()([layers.LayerNormalization()(both), layers.Dropout(0.5)(both)])
    return keras.Model([a, b], [layers.Dense(3, activation="softmax", name="class")(both), layers.Average(name="mean")([x, y])], name="two_towers")


def recurrent():
    """Embedding, LSTM, GRU, Bidirectional, TimeDistributed; sequences of any length."""
    x = tokens = keras.Input((None,), dtype="int32")
    x = layers.Embedding(11, 4)(x)
    x = layers.LSTM(5, return_sequences=True)(x)
    x = layers.Bidirectional(layers.GRU(3, return_sequences=True))(x)
    x = layers.TimeDistributed(layers.Dense(4, activation="relu"))(x)
    x = layers.Bidirectional(layers.SimpleRNN(2), merge_mode="sum")(x)
    return keras.Model(tokens, layers.Dense(1, activation="sigmoid")(x), name="recurrent")


def small_resnet():
    """Convolutions of all kinds, normalisations, a shortcut; compiled and fitted."""
    x = image = keras.Input((12, 12, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(x)
    x = layers.ZeroPadding2D(((1, 0), (0, 1)))(x)
    x = short = layers.Conv2D(4, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU(max_value=6)(x)
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=1)(x)
    x = layers.GroupNormalization(groups=2)(x)
    x = layers.PReLU(shared_axes=[1, 2])(x)
    x = layers.Add()([x, short])
    x = layers.SeparableConv2D(6, 3, strides=2, activation="swish")(x)
    x = layers.UpSampling2D(2)(x)
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="valid")(x)
    x = layers.LeakyReLU(negative_slope=0.1)(x)
    x = layers.Cropping2D(1)(x)
    x = layers.AveragePooling2D(3, strides=2, padding="same")(x)
    x = layers.Conv2D(4, 3, dilation_rate=2, groups=2, activation="elu")(x)
    x = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)])
    model = keras.Model(image, layers.Dense(3, activation="softmax")(x), name="small_resnet")
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(inputs_of(model)[0], np.arange(8) % 3, epochs=2, batch_size=4, verbose=0)
    return model


def nested():
    """A Sequential and a Functional model as layers of another."""
    encoder = keras.Sequential([layers.Dense(6, activation="relu"), layers.Reshape((2, 3)), layers.Permute((2, 1))], name="encoder")
    x = start = keras.Input((3, 2))
    head = keras.Model(start, layers.Dense(2)(layers.Flatten()(layers.UnitNormalization()(x))), name="head")
    features = keras.Input((5,))
    normalized = layers.Normalization()
    normalized.adapt(np.random.default_rng(7).normal(2, 3, (20, 5)))
    return keras.Model(features, head(encoder(normalized(features))), name="nested")


def attention():
    """A layer of a transformer, causal, and one-dimensional convolutions."""
    x = start = keras.Input((8, 6))
    x = layers.Conv1D(6, 3, padding="causal", activation="gelu")(x)
    x = layers.Add()([x, layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)])
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    x = layers.MaxPooling1D(2)(x)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(start, layers.RepeatVector(2)(x), name="attention")


def steps():
    """Layers over steps, a branch each."""
    x = keras.Input((8, 6))
    branches = [
        layers.Conv1DTranspose(3, 3, strides=2), layers.SeparableConv1D(4, 3, depth_multiplier=2), layers.DepthwiseConv1D(3, padding="same"),
        layers.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d", activation="relu"), layers.EinsumDense("...x,xy->...y", output_shape=4),
        layers.GRU(4, reset_after=False), layers.SimpleRNN(4, activation="relu"), layers.LSTM(3, activation="softsign", recurrent_activation="hard_sigmoid"),
        layers.RNN(layers.LSTMCell(4), return_sequences=True), layers.LayerNormalization(axis=[1, 2]), layers.Dense(6, activation="glu"),
        layers.Dense(4, activation="squareplus"), layers.GaussianDropout(0.2), layers.AlphaDropout(0.2), layers.Discretization(bin_boundaries=[0.5, 1.0]),
    ]  # fmt: skip
    y = layers.Dense(6)(x)
    both = [layers.Dot(axes=2, normalize=True)([x, y]), layers.Attention(use_scale=True)([x, y]), layers.AdditiveAttention()([x, y])]
    both.append(layers.MultiHeadAttention(2, 3, value_dim=4, output_shape=5)(x, layers.Dense(3)(y)))
    states = layers.Bidirectional(layers.LSTM(2, return_state=True))(x)
    model = keras.Model(x, [branch(x) for branch in branches] + both + list(states), name="steps")
    model.compile("adam", "mse")  # and never fitted: its optimizer has no state
    return model


def images():
    """Layers over images, a branch each."""
    x = keras.Input((8, 9, 3))
    branches = [
        layers.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1), layers.UpSampling2D((2, 3), interpolation="bilinear"),
        layers.Resizing(5, 7), layers.Resizing(5, 7, interpolation="nearest", crop_to_aspect_ratio=True), layers.CenterCrop(4, 5), layers.CenterCrop(12, 6),
        layers.RandomZoom(0.1), layers.RandomContrast(0.1), layers.RandomTranslation(0.1, 0.1),
    ]  # fmt: skip
    return keras.Model(x, [branch(x) for branch in branches], name="images")


def volumes():
    """Layers over volumes, a branch each."""
    x = keras.Input((4, 5, 6, 2))
    branches = [
        layers.Conv3D(3, 2, strides=(1, 2, 1)), layers.Conv3D(4, 3, padding="same", strides=2, groups=2), layers.Conv3D(2, 2, dilation_rate=2),
        layers.Conv3DTranspose(2, 2, strides=2), layers.Conv3DTranspose(3, 3, strides=2, padding="same"), layers.MaxPooling3D(2),
        layers.AveragePooling3D(2, padding="same"), layers.GlobalAveragePooling3D(), layers.GlobalMaxPooling3D(keepdims=True), layers.ZeroPadding3D((1, 0, 2)),
        layers.Cropping3D(1), layers.UpSampling3D((1, 2, 1)),
    ]  # fmt: skip
    return keras.Model(x, [branch(x) for branch in branches], name="volumes")


def masks():
    """Masks made by Embedding and Masking, read by recurrent layers, attention and pooling."""
    tokens, x = keras.Input((5,), dtype="int32"), keras.Input((4, 3))
    words = layers.Embedding(11, 6, mask_zero=True)(tokens)
    steps = layers.Masking(1.0)(x)
    outputs = [
        layers.LSTM(3)(words), layers.GRU(3, return_sequences=True, go_backwards=True)(words), layers.Bidirectional(layers.SimpleRNN(2, return_sequences=True))(words),
        layers.GlobalAveragePooling1D()(layers.Dense(4, activation="relu")(words)), layers.MultiHeadAttention(2, 3)(words, words), layers.GRU(2)(steps),
        layers.Attention()([words, words]), layers.LSTM(2)(layers.Add()([words, layers.Dense(6)(words)])), layers.LSTM(2)(layers.Concatenate(axis=1)([words, words])),
        layers.LSTM(2, zero_output_for_mask=True, return_sequences=True)(words),
    ]  # fmt: skip
    return keras.Model([tokens, x], outputs, name="masks")


def functions():
    """keras.ops in a functional model."""
    ops = keras.ops
    x = keras.Input((4, 6))
    mean = ops.relu(ops.mean(x, axis=1) * 2 - 1) - ops.exp(-x[:, 0])
    square = ops.softmax(ops.matmul(ops.transpose(x, (0, 2, 1)), x), axis=-1)
    total = ops.sum(square * square, axis=(1, 2), keepdims=True)
    outputs = [
        ops.reshape(ops.concatenate([mean, mean], -1)[:, 1:], (-1, 11)), ops.squeeze(ops.where(total > 0.5, total, ops.sqrt(total)), -1),
        x[..., ::2, None], x[:, -1, 1:4] / 3, ops.clip(x, 0.2, 1.5) ** 2, ops.maximum(ops.var(x, axis=-1), 0.1), ops.stack([mean, mean + 1], axis=1),
        ops.expand_dims(ops.max(x, axis=-1), 1) + 0.5 * ops.tanh(x[:, :, :4]),
    ]  # fmt: skip
    return keras.Model(x, outputs, name="functions")


def elementwise_functions(x, y):
    """Functions of keras.ops of each element, of x (batch, 4, 6) and another like it."""
    ops = keras.ops
    unit, whole, flags = ops.tanh(x) * 0.9, ops.cast(x * 5, "int32"), x > 0.2
    of_one = [getattr(ops, name)(x) for name in "sinh cosh arcsinh arctan exp2 sinc trunc isnan isinf isfinite isneginf erfc cbrt deg2rad rad2deg nan_to_num".split()]
    of_unit = [getattr(ops, name)(unit) for name in "arcsin arccos arctanh erfinv".split()]
    bent = [getattr(ops, name)(x) for name in "hard_tanh sparse_plus sparse_sigmoid tanh_shrink squareplus soft_shrink hard_shrink celu glu".split()]
    bent += [ops.elu(x, 0.5), ops.celu(x, 0.7), ops.threshold(x, 0.1, 0.5), ops.glu(x, axis=1), layers.Activation("sparse_sigmoid")(x)]
    logs = [getattr(ops, name)(ops.abs(x) + 0.1) for name in "log2 log10".split()] + [ops.arccosh(ops.abs(x) + 1), ops.round(x, 1), ops.clip(x, -0.5, 0.5)]
    of_two = [getattr(ops, name)(x, y) for name in "arctan2 logaddexp logaddexp2 hypot heaviside divide_no_nan fmax fmin fmod isclose".split()]
    mixed = [whole + x, whole / 2, whole // 2, whole * 1.5, flags + whole, ops.exp(whole), 2.0**x, 0.3 // (x * x + 0.1), ops.where(flags, x, 0)]
    chosen = [ops.logical_xor(flags, y > 0), ops.logical_and(flags, True), ops.logical_not(whole), ~flags, flags & (y > 0), flags | (y > 0), ops.bitwise_and(whole, whole + 1)]
    return of_one + of_unit + bent + logs + of_two + mixed + chosen


def array_functions(x, y):
    """Functions of keras.ops that choose, move, join and reduce."""
    ops = keras.ops
    joined = [ops.hstack([x, y]), ops.append(x, y, axis=2), ops.stack([x, ops.add(np.ones((1, 4, 6), "float32"), y)], axis=2)]
    parts = [*ops.split(x, 2, axis=2), *ops.split(x, [1, 3], axis=-1), *ops.array_split(x, 4, axis=2), *ops.unstack(x, axis=1)]
    more = [ops.tile(x, (1, 2, 1)), ops.repeat(x, 2, axis=1), ops.repeat(x, [1, 0, 2, 1], axis=1), ops.pad(x, ((0, 0), (1, 2), (0, 1))), ops.pad(x, ((0, 0), (1, 2), (0, 1)), mode="reflect"),
            ops.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=3.0), ops.full_like(x, 2.5), ops.expand_dims(x, (1, -1))]  # fmt: skip
    moved = [ops.roll(x, 2, axis=1), ops.rot90(x, axes=(1, 2)), ops.rot90(x, k=3, axes=(1, 2)), ops.swapaxes(x, 1, 2), ops.moveaxis(x, 1, -1), ops.flip(x, axis=2), x[:, ::-1, 4:0:-2]]
    taken = [ops.take(x, [0, 3, 3], axis=1), ops.take(x, [-1], axis=2), ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1), ops.tril(x, -1), ops.triu(x, 1), ops.select([x > 0.5, y > 0], [x, y], 7.0)]
    ordered = [ops.sort(x, axis=1), ops.argsort(x, axis=2), *ops.top_k(x, 3), ops.in_top_k(ops.argmax(y[:, 0], axis=-1), x[:, 0], 2), ops.digitize(x, np.array([-0.5, 0.5], "float32"))]
    hot = [ops.one_hot(ops.argmax(x, axis=-1), 6, axis=1, dtype="int32"), ops.multi_hot(ops.argmax(x, axis=-1), 6)]
    summed = [ops.amax(x, axis=1), ops.amin(x, axis=(1, 2)), ops.average(x, axis=1), ops.average(x, axis=2, weights=np.arange(6, dtype="float32")), ops.count_nonzero(x > 0, axis=1), ops.any(x, axis=1), ops.all(x, axis=2),
              ops.sum(x > 0, axis=1), ops.mean(ops.cast(x * 5, "int32"), axis=1), ops.cumsum(x, axis=1), ops.cumprod(x, axis=2), ops.median(x, axis=1), ops.quantile(x, 0.3, axis=2, keepdims=True),
              ops.norm(x, axis=-1), ops.norm(x, ord=1, axis=1, keepdims=True), ops.norm(x, ord=3, axis=-1), ops.normalize(x, axis=1), ops.normalize(x, axis=-1, order=1),
              ops.diff(x, n=2, axis=2), ops.trapezoid(x, dx=0.5, axis=1), *ops.moments(x, axes=[1])]  # fmt: skip
    return joined + parts + more + moved + taken + ordered + hot + summed


def network_functions(x, y, images):
    """Products, convolutions, pools, normalisations, attention and images by keras.ops."""
    ops = keras.ops
    kernel = np.random.default_rng(2).normal(size=(2, 2, 2, 3)).astype("float32")
    vector = np.linspace(0.5, 1.5, 6, dtype="float32")
    sums = [ops.einsum("btf,bsf->bts", x, y), ops.einsum("btf,bsf,bsg->btg", x, y, y), ops.einsum("btf->b", x), ops.einsum("...tf,...sf->...st", x, y), ops.einsum("btf,bsg->bfstg", x, y[:, :2]),
            ops.tensordot(x, kernel.reshape(6, 4), axes=1), ops.tensordot(x, kernel[0, :, 0].reshape(2, 3).repeat(2, 0), axes=[[1], [0]]), ops.dot(x, vector), ops.inner(x, kernel.reshape(4, 6))]  # fmt: skip
    windows = [ops.conv(images, kernel, 1, "same"), ops.conv(x, kernel[0].repeat(3, 1), 1, "valid"), ops.depthwise_conv(images, kernel, 1, "valid"), ops.max_pool(images, 2), ops.average_pool(images, (2, 1), 1, "same"), ops.max_pool(x, 2)]
    normal = [ops.layer_normalization(x), ops.layer_normalization(x, vector, vector - 1), ops.rms_normalization(x), ops.rms_normalization(x, vector), ops.batch_normalization(x, vector, vector, -1, vector, vector, 1e-2)]
    heads = ops.reshape(x, (-1, 4, 2, 3))
    attended = [ops.dot_product_attention(heads, heads, heads), ops.dot_product_attention(heads, heads, heads, is_causal=True), ops.dot_product_attention(heads, heads, heads, mask=x[:, None, :, :4] > 0.3, scale=0.4)]
    shown = [ops.image.resize(images, (4, 7)), ops.image.resize(images, (3, 3), interpolation="nearest"), ops.image.rgb_to_grayscale(ops.concatenate([images, images[..., :1]], axis=-1))]
    passed = [layer(images) for layer in (layers.RandomShear(0.1), layers.RandomSharpness(0.1), layers.RandomPerspective(), layers.RandomElasticTransform(), layers.RandomGaussianBlur(), layers.RandomErasing())]
    return sums + windows + normal + attended + shown + passed


def more_functions():
    """Nearly all functions of keras.ops that C++ knows, an output each."""
    x, images = keras.Input((4, 6)), keras.Input((5, 6, 2))
    y = layers.Dense(6)(x)
    return keras.Model([x, images], elementwise_functions(x, y) + array_functions(x, y) + network_functions(x, y, images), name="more_functions")


def cells():
    """Stacks of cells, LSTMs of convolutions, a normalised kernel, a branch each."""
    x, images = keras.Input((5, 4)), keras.Input((3, 6, 7, 2))
    stack = layers.StackedRNNCells([layers.SimpleRNNCell(3), layers.GRUCell(2), layers.GRUCell(3)])
    outputs = [
        layers.RNN(layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(4), layers.LSTMCell(2)]), return_sequences=True)(x),
        *layers.RNN(stack, return_state=True, go_backwards=True)(x), layers.RNN(layers.StackedRNNCells([layers.LSTMCell(2)]), return_sequences=True)(x),
        layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(images), layers.ConvLSTM2D(2, (2, 3), strides=2, activation="relu")(images),
        layers.ConvLSTM1D(2, 3, dilation_rate=2)(layers.Reshape((5, 7, 2))(layers.Dense(14)(x))), layers.SpectralNormalization(layers.Dense(3))(x),
    ]  # fmt: skip
    return keras.Model([x, images], outputs, name="cells")


def objectives():
    """Losses, metrics, an optimizer and constraints with arguments, for two outputs."""
    x = keras.Input((6,))
    hidden = layers.Dense(
        8, activation="relu", kernel_constraint=keras.constraints.MaxNorm(1.5), bias_constraint="non_neg",
        kernel_regularizer=keras.regularizers.OrthogonalRegularizer(0.1), activity_regularizer=keras.regularizers.L2(0.01),
    )(x)  # fmt: skip
    hidden = layers.ActivityRegularization(l1=0.02)(hidden)
    model = keras.Model(x, [layers.Dense(1, activation="sigmoid", name="yes")(hidden), layers.Dense(3, name="numbers")(hidden)], name="objectives")
    model.compile(
        keras.optimizers.Nadam(keras.optimizers.schedules.CosineDecayRestarts(0.05, 3), clipnorm=1.0, weight_decay=0.01),
        loss={"yes": keras.losses.BinaryCrossentropy(label_smoothing=0.1), "numbers": keras.losses.MeanSquaredError(reduction="sum")},
        loss_weights={"yes": 1.0, "numbers": 0.3},
        metrics={"yes": [keras.metrics.AUC(num_thresholds=20), "accuracy", keras.metrics.Precision(0.4)], "numbers": [keras.metrics.RootMeanSquaredError(), "r2_score"]},
    )
    return model


def channels_first():
    """Channels before the spatial axes, a branch each; axes that are not the last."""
    first = {"data_format": "channels_first"}
    x, y, images = keras.Input((4, 8)), keras.Input((2, 5, 6, 4)), keras.Input((3, 2, 6, 7))
    steps = [
        layers.ZeroPadding1D(1, **first), layers.MaxPooling1D(2, **first), layers.GlobalAveragePooling1D(**first), layers.Flatten(**first),
        layers.BatchNormalization(axis=1), layers.GroupNormalization(2, axis=1), layers.AdaptiveAveragePooling1D(3, **first),
    ]  # fmt: skip
    volumes = [
        layers.ZeroPadding3D(1, **first), layers.AveragePooling3D(2, **first), layers.GlobalMaxPooling3D(keepdims=True, **first), layers.Cropping3D(1, **first),
        layers.UpSampling3D(2, **first), layers.Flatten(**first), layers.AdaptiveMaxPooling3D(2, **first),
    ]  # fmt: skip
    pictures = [
        layers.UpSampling2D(2, interpolation="bicubic", **first), layers.Resizing(4, 9, interpolation="lanczos3", antialias=True, **first),
        layers.Resizing(9, 4, pad_to_aspect_ratio=True, **first), layers.CenterCrop(3, 4, **first), layers.SpatialDropout2D(0.5, **first),
        layers.GlobalAveragePooling2D(**first), layers.Cropping2D(1, **first),
    ]  # fmt: skip
    picture = layers.Reshape((2, 6, 21))(layers.Permute((2, 3, 1, 4))(images))
    outputs = [layer(x) for layer in steps] + [layer(y) for layer in volumes] + [layer(picture) for layer in pictures]
    return keras.Model([x, y, images], outputs, name="channels_first")


def scores():
    """Attention with masks of its own, its scores, several axes and shared heads; softmax with a mask."""
    x, y, places = keras.Input((5, 6)), keras.Input((4, 6)), keras.Input((3, 4, 6))
    seen, counts = x[:, :, :4] > 0.3, x[:, :, 0] > 0.3
    outputs = [
        layers.MultiHeadAttention(2, 3)(x, y, attention_mask=seen), *layers.MultiHeadAttention(2, 3)(x, y, return_attention_scores=True),
        layers.MultiHeadAttention(2, 3, attention_axes=(2,))(places, places), layers.MultiHeadAttention(2, 3, attention_axes=(1, 2))(places, places),
        layers.GroupQueryAttention(3, 4, 2)(x, y), layers.GroupQueryAttention(3, 4, 1)(x, x, use_causal_mask=True),
        *layers.Attention(score_mode="concat", use_scale=True)([x, y], return_attention_scores=True),
        layers.AdditiveAttention()([x, x], mask=[counts, counts], use_causal_mask=True), layers.Softmax()(y[:, :, 0], mask=y[:, :, 1] > 0.5),
        *layers.Bidirectional(layers.GRU(2, return_sequences=True), merge_mode=None)(x), layers.Softmax(axis=[1, 2])(y),
    ]  # fmt: skip
    return keras.Model([x, y, places], outputs, name="scores")


def inside():
    """Models inside wrappers, cells with dropout in a stack, an LSTM of volumes."""
    x, volumes = keras.Input((4, 6)), keras.Input((2, 3, 4, 5, 2))
    stack = [layers.LSTMCell(3, dropout=0.2), layers.GRUCell(2, recurrent_dropout=0.1)]
    head = keras.Sequential([layers.Dense(5, activation="relu"), layers.Dense(2)])
    outputs = [
        layers.TimeDistributed(head)(x), layers.RNN(stack)(x), layers.ConvLSTM3D(2, 2, padding="same")(volumes), layers.ConvLSTM3D(2, 2, data_format="channels_first")(volumes),
        layers.Dropout(0.5, noise_shape=(None, 1, 6))(x), layers.RMSNormalization(axis=[1, 2])(x),
    ]  # fmt: skip
    return keras.Model([x, volumes], outputs, name="inside")


def in_policy(name):
    """Layers of many kinds that compute in 16 bits; compiled and fitted, so that losses are scaled where that is needed."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    x, steps = keras.Input((8, 8, 3)), keras.Input((5,), dtype="int32")
    y = layers.Conv2D(4, 3, activation="relu", padding="same")(x)
    y = layers.BatchNormalization()(layers.SeparableConv2D(4, 3)(y))
    y = layers.GlobalAveragePooling2D()(layers.MaxPooling2D(2)(y))
    words = layers.Embedding(11, 6, mask_zero=True)(steps)
    words = layers.LayerNormalization()(layers.Add()([words, layers.MultiHeadAttention(2, 3)(words, words)]))
    words = layers.Bidirectional(layers.GRU(3))(layers.LSTM(4, return_sequences=True)(words))
    both = layers.Dense(8, activation="gelu")(layers.Concatenate()([y, words]))
    model = keras.Model([x, steps], layers.Dense(3, activation="softmax", dtype="float32")(both), name=name)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(inputs_of(model), np.arange(8) % 3, epochs=2, batch_size=4, verbose=0)
    keras.config.set_dtype_policy(before)
    return model


def mixed_bfloat16():
    return in_policy("mixed_bfloat16")


def mixed_float16():
    return in_policy("mixed_float16")


MODELS = [channels_first, scores, inside, mixed_bfloat16, mixed_float16, two_towers, recurrent, small_resnet, nested, attention, steps, images, volumes, masks, functions, more_functions, cells, objectives]
LEGACY = [recurrent]  # the older format too, of layers that contain layers
TRAINED = [objectives]  # with targets, the metrics, and what is predicted after three more steps


def inputs_of(model):
    random = np.random.default_rng(5)
    arrays = []
    for tensor in model.inputs:
        shape = [8] + [7 if size is None else size for size in tensor.shape[1:]]
        if "int" in tensor.dtype:
            arrays.append(random.integers(0, 11, shape).astype("int32"))
        else:
            arrays.append(random.uniform(0, 2, shape).astype("float32"))
    return arrays


def randomize(model):
    """Biases and statistics away from zeros and ones, so that a mix-up shows."""
    random = np.random.default_rng(3)
    for variable in model.variables:
        # Normalization keeps a copy of its statistics, which an assignment would not reach.
        if "float" in str(variable.dtype) and "seed" not in variable.path and not variable.path.startswith("normalization/"):
            variable.assign(variable + random.uniform(0.1, 0.4, variable.shape))


def write(make):
    keras.utils.set_random_seed(1)
    model = make()
    randomize(model)
    inputs = inputs_of(model)
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    model.save(FOLDER / f"{make.__name__}.keras")
    if make in LEGACY:
        model.save(FOLDER / f"{make.__name__}_legacy.h5")
    arrays = {f"x{i}": value for i, value in enumerate(inputs)} | {f"y{i}": value for i, value in enumerate(outputs)}
    if make in TRAINED:
        random = np.random.default_rng(9)
        targets = [random.integers(0, 2, (8, 1)).astype("float32"), random.normal(size=(8, 3)).astype("float32")]
        arrays |= {f"t{i}": value for i, value in enumerate(targets)}
        arrays |= {f"metric_{name}": np.float32(value) for name, value in model.evaluate(inputs[0], targets, verbose=0, return_dict=True).items()}
        for _ in range(3):
            model.train_on_batch(inputs[0], targets)
        arrays |= {f"z{i}": value for i, value in enumerate(model.predict(inputs[0], verbose=0))}
    np.savez(FOLDER / f"{make.__name__}_io.npz", **arrays)


def check(path, io):
    arrays = np.load(io)
    model = keras.models.load_model(path)
    names = sorted(arrays, key=lambda name: (len(name), name))  # y10 after y9
    inputs = [arrays[name] for name in names if name.startswith("x")]
    expected = [arrays[name] for name in names if name.startswith(("y", "pred"))]
    outputs = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    difference = max(float(np.abs(a - b).max()) for a, b in zip(outputs, expected, strict=True))
    iterations = int(model.optimizer.iterations) if model.compiled else None
    print(f"{path}: largest difference {difference:.2g}, optimizer steps {iterations}")
    return difference < 1e-4


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        for make in MODELS:
            if make.__name__ in sys.argv[2:] or not sys.argv[2:]:
                write(make)
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 4:
        sys.exit(0 if check(sys.argv[2], sys.argv[3]) else 1)
    else:
        sys.exit(__doc__)
