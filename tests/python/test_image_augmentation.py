"""Layers that change colours, mix and erase images: with fixed factors they give Keras' values, with others they stay in range."""
import numpy as np
import pytest
import tandemflow as tf

L = tf.keras.layers
IMAGES = np.random.RandomState(0).randint(0, 256, (3, 6, 5, 3)).astype("float32")
SMALL = IMAGES / 255

# Of Keras 3.15: the layer, its images, the sum of what it gives, pixel [0, 2, 1] and the last pixel.
CASES = {
    "saturation": (lambda: L.RandomSaturation((0.3, 0.3)), IMAGES, 41365, [228, 243, 223.286], [166, 142.429, 134.714]),
    "more_saturation": (lambda: L.RandomSaturation((0.7, 0.7)), IMAGES, 11504, [161.333, 243, 135.667], [166, 37.667, -4.333]),
    "degeneration": (lambda: L.RandomColorDegeneration((0.4, 0.4)), IMAGES, 32348, [215.708, 236.708, 209.108], [149.751, 116.751, 105.951]),
    "blurred": (lambda: L.RandomSharpness((0.2, 0.2)), IMAGES, 29515, [174.585, 195.646, 179.554], [129.215, 94.385, 80.585]),
    "sharpened": (lambda: L.RandomSharpness((0.9, 0.9)), IMAGES, 35386, [252.554, 255, 220.262], [215.046, 133.154, 109.554]),
    "posterized": (lambda: L.RandomPosterization((2, 2), value_range=(0, 1)), SMALL, 95, [0.753] * 3, [0.502, 0.251, 0.251]),
    "inverted": (lambda: L.RandomInvert((1.0, 1.0)), IMAGES, 36443, [47, 12, 58], [89, 144, 162]),
    "gaussian": (lambda: L.RandomGaussianBlur((1.0, 1.0), 3, (0.9, 0.9)), IMAGES, 26926, [138.039, 151.786, 157.982], [91.584, 77.16, 66.38]),
    "grey": (lambda: L.RandomGrayscale(1.0), IMAGES, 32260, [227.27] * 3, [125.376] * 3),
    "solarized": (lambda: L.Solarization(0.0, 0.0), IMAGES, 36443, [47, 12, 58], [89, 144, 162]),
    "contrast": (lambda: L.AutoContrast(), IMAGES, 33132, [207.122, 243.551, 199.92], [185.044, 110.602, 87.125]),
    "small_contrast": (lambda: L.AutoContrast((0, 1)), IMAGES / 300, 130, [0.812, 0.955, 0.784], [0.726, 0.434, 0.342]),
    "equalized": (lambda: L.Equalization(), IMAGES, 34574, [232, 241, 215], [183, 132, 89]),
    "bins": (lambda: L.Equalization(bins=64), IMAGES, 34493, [231, 246, 214], [181, 135, 87]),
    "small_equalized": (lambda: L.Equalization((0, 1)), SMALL, 136, [0.91, 0.945, 0.843], [0.718, 0.518, 0.349]),
    "hue": (lambda: L.RandomHue((1.0, 1.0)), IMAGES, 31832, [232, 197, 243], [93, 148, 166]),
    "shear": (lambda: L.RandomShear((0.0, 0.0), (0.0, 0.0)), IMAGES, 32407, [208, 243, 197], [166, 111, 93]),
    "jitter": (lambda: L.RandomColorJitter(saturation_factor=(0.3, 0.3), contrast_factor=(0.0, 0.0)), IMAGES, 41365, [228, 243, 223.286], [166, 142.429, 134.714]),
    "erased": (lambda: L.RandomErasing((1.0, 1.0), (1.0, 1.0), 7.0), IMAGES, 1890, [7] * 3, [7] * 3),
}


@pytest.mark.parametrize("name", CASES)
def test_fixed_factors_give_keras_values(name):
    make, images, total, early, last = CASES[name]
    out = make()(images, training=True).numpy()
    assert out.shape == images.shape and out.dtype == np.float32
    np.testing.assert_allclose([*out[0, 2, 1], *out[-1, -1, -1]], [*early, *last], atol=6e-4)
    assert abs(out.astype("float64").sum() - total) < 0.6
    single = make()(images[0], training=True)
    assert single.shape == images.shape[1:]
    again = L.deserialize(L.serialize(make()))
    np.testing.assert_allclose(again(images, training=True).numpy(), out, atol=1e-3)  # a half turn of the hue goes either way


RANDOM = [
    lambda: L.RandomHue(0.3), lambda: L.RandomSharpness(1.0), lambda: L.RandomPosterization(8), lambda: L.RandomInvert(1.0),
    lambda: L.RandomGaussianBlur(1.0), lambda: L.RandomShear(0.5, 0.5), lambda: L.Solarization(1.0, 1.0), lambda: L.RandAugment(num_ops=3, factor=1.0),
    lambda: L.MixUp(0.5), lambda: L.CutMix(1.0), lambda: L.RandomErasing(1.0), lambda: L.RandomColorJitter(brightness_factor=0.5, hue_factor=0.5),
]  # fmt: skip


@pytest.mark.parametrize("make", RANDOM)
def test_random_factors_stay_in_range_and_do_nothing_without_training(make):
    layer = make()
    for _ in range(4):
        out = layer(IMAGES, training=True).numpy()
        assert out.shape == IMAGES.shape and out.min() >= -1e-3 and out.max() <= 255.01
    np.testing.assert_array_equal(layer(IMAGES, training=False).numpy(), IMAGES)
    batches = tf.data.Dataset.from_tensor_slices(IMAGES).batch(2).map(lambda x: layer(x, training=True))
    assert [batch.shape[0] for batch in batches] == [2, 1]


def test_labels_are_mixed_as_the_images_are():
    images, labels = np.stack([np.full((8, 8, 3), v, "float32") for v in (0, 100, 200)]), np.eye(3, dtype="float32")
    for layer in (L.MixUp(2.0, seed=1), L.CutMix(1.0, seed=3)):
        for _ in range(5):
            out = layer({"images": images, "labels": labels}, training=True)
            mixed, shares = out["images"].numpy(), out["labels"].numpy()
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
            if isinstance(layer, L.MixUp):  # a box has whole pixels, so its share of an image is not exact
                np.testing.assert_allclose(mixed.mean(axis=(1, 2, 3)), shares @ [0, 100, 200], atol=1e-3)
            assert all(np.isin(np.unique(image), [0, 100, 200]).all() for image in mixed) or isinstance(layer, L.MixUp)
    with pytest.raises(ValueError, match="one-hot.*to_categorical"):
        L.MixUp()({"images": images, "labels": np.arange(3)}, training=True)
    with pytest.raises(NotImplementedError, match="bounding_boxes"):
        L.CutMix()({"images": images, "bounding_boxes": 1}, training=True)


def test_models_train_with_augmentation_inside():
    model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), L.RandAugment(num_ops=1), L.RandomErasing(0.5), L.Flatten(), L.Dense(2)])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = np.random.default_rng(0).uniform(0, 1, (4, 8, 8, 3)).astype("float32")
    assert np.isfinite(model.fit(x, np.array([0, 1, 0, 1]), epochs=2, verbose=0).history["loss"]).all()
    np.testing.assert_array_equal(model.predict(x, verbose=0), model.predict(x, verbose=0))


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: L.RandomHue(2.0), "factor.*range.*2.0"),
        (lambda: L.RandomSharpness((0.1, 0.2, 0.3)), "list of two numbers"),
        (lambda: L.RandomErasing(fill_value=(1, 2)), "three numbers"),
        (lambda: L.RandomGaussianBlur(kernel_size=4), "odd number.*kernel_size=4"),
        (lambda: L.AutoContrast(5), "two numbers.*value_range=5"),
        (lambda: L.RandomGrayscale(1.5), "between 0 and 1.*1.5"),
        (lambda: L.RandomShear(-0.5), "x_factor.*range"),
    ],
)
def test_wrong_factors_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_shear_is_made_anew_from_its_configuration():
    layer = L.RandomShear(0.2, (0.0, 0.1))
    again = L.RandomShear.from_config(layer.get_config())
    assert (again.x_factor, again.y_factor) == (layer.x_factor, layer.y_factor) == ((-0.2, 0.2), (0.0, 0.1))
    with pytest.raises(ValueError, match="x_factor"):
        L.RandomShear((-0.3, 0.2))
