"""tf.image: what chance decides, what is refused, and pictures inside traced functions."""
import numpy as np
import pytest

import tandemflow as tf

PICTURE = tf.constant(np.arange(4 * 5 * 3, dtype=np.float32).reshape(4, 5, 3) / 60)


def test_random_flips_flip_about_half_of_a_batch():
    batch = tf.tile(PICTURE[None], [200, 1, 1, 1])
    flipped = tf.image.random_flip_left_right(batch, seed=3).numpy()
    changed = sum(not np.array_equal(picture, PICTURE.numpy()) for picture in flipped)
    assert 60 < changed < 140
    for picture in flipped:
        assert any(np.array_equal(picture, wanted) for wanted in (PICTURE.numpy(), PICTURE.numpy()[:, ::-1]))


def test_random_crops_are_parts_of_the_picture():
    whole = PICTURE.numpy()
    parts = {whole[y : y + 2, x : x + 3].tobytes() for y in range(3) for x in range(3)}
    seen = {tf.image.random_crop(PICTURE, [2, 3, 3]).numpy().tobytes() for _ in range(60)}
    assert seen <= parts and len(seen) > 4
    with pytest.raises(ValueError, match="does not fit"):
        tf.image.random_crop(PICTURE, [5, 5, 3])


def test_random_adjustments_stay_in_their_range():
    for _ in range(20):
        moved = (tf.image.random_brightness(PICTURE, 0.2) - PICTURE).numpy()
        assert np.ptp(moved) < 1e-5 and abs(moved).max() <= 0.2
        mean = PICTURE.numpy().mean((0, 1))
        ratio = (tf.image.random_contrast(PICTURE, 0.5, 0.9).numpy() - mean)[0, 0] / (PICTURE.numpy() - mean)[0, 0]
        assert ((ratio > 0.49) & (ratio < 0.91)).all()
    for function in (tf.image.random_contrast, tf.image.random_saturation):
        with pytest.raises(ValueError, match="lower < upper"):
            function(PICTURE, 0.9, 0.5)


def test_pictures_in_traced_functions():
    @tf.function
    def prepared(picture):
        return tf.image.random_flip_left_right(tf.image.resize(picture, [8, 8]) / 2.0)

    assert prepared(PICTURE).shape == (8, 8, 3)
    crops = tf.function(lambda x: tf.image.crop_and_resize(x, [[0.0, 0.0, 1.0, 1.0]], [0], [4, 5]))
    np.testing.assert_allclose(crops(PICTURE[None])[0], PICTURE, atol=1e-6)


def test_what_is_refused():
    with pytest.raises(ValueError, match="height, width, channels"):
        tf.image.resize(tf.ones([3, 3]), [2, 2])
    with pytest.raises(ValueError, match="positive"):
        tf.image.resize(PICTURE, [0, 2])
    with pytest.raises(tf.errors.UnimplementedError, match="'bilinear'"):
        tf.image.resize(PICTURE, [2, 2], "sharp")
    with pytest.raises(ValueError, match="do not lie inside"):
        tf.image.crop_to_bounding_box(PICTURE, 3, 0, 2, 2)
    with pytest.raises(ValueError, match="boxes"):
        tf.image.crop_and_resize(PICTURE[None], [[0.0, 0.0, 1.0]], [0], [2, 2])
    with pytest.raises(ValueError, match="three channels"):
        tf.image.rgb_to_hsv(tf.ones([2, 2, 4]))
    with pytest.raises(tf.errors.UnimplementedError, match="'SAME' or 'VALID'"):
        tf.nn.conv3d(tf.ones([1, 2, 2, 2, 1]), tf.ones([1, 1, 1, 1, 1]), 1, [[0, 0]] * 5)


def two_batches():
    numbers = np.arange(2 * 16 * 18 * 3).reshape(2, 16, 18, 3)
    return (numbers * 37 % 101 / 100).astype("float32"), (numbers * 53 % 97 / 96).astype("float32")


def test_structures_are_compared_as_tensorflow_does():
    a, b = two_batches()
    assert np.allclose(tf.image.ssim(a, b, 1.0), [-0.04910776, 0.05006618], atol=1e-5)
    assert np.allclose(tf.image.ssim(a, a, 1.0), 1)
    other = tf.image.ssim(a, b, 1.0, filter_size=7, filter_sigma=1.0, k1=0.02, k2=0.05)
    assert np.allclose(other, [-0.00740547, 0.06366088], atol=1e-5)
    bytes_of = [(x * 255).astype("uint8") for x in (a, b)]
    assert np.allclose(tf.image.ssim(*bytes_of, 255), [-0.04910925, 0.05022312], atol=1e-5)
    assert tf.image.ssim(a[0], b[0], 1.0).shape == () and tf.image.ssim(a, b, 1.0, return_index_map=True).shape == (2, 6, 8)
    with pytest.raises(ValueError, match="smaller than the filter"):
        tf.image.ssim(a[:, :5], b[:, :5], 1.0)


def test_patches_are_windows_of_pixels():
    a, _ = two_batches()
    for arguments, shape, total in [
        (((1, 3, 3, 1), (1, 5, 5, 1), (1, 1, 1, 1), "VALID"), (2, 3, 4, 27), 2262.4899069797248),
        (((1, 2, 3, 1), (1, 2, 2, 1), (1, 2, 1, 1), "SAME"), (2, 8, 9, 18), 8044.85036011599),
    ]:
        patches = tf.image.extract_patches(a, *arguments).numpy()
        assert patches.shape == shape and np.allclose((patches * np.arange(patches.size).reshape(shape) % 7).sum(), total)
    with pytest.raises(ValueError, match="rows, columns"):
        tf.image.extract_patches(a, (3, 3), (1, 1, 1, 1), (1, 1, 1, 1), "VALID")
