"""Writes tests/data/*.npz: what TensorFlow and Keras answer, for tests/python/test_reference.py to compare with.

Needs the pip packages tensorflow-cpu and keras, which the tests do not: python tools/reference_values.py [FAMILY…].
Each array is named case/argument, case/result or case/grad; arguments are seeded, so a file can be written again.
"""
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

FOLDER = Path(__file__).resolve().parent.parent / "tests/data"

# TensorFlow's CPU kernels differentiate no dilated and no grouped convolution, no change of contrast, hue or saturation and
# few ways to resize; where two colours are equal, the gradient of the hue is a matter of taste. Boxes of the nearest pixels
# have the gradient of the others in TensorFlow, though nothing changes when they move a little.
WITHOUT_GRADIENT = {
    "conv2d_dilated", "conv2d_groups", "adjust_contrast", "adjust_saturation", "adjust_hue", "rgb_to_hsv", "resize-area",
    "crop_and_resize-nearest",
}  # fmt: skip


class Cases:
    """The arrays of one family of ops."""

    def __init__(self, seed=1):
        self.arrays = {}
        self.random = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def add(self, case, function, **arguments):
        """Results of function(arguments), and the gradients of their weighted sum by the floating arguments."""
        tensors = {name: tf.constant(value) for name, value in arguments.items()}
        sources = [name for name, value in tensors.items() if value.dtype.is_floating]
        with tf.GradientTape() as tape:
            for name in sources:
                tape.watch(tensors[name])
            results = function(**tensors)
            results = results if isinstance(results, (list, tuple)) else [results]
            weighted = [tf.reduce_sum(r * self.weights(r.shape)) for r in results if r.dtype.is_floating]
            total = tf.add_n(weighted or [tf.constant(0.0)])
        for name, value in arguments.items():
            self.arrays[f"{case}/{name}"] = value
        for i, result in enumerate(results):
            self.arrays[f"{case}/result{i}"] = result.numpy()
        if case in WITHOUT_GRADIENT:
            return
        for name, grad in zip(sources, tape.gradient(total, [tensors[name] for name in sources])):
            if grad is not None:
                self.arrays[f"{case}/grad_{name}"] = tf.convert_to_tensor(grad).numpy()

    @staticmethod
    def weights(shape):
        """Tell the elements apart: 1, 1.1, … 1.9, 1, …"""
        count = int(np.prod(shape.as_list()))
        return tf.constant((1 + np.arange(count) % 10 / 10).reshape(shape.as_list()).astype(np.float32))


def convolution(cases):
    nn, normal = tf.nn, cases.normal
    cases.add("conv2d_same", lambda x, w: nn.conv2d(x, w, [2, 1], "SAME"), x=normal(2, 7, 6, 3), w=normal(3, 2, 3, 4))
    cases.add("conv2d_explicit", lambda x, w: nn.conv2d(x, w, 2, [[0, 0], [2, 0], [1, 3], [0, 0]]), x=normal(1, 6, 5, 2), w=normal(3, 3, 2, 3))
    cases.add("conv2d_dilated", lambda x, w: nn.conv2d(x, w, 1, "VALID", dilations=[2, 3]), x=normal(1, 9, 9, 2), w=normal(3, 2, 2, 3))
    cases.add("conv2d_groups", lambda x, w: nn.conv2d(x, w, 1, "SAME"), x=normal(2, 5, 5, 4), w=normal(3, 3, 2, 6))
    cases.add("depthwise_conv2d", lambda x, w: nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"), x=normal(2, 6, 7, 3), w=normal(3, 3, 3, 2))
    cases.add("separable_conv2d", lambda x, w, p: nn.separable_conv2d(x, w, p, [1, 1, 1, 1], "VALID"), x=normal(1, 5, 6, 3), w=normal(2, 3, 3, 2), p=normal(1, 1, 6, 4))
    cases.add("conv2d_transpose", lambda x, w: nn.conv2d_transpose(x, w, [2, 7, 8, 3], 2, "SAME"), x=normal(2, 4, 4, 5), w=normal(3, 3, 3, 5))
    cases.add("conv1d", lambda x, w: nn.conv1d(x, w, 2, "SAME"), x=normal(2, 9, 3), w=normal(4, 3, 5))
    cases.add("conv1d_transpose", lambda x, w: nn.conv1d_transpose(x, w, [2, 9, 3], 2, "SAME"), x=normal(2, 5, 4), w=normal(3, 3, 4))
    cases.add("avg_pool2d", lambda x: nn.avg_pool2d(x, [3, 2], [2, 1], "SAME"), x=normal(2, 6, 5, 3))
    cases.add("avg_pool1d", lambda x: nn.avg_pool1d(x, 3, 2, "VALID"), x=normal(2, 8, 3))
    cases.add("max_pool2d_explicit", lambda x: nn.max_pool2d(x, 3, 2, [[0, 0], [1, 1], [2, 0], [0, 0]]), x=normal(1, 6, 5, 2))
    cases.add("max_pool1d", lambda x: nn.max_pool1d(x, 3, 2, "SAME"), x=normal(2, 8, 3))
    cases.add("max_pool_with_argmax", lambda x: nn.max_pool_with_argmax(x, 2, 2, "SAME"), x=normal(2, 5, 5, 3))


def normalization(cases):
    normal = cases.normal

    def training(x, scale, offset):
        mean, variance = tf.nn.moments(x, list(range(x.shape.rank - 1)))
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3), mean, variance

    def rows(x, scale, offset):
        axes = list(range(x.shape.rank - scale.shape.rank, x.shape.rank))
        mean, variance = tf.nn.moments(x, axes, keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)

    def attention(query, key, value, **more):
        return keras.ops.dot_product_attention(query, key, value, flash_attention=False, **more)

    cases.add("batch_normalization", lambda x, m, v, b, g: tf.nn.batch_normalization(x, m, tf.abs(v), b, g, 1e-3), x=normal(3, 4, 5), m=normal(5), v=normal(5), b=normal(5), g=normal(5))
    cases.add("batch_normalization_training", training, x=normal(4, 3, 3, 5), scale=normal(5), offset=normal(5))
    cases.add("layer_normalization", rows, x=normal(4, 3, 10), scale=normal(10), offset=normal(10))
    cases.add("layer_normalization_two_axes", rows, x=normal(4, 3, 5), scale=normal(3, 5), offset=normal(3, 5))
    cases.add("l2_normalize", lambda x: tf.nn.l2_normalize(x, 1), x=normal(4, 6))
    qkv = {"query": normal(2, 5, 3, 4), "key": normal(2, 6, 3, 4), "value": normal(2, 6, 3, 4)}
    cases.add("attention", attention, **qkv)
    cases.add("attention_bias", lambda query, key, value, bias: attention(query, key, value, bias=bias), **qkv, bias=normal(1, 3, 5, 6))
    mask = cases.random.random((2, 1, 5, 6)) < 0.7
    mask[0, 0, 2] = False
    cases.add("attention_mask", lambda query, key, value, mask: attention(query, key, value, mask=tf.broadcast_to(mask, [2, 3, 5, 6])), **qkv, mask=mask)
    cases.add("attention_causal", lambda query, key, value: attention(query, key, value, is_causal=True, scale=0.7), **qkv)


def recurrent(cases):
    def run(cell, gates, bias_shape, states):
        """The layer's own step, unrolled."""

        def layer(x, kernel, recurrent_kernel, bias, **initial):
            units = recurrent_kernel.shape[0]
            made = cell(units)
            made.build((None, x.shape[-1]))
            made.kernel, made.recurrent_kernel, made.bias = kernel, recurrent_kernel, bias
            state, outputs = list(initial.values()), []
            for t in range(x.shape[1]):
                y, state = made(x[:, t], state)
                outputs.append(y)
            return (tf.stack(outputs, 1), *state)

        inputs, units, normal = 3, 5, cases.normal
        weights = {"kernel": normal(inputs, gates * units), "recurrent_kernel": normal(units, gates * units), "bias": normal(*bias_shape)}
        cases.add(cell.__name__, layer, x=normal(4, 6, inputs), **weights, **{name: normal(4, units) for name in states})

    run(keras.layers.LSTMCell, 4, (20,), ["h0", "c0"])
    run(keras.layers.GRUCell, 3, (2, 15), ["h0"])
    run(keras.layers.SimpleRNNCell, 1, (5,), ["h0"])


def objective(cases):
    normal, losses = cases.normal, keras.losses

    def probabilities(*shape):
        e = np.exp(normal(*shape))
        return (e / e.sum(-1, keepdims=True)).astype(np.float32)

    for name in ("mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error", "huber", "log_cosh", "cosine_similarity"):
        cases.add(name, getattr(losses, name), y_true=normal(5, 4), y_pred=2 * normal(5, 4))
    for name in ("mean_squared_logarithmic_error", "poisson"):
        cases.add(name, getattr(losses, name), y_true=np.exp(normal(5, 4)), y_pred=np.exp(normal(5, 4)))
    labels = (normal(5, 4) > 0).astype(np.float32)
    for name in ("hinge", "squared_hinge"):
        cases.add(name, getattr(losses, name), y_true=labels, y_pred=normal(5, 4))
        cases.add(f"{name}_signed", getattr(losses, name), y_true=2 * labels - 1, y_pred=normal(5, 4))
    hot = np.eye(4, dtype=np.float32)[[0, 2, 3, 1, 1]]
    cases.add("categorical_hinge", losses.categorical_hinge, y_true=hot, y_pred=normal(5, 4))
    cases.add("kl_divergence", losses.kl_divergence, y_true=probabilities(5, 4), y_pred=probabilities(5, 4))
    certain = np.array([[0, 1, 0.5, 1e-9]], np.float32)
    cases.add("binary_crossentropy", losses.binary_crossentropy, y_true=labels, y_pred=probabilities(5, 4))
    cases.add("binary_crossentropy_certain", losses.binary_crossentropy, y_true=1 - certain, y_pred=certain)
    cases.add("binary_crossentropy_logits", lambda y_true, y_pred: losses.binary_crossentropy(y_true, y_pred, from_logits=True, label_smoothing=0.1), y_true=labels, y_pred=5 * normal(5, 4))
    cases.add("categorical_crossentropy", losses.categorical_crossentropy, y_true=hot, y_pred=probabilities(5, 4) * 2)
    cases.add("categorical_crossentropy_logits", lambda y_true, y_pred: losses.categorical_crossentropy(y_true, y_pred, from_logits=True, label_smoothing=0.2), y_true=hot, y_pred=5 * normal(5, 4))
    numbers = np.array([0, 3, 2, 2, 1])
    cases.add("sparse_categorical_crossentropy", losses.sparse_categorical_crossentropy, y_true=numbers, y_pred=probabilities(5, 4))
    cases.add("sparse_categorical_crossentropy_logits", lambda y_true, y_pred: losses.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True), y_true=numbers, y_pred=5 * normal(5, 4))


# Arguments after the picture; what follows a dash tells calls of one function apart.
IMAGE_CALLS = {
    "flip_left_right": [], "flip_up_down": [], "rot90": [], "rot90-2": [2], "rot90-3": [3], "adjust_brightness": [0.2],
    "adjust_contrast": [1.7], "adjust_saturation": [0.4], "adjust_hue": [0.3], "rgb_to_grayscale": [], "rgb_to_hsv": [],
    "per_image_standardization": [], "resize-up": [[9, 11]], "resize-down": [[3, 4]], "resize-nearest": [[8, 4], "nearest"],
    "resize-bicubic": [[9, 4], "bicubic"], "resize-area": [[3, 4], "area"], "resize-lanczos3": [[7, 3], "lanczos3"],
    "resize-lanczos5": [[7, 3], "lanczos5"], "resize-gaussian": [[7, 3], "gaussian"], "resize-mitchellcubic": [[7, 3], "mitchellcubic"],
    "resize-antialias": [[2, 9], "bilinear", False, True], "resize-proportions": [[9, 9], "bilinear", True],
    "resize_with_pad": [9, 7], "resize_with_pad-down": [3, 7], "central_crop": [0.5], "crop_to_bounding_box": [1, 2, 3, 3],
    "pad_to_bounding_box": [1, 2, 8, 9], "resize_with_crop_or_pad": [3, 9], "total_variation": [],
}  # fmt: skip


def image(cases):
    picture = cases.random.random((2, 5, 6, 3)).astype(np.float32)
    picture[0, 0, :2] = [[0.5, 0.5, 0.5], [0, 0, 0]]
    small = cases.random.integers(0, 256, (4, 5, 3)).astype(np.uint8)
    for name, arguments in IMAGE_CALLS.items():
        function = getattr(tf.image, name.split("-")[0])
        cases.add(name, lambda x, f=function, a=arguments: f(x, *a), x=picture)
    for name in ("adjust_brightness", "adjust_contrast", "rgb_to_grayscale", "per_image_standardization"):
        cases.add(f"{name}-uint8", lambda x, f=getattr(tf.image, name), a=IMAGE_CALLS[name]: f(x, *a), x=small)
    cases.add("resize-uint8", lambda x: tf.image.resize(x, [7, 3], "nearest"), x=small)
    cases.add("convert_image_dtype-float", lambda x: tf.image.convert_image_dtype(x, tf.float32), x=small)
    cases.add("convert_image_dtype-uint8", lambda x: tf.image.convert_image_dtype(x, tf.uint8, saturate=True), x=1.5 * picture)
    boxes = np.array([[0.1, 0.2, 0.9, 0.8], [0.8, 0.1, 0.2, 1.3], [-0.3, 0, 0.5, 0.5]], np.float32)
    numbers = np.array([1, 0, 1], np.int32)
    for method in ("bilinear", "nearest"):
        cases.add(f"crop_and_resize-{method}", lambda x, b, n, m=method: tf.image.crop_and_resize(x, b, n, [4, 3], m, 0.25), x=picture, b=boxes, n=numbers)
    cases.add("psnr", lambda x, y: tf.image.psnr(x, y, 1.0), x=picture, y=cases.random.random((2, 5, 6, 3)).astype(np.float32))


def volume(cases):
    nn, normal = tf.nn, cases.normal
    x = normal(2, 5, 6, 4, 3)
    cases.add("conv3d_same", lambda x, w: nn.conv3d(x, w, [1, 2, 1, 2, 1], "SAME"), x=x, w=normal(3, 2, 3, 3, 4))
    cases.add("conv3d_valid", lambda x, w: nn.conv3d(x, w, [1, 1, 1, 1, 1], "VALID"), x=x, w=normal(2, 3, 2, 3, 2))
    for kind in ("max", "avg"):
        function = getattr(nn, f"{kind}_pool3d")
        cases.add(f"{kind}_pool3d_same", lambda x, f=function: f(x, [1, 3, 2, 2, 1], [1, 2, 1, 2, 1], "SAME"), x=x)
        cases.add(f"{kind}_pool3d_valid", lambda x, f=function: f(x, 2, 2, "VALID"), x=x)


def pictures(cases):
    """Files that TensorFlow wrote, and what it reads in them for each number of channels."""
    y, x = np.mgrid[0:11, 0:13]
    colour = np.stack([x * 19, y * 23, x * y * 3], -1).astype(np.uint8)
    kinds = {"grey": colour[..., :1], "grey_alpha": colour[..., :2], "colour": colour, "colour_alpha": np.concatenate([colour, colour[..., :1]], -1)}
    for name, picture in kinds.items():
        file = tf.io.encode_png(picture)
        cases.arrays[f"png_{name}/file"] = np.frombuffer(file.numpy(), np.uint8)
        for channels in (0, 1, 3, 4):
            cases.arrays[f"png_{name}/{channels}"] = tf.io.decode_png(file, channels).numpy()
    for name in ("grey", "colour"):
        file = tf.io.encode_jpeg(kinds[name], quality=90)
        cases.arrays[f"jpeg_{name}/file"] = np.frombuffer(file.numpy(), np.uint8)
        for channels in (0, 1, 3):
            cases.arrays[f"jpeg_{name}/{channels}"] = tf.io.decode_jpeg(file, channels).numpy()
            cases.arrays[f"accurate/jpeg_{name}/{channels}"] = tf.io.decode_jpeg(file, channels, dct_method="INTEGER_ACCURATE").numpy()


FAMILIES = {
    "convolution": convolution, "normalization": normalization, "recurrent": recurrent, "objective": objective, "image": image,
    "volume": volume, "pictures": pictures}  # fmt: skip


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or FAMILIES:
        cases = Cases()
        FAMILIES[name](cases)
        np.savez_compressed(FOLDER / f"{name}.npz", **cases.arrays)
        print(f"{name}.npz: {len(cases.arrays)} arrays")


if __name__ == "__main__":
    main()
