"""keras.applications: the layers of Keras' networks, one by one, and what is done to their inputs and outputs."""
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import tandemflow as tf

# Of Keras 3.15 by tools/keras_applications.py: size of the pictures, parameters, and a digest of all layers.
FACTS = json.loads((Path(__file__).parents[1] / "data/keras/applications.json").read_text())


def digest(model):
    """Names, classes, shapes of weights and of outputs of all layers, in order."""
    layers = [[layer.name, type(layer).__name__, [list(w.shape) for w in layer.weights], list(layer.output.shape)] for layer in model.layers]
    return hashlib.sha256(json.dumps(layers).encode()).hexdigest()


@pytest.mark.parametrize("name", FACTS)
def test_every_layer_is_keras(name):
    tf.keras.backend.clear_session()
    size = FACTS[name]["size"]
    model = getattr(tf.keras.applications, name)(weights=None, include_top=False, input_shape=(size, size, 3), pooling="avg")
    assert (model.count_params(), len(model.layers)) == (FACTS[name]["params"], FACTS[name]["layers"])
    assert digest(model) == FACTS[name]["digest"]


def test_a_network_computes_and_learns():
    model = tf.keras.applications.MobileNetV2(input_shape=(32, 32, 3), alpha=0.35, weights=None, classes=3)
    x, y = np.random.default_rng(0).normal(size=(8, 32, 32, 3)).astype("float32"), np.arange(8) % 3
    assert np.allclose(model.predict(x, verbose=0).sum(axis=1), 1, atol=1e-5)
    model.compile("adam", "sparse_categorical_crossentropy")
    losses = model.fit(x, y, epochs=6, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_heads_pools_and_transfer():
    apps = tf.keras.applications
    assert apps.MobileNet(weights=None, input_shape=(32, 32, 3), alpha=0.25, classes=7).output_shape == (None, 7)
    assert apps.EfficientNetB0(weights=None, input_shape=(32, 32, 3), classes=4).layers[-1].name == "predictions"
    base = apps.MobileNetV2(weights=None, include_top=False, input_shape=(96, 96, 3), alpha=0.35, pooling="max")
    base.trainable = False
    inputs = tf.keras.Input((96, 96, 3))
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(2)(base(inputs, training=False)))
    assert [w.shape[-1] for w in model.trainable_weights] == [2, 2] and base.output_shape == (None, 1280)
    assert apps.MobileNet(weights=None, include_top=False, alpha=0.25).output_shape == (None, None, None, 256)
    drawn = tf.keras.layers.Rescaling(2.0)(inputs)
    assert apps.MobileNet(weights=None, include_top=False, alpha=0.25, input_tensor=drawn).layers[1].name.startswith("rescaling")


def test_weights_come_from_a_file(tmp_path):
    build = lambda weights: tf.keras.applications.MobileNet(weights=weights, include_top=False, input_shape=(32, 32, 3), alpha=0.25)  # noqa: E731
    first = build(None)
    first.save_weights(tmp_path / "net.weights.h5")
    second = build(str(tmp_path / "net.weights.h5"))
    assert all(np.array_equal(a, b) for a, b in zip(first.get_weights(), second.get_weights()))


def test_mistakes_are_named():
    apps = tf.keras.applications
    with pytest.raises(ValueError, match="`weights` argument should be"):
        apps.VGG16(weights="nothing")
    with pytest.raises(ValueError, match="`classes` should be 1000"):
        apps.ResNet50(classes=10)
    with pytest.raises(ValueError, match="at least 75x75"):
        apps.InceptionV3(weights=None, input_shape=(32, 32, 3))
    with pytest.raises(AttributeError, match="(?i)did you mean .*resnet50"):
        apps.ResNet51


def test_pictures_are_prepared_as_keras_does():
    apps = tf.keras.applications
    x = np.array([[[[0, 127.5, 255]]]], "float32")
    assert apps.mobilenet_v2.preprocess_input(x).tolist() == [[[[-1, 0, 1]]]]
    assert np.allclose(apps.vgg16.preprocess_input(x), [[[[255 - 103.939, 127.5 - 116.779, -123.68]]]])
    torch = apps.imagenet_utils.preprocess_input(x, mode="torch")
    assert np.allclose(torch, [[[[-0.485 / 0.229, (0.5 - 0.456) / 0.224, (1 - 0.406) / 0.225]]]], atol=1e-6)
    for mode in ("tf", "caffe", "torch"):
        tensors = apps.imagenet_utils.preprocess_input(tf.constant(x), mode=mode)
        assert np.allclose(tensors.numpy(), apps.imagenet_utils.preprocess_input(x.astype("uint8") * 0 + x, mode=mode), atol=1e-5)
        first = apps.imagenet_utils.preprocess_input(np.moveaxis(x, -1, 1), "channels_first", mode)
        assert np.allclose(np.moveaxis(first, 1, -1), apps.imagenet_utils.preprocess_input(x, mode=mode), atol=1e-5)
    assert apps.efficientnet.preprocess_input(x) is x
    with pytest.raises(ValueError, match="caffe"):
        apps.imagenet_utils.preprocess_input(x, mode="other")
    with pytest.raises(ValueError, match="2D array"):
        apps.imagenet_utils.decode_predictions(np.zeros((2, 3)))
