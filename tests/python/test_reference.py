"""Values and gradients against the files that tools/reference_values.py wrote with TensorFlow and Keras."""
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf

FOLDER = Path(__file__).resolve().parent.parent / "data"
nn = tf.nn

CONVOLUTION = {
    "conv2d_same": lambda x, w: nn.conv2d(x, w, [2, 1], "SAME"),
    "conv2d_explicit": lambda x, w: nn.conv2d(x, w, 2, [[0, 0], [2, 0], [1, 3], [0, 0]]),
    "conv2d_dilated": lambda x, w: nn.conv2d(x, w, 1, "VALID", dilations=[2, 3]),
    "conv2d_groups": lambda x, w: nn.conv2d(x, w, 1, "SAME"),
    "depthwise_conv2d": lambda x, w: nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "SAME"),
    "separable_conv2d": lambda x, w, p: nn.separable_conv2d(x, w, p, [1, 1, 1, 1], "VALID"),
    "conv2d_transpose": lambda x, w: nn.conv2d_transpose(x, w, [2, 7, 8, 3], 2, "SAME"),
    "conv1d": lambda x, w: nn.conv1d(x, w, 2, "SAME"),
    "conv1d_transpose": lambda x, w: nn.conv1d_transpose(x, w, [2, 9, 3], 2, "SAME"),
    "avg_pool2d": lambda x: nn.avg_pool2d(x, [3, 2], [2, 1], "SAME"),
    "avg_pool1d": lambda x: nn.avg_pool1d(x, 3, 2, "VALID"),
    "max_pool2d_explicit": lambda x: nn.max_pool2d(x, 3, 2, [[0, 0], [1, 1], [2, 0], [0, 0]]),
    "max_pool1d": lambda x: nn.max_pool1d(x, 3, 2, "SAME"),
    "max_pool_with_argmax": lambda x: nn.max_pool_with_argmax(x, 2, 2, "SAME"),
}
NORMALIZATION = {
    "batch_normalization": lambda x, m, v, b, g: nn.batch_normalization(x, m, tf.abs(v), b, g, 1e-3),
    "batch_normalization_training": nn.batch_normalization_training,
    "layer_normalization": lambda x, scale, offset: nn.layer_normalization(x, scale, offset, 1e-5),
    "layer_normalization_two_axes": lambda x, scale, offset: nn.layer_normalization(x, scale, offset, 1e-5),
    "l2_normalize": lambda x: nn.l2_normalize(x, 1),
    "attention": nn.dot_product_attention,
    "attention_bias": nn.dot_product_attention,
    "attention_mask": nn.dot_product_attention,
    "attention_causal": lambda query, key, value: nn.dot_product_attention(query, key, value, is_causal=True, scale=0.7),
}
RECURRENT = {"LSTMCell": nn.lstm, "GRUCell": nn.gru, "SimpleRNNCell": nn.simple_rnn}
losses = tf.losses
OBJECTIVE = {
    name: getattr(losses, name.removesuffix("_signed").removesuffix("_certain"))
    for name in (
        "mean_squared_error", "mean_absolute_error", "mean_absolute_percentage_error", "mean_squared_logarithmic_error", "huber",
        "log_cosh", "cosine_similarity", "poisson", "hinge", "hinge_signed", "squared_hinge", "squared_hinge_signed", "categorical_hinge",
        "kl_divergence", "binary_crossentropy", "binary_crossentropy_certain", "categorical_crossentropy", "sparse_categorical_crossentropy",
    )
}  # fmt: skip
OBJECTIVE |= {
    "binary_crossentropy_logits": lambda y_true, y_pred: losses.binary_crossentropy(y_true, y_pred, True, 0.1),
    "categorical_crossentropy_logits": lambda y_true, y_pred: losses.categorical_crossentropy(y_true, y_pred, True, 0.2),
    "sparse_categorical_crossentropy_logits": lambda y_true, y_pred: losses.sparse_categorical_crossentropy(y_true, y_pred, True),
}
IMAGE_CALLS = {
    "flip_left_right": [], "flip_up_down": [], "rot90": [], "rot90-2": [2], "rot90-3": [3], "adjust_brightness": [0.2],
    "adjust_contrast": [1.7], "adjust_saturation": [0.4], "adjust_hue": [0.3], "rgb_to_grayscale": [], "rgb_to_hsv": [],
    "per_image_standardization": [], "resize-up": [[9, 11]], "resize-down": [[3, 4]], "resize-nearest": [[8, 4], "nearest"],
    "resize-bicubic": [[9, 4], "bicubic"], "resize-area": [[3, 4], "area"], "resize-lanczos3": [[7, 3], "lanczos3"],
    "resize-lanczos5": [[7, 3], "lanczos5"], "resize-gaussian": [[7, 3], "gaussian"], "resize-mitchellcubic": [[7, 3], "mitchellcubic"],
    "resize-antialias": [[2, 9], "bilinear", False, True], "resize-proportions": [[9, 9], "bilinear", True],
    "resize_with_pad": [9, 7], "resize_with_pad-down": [3, 7], "central_crop": [0.5], "crop_to_bounding_box": [1, 2, 3, 3],
    "pad_to_bounding_box": [1, 2, 8, 9], "resize_with_crop_or_pad": [3, 9], "total_variation": [],
    "adjust_brightness-uint8": [0.2], "adjust_contrast-uint8": [1.7], "rgb_to_grayscale-uint8": [], "per_image_standardization-uint8": [],
    "resize-uint8": [[7, 3], "nearest"], "convert_image_dtype-float": [tf.float32], "convert_image_dtype-uint8": [tf.uint8, True],
}  # fmt: skip
IMAGE = {
    name: lambda x, f=getattr(tf.image, name.split("-")[0]), a=arguments: f(x, *a) for name, arguments in IMAGE_CALLS.items()
}
IMAGE |= {
    f"crop_and_resize-{method}": lambda x, b, n, m=method: tf.image.crop_and_resize(x, b, n, [4, 3], m, 0.25)
    for method in ("bilinear", "nearest")
}
IMAGE["psnr"] = lambda x, y: tf.image.psnr(x, y, 1.0)
VOLUME = {
    "conv3d_same": lambda x, w: nn.conv3d(x, w, [1, 2, 1, 2, 1], "SAME"),
    "conv3d_valid": lambda x, w: nn.conv3d(x, w, [1, 1, 1, 1, 1], "VALID"),
    "max_pool3d_same": lambda x: nn.max_pool3d(x, [1, 3, 2, 2, 1], [1, 2, 1, 2, 1], "SAME"),
    "max_pool3d_valid": lambda x: nn.max_pool(x, 2, 2, "VALID"),
    "avg_pool3d_same": lambda x: nn.avg_pool3d(x, [1, 3, 2, 2, 1], [1, 2, 1, 2, 1], "SAME"),
    "avg_pool3d_valid": lambda x: nn.avg_pool(x, 2, 2, "VALID"),
}
FAMILIES = {
    "convolution": CONVOLUTION, "normalization": NORMALIZATION, "recurrent": RECURRENT, "objective": OBJECTIVE, "image": IMAGE,
    "volume": VOLUME,
}  # fmt: skip


def weights(shape):
    """As in tools/reference_values.py: tell the elements apart."""
    return (1 + np.arange(int(np.prod(shape))) % 10 / 10).reshape(shape).astype(np.float32)


def arrays_of(file, case):
    prefix = case + "/"
    return {name.removeprefix(prefix): file[name] for name in file.files if name.startswith(prefix)}


# TensorFlow takes the weights of the cubic from a table of 1024 places.
ROUGH = {"resize-bicubic": 2e-3}


def close(got, expected, what):
    limit = ROUGH.get(what.split(",")[0], 2e-5)
    np.testing.assert_allclose(got, expected, rtol=limit, atol=limit * max(1, np.abs(expected).max(initial=0)), err_msg=what)


@pytest.mark.parametrize("family, case", [(f, c) for f, cases in FAMILIES.items() for c in cases])
def test_ops_answer_as_tensorflow_does(family, case):
    arrays = arrays_of(np.load(FOLDER / f"{family}.npz"), case)
    arguments = {n: tf.constant(a) for n, a in arrays.items() if not n.startswith(("result", "grad_"))}
    with tf.GradientTape() as tape:
        for tensor in arguments.values():
            if tensor.dtype.is_floating:
                tape.watch(tensor)
        results = FAMILIES[family][case](**arguments)
        results = results if isinstance(results, (list, tuple)) else [results]
        weighted = [tf.reduce_sum(r * weights(tuple(r.shape))) for r in results if r.dtype.is_floating]
        total = tf.add_n(weighted or [tf.constant(0.0)])
    for i, result in enumerate(results):
        close(result.numpy(), arrays[f"result{i}"], f"{case}, result {i}")
    sources = [name for name in arguments if f"grad_{name}" in arrays]
    grads = tape.gradient(total, [arguments[name] for name in sources])
    for name, grad in zip(sources, grads):
        close(grad.numpy(), arrays[f"grad_{name}"], f"{case}, gradient of {name}")


def test_every_case_of_the_files_is_compared():
    for family, cases in FAMILIES.items():
        assert {name.split("/")[0] for name in np.load(FOLDER / f"{family}.npz").files} == set(cases)
