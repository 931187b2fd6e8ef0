"""Boxes, colours, edges and changes by chance of tf.image, and ImageDataGenerator."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow.keras.preprocessing.image import ImageDataGenerator, apply_affine_transform

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.uniform(size=(2, 9, 11, 3)).astype("float32")


def test_boxes_that_overlap_better_ones_are_left_out():
    boxes = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1]], "float32")
    scores = [0.9, 0.75, 0.6, 0.95, 0.5]
    assert tf.image.non_max_suppression(boxes, scores, 3).numpy().tolist() == [3, 0]
    assert tf.image.non_max_suppression(boxes, scores, 5, iou_threshold=0.9).numpy().tolist() == [3, 0, 1, 2, 4]
    assert tf.image.non_max_suppression(boxes, scores, 5, 0.9, 0.7).numpy().tolist() == [3, 0, 1]
    kept, count = tf.image.non_max_suppression_padded(boxes, scores, 4, pad_to_max_output_size=True)
    assert kept.numpy().tolist() == [3, 0, 0, 0] and count.numpy() == 2
    with pytest.raises(ValueError, match=r"\[n, 4\]"):
        tf.image.non_max_suppression([[1.0, 2.0]], [1.0], 3)


def test_frames_are_drawn_where_boxes_are():
    drawn = tf.image.draw_bounding_boxes(np.zeros((1, 11, 11, 3), "float32"), [[[0.1, 0.2, 0.5, 0.9]]], [[1.0, 0.0, 0.5]]).numpy()[0]
    assert drawn[1, 2:10].tolist() == [[1, 0, 0.5]] * 8 and drawn[1:6, 9, 0].tolist() == [1] * 5 and not drawn[2, 3:9].any()


def test_colours_in_other_systems_and_back():
    for there, back in [(tf.image.rgb_to_yuv, tf.image.yuv_to_rgb), (tf.image.rgb_to_yiq, tf.image.yiq_to_rgb)]:
        changed = there(IMAGES)
        np.testing.assert_allclose(changed.numpy()[..., 0], IMAGES @ [0.299, 0.587, 0.114], rtol=1e-5)
        np.testing.assert_allclose(back(changed), IMAGES, atol=3e-4)  # TensorFlow rounds the way back of YIQ
    np.testing.assert_allclose(tf.image.adjust_gamma(IMAGES, 2, 0.5), 0.5 * IMAGES**2, rtol=1e-5)
    with pytest.raises(ValueError, match="non-negative"):
        tf.image.adjust_gamma(IMAGES, -1)


def test_hue_and_saturation_of_wide_integers_are_tensorflows():
    picture = tf.constant([[[214, 63, 66]], [[247, 209, 62]], [[185, 33, 25]], [[175, 10, 240]], [[215, 205, 85]], [[163, 96, 49]]])
    moved = [[[90, 63, 214]], [[246, 62, 247]], [[65, 25, 185]], [[10, 240, 221]], [[215, 85, 199]], [[118, 49, 163]]]
    assert tf.image.adjust_hue(picture, -0.3).numpy().tolist() == moved
    picture = tf.constant([[[105, 235, 63]], [[182, 170, 52]], [[154, 51, 199]], [[21, 110, 35]]])
    paler = [[[170, 235, 149]], [[182, 176, 117]], [[176, 125, 199]], [[65, 110, 72]]]
    assert tf.image.adjust_saturation(picture, 0.5).numpy().tolist() == paler
    largest = tf.constant(255 * np.ones([1, 1, 3]), tf.uint8)
    assert tf.image.adjust_hue(largest, 0.4).numpy().tolist() == [[[255, 255, 255]]]


def test_edges():
    slope = np.tile(np.arange(5.0)[:, None], [1, 6])[None, :, :, None].astype("float32")
    edges = tf.image.sobel_edges(slope).numpy()
    assert edges.shape == (1, 5, 6, 1, 2) and (edges[0, 1:-1, :, 0, 0] == 8).all() and not edges[..., 1].any()
    dy, dx = tf.image.image_gradients(slope)
    assert (dy.numpy()[0, :-1] == 1).all() and not dy.numpy()[0, -1].any() and not dx.numpy().any()


def test_changes_by_chance_depend_on_the_seed_only():
    image = IMAGES[0]
    changes = [
        lambda seed: tf.image.stateless_random_brightness(image, 0.3, seed), lambda seed: tf.image.stateless_random_contrast(image, 0.5, 1.5, seed),
        lambda seed: tf.image.stateless_random_saturation(image, 0.5, 1.5, seed), lambda seed: tf.image.stateless_random_hue(image, 0.3, seed),
        lambda seed: tf.image.stateless_random_crop(image, (4, 5, 3), seed), lambda seed: tf.image.stateless_random_flip_left_right(image, seed),
        lambda seed: tf.image.stateless_random_flip_up_down(image, seed),
    ]  # fmt: skip
    for change in changes:
        results = [change((seed, 7)).numpy() for seed in range(12)]
        assert np.array_equal(results[3], change((3, 7)).numpy()) and any(not np.array_equal(results[0], other) for other in results)
    crop = tf.image.stateless_random_crop(image, (4, 5, 3), (1, 2)).numpy()
    assert any(np.array_equal(crop, image[y : y + 4, x : x + 5]) for y in range(6) for x in range(7))
    with pytest.raises(ValueError, match="Need value.shape >= size"):
        tf.image.stateless_random_crop(image, (40, 5, 3), (1, 2))


def test_the_first_that_is_true():
    assert tf.argmax(tf.constant("b") == np.array(["a", "b", "b"])).numpy() == 1


def test_a_generator_changes_arrays_batch_by_batch():
    x, y = RANDOM.uniform(0, 255, (20, 8, 8, 3)), np.arange(20)
    generator = ImageDataGenerator(rescale=1 / 255, rotation_range=20, width_shift_range=0.2, height_shift_range=2, zoom_range=0.1, shear_range=5,
                                   horizontal_flip=True, brightness_range=(0.8, 1.0), validation_split=0.25)  # fmt: skip
    training = generator.flow(x, y, batch_size=4, subset="training", seed=1)
    assert len(training) == 4 and len(generator.flow(x, y, subset="validation")) == 1
    pictures, labels = next(training)
    assert pictures.shape == (4, 8, 8, 3) and 0 <= pictures.min() and pictures.max() <= 1 and set(labels) <= set(range(5, 20))
    assert np.array_equal(next(generator.flow(x, y, batch_size=4, seed=3))[0], next(generator.flow(x, y, batch_size=4, seed=3))[0])
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert len(model.fit(training, epochs=2, verbose=0).history["loss"]) == 2
    plain = ImageDataGenerator(featurewise_center=True)
    with pytest.raises(ValueError, match="call fit"):
        next(plain.flow(x))
    plain.fit(x)
    assert abs(next(plain.flow(x, batch_size=20)).mean()) < 1e-3
    with pytest.raises(NotImplementedError, match="zca_whitening"):
        ImageDataGenerator(zca_whitening=True)


def test_a_generator_reads_folders(tmp_path, capsys):
    for name in ("cats", "dogs"):
        (tmp_path / name).mkdir()
        for i in range(3):
            tf.keras.utils.save_img(tmp_path / name / f"{i}.png", RANDOM.uniform(0, 255, (6, 7, 3)))
    batches = ImageDataGenerator().flow_from_directory(tmp_path, target_size=(5, 4), batch_size=6, class_mode="binary", shuffle=False)
    pictures, labels = next(batches)
    assert pictures.shape == (6, 5, 4, 3) and labels.tolist() == [0, 0, 0, 1, 1, 1] and batches.class_indices == {"cats": 0, "dogs": 1}
    assert "Found 6 images belonging to 2 classes." in capsys.readouterr().out


def test_pictures_turn_and_move_around_their_middle():
    picture = np.zeros((5, 5, 1), "float32")
    picture[1, 2] = 1
    turned = apply_affine_transform(picture, theta=90)
    assert np.argwhere(turned[..., 0] > 0.5).tolist() in ([[2, 1]], [[2, 3]])
    moved = apply_affine_transform(picture, tx=1, ty=-1)
    assert np.argwhere(moved[..., 0] > 0.5).tolist() == [[0, 3]]
    assert np.array_equal(apply_affine_transform(picture), picture)
