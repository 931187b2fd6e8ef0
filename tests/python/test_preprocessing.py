"""Preprocessing layers: vocabularies, fingerprints and texts as Keras 3.15 has them, random images, use in datasets."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import keras
from tandemflow.keras import layers

TEXTS = ["The cat sat on the mat.", "the dog! sat"]


def test_strings_fall_into_the_bins_of_keras():
    texts = tf.constant([["a", "", "hello world"], ["x" * 20, "y" * 40, "z" * 100]])
    assert layers.Hashing(1000)(texts).numpy().tolist() == [[939, 263, 11], [348, 6, 73]]
    assert layers.Hashing(1000)(tf.constant([5, -3, 123456789])).numpy().tolist() == [971, 699, 306]
    assert layers.Hashing(7, mask_value="a")(tf.constant(["a", "b", "c"])).numpy().tolist() == [0, 5, 5]
    assert layers.Hashing(3, output_mode="one_hot")(tf.constant([["a"]])).shape == (1, 3)


def test_crossed_features_fall_into_the_bins_of_keras():
    assert layers.HashedCrossing(1000)([tf.constant(["a", "b"]), tf.constant(["c", "d"])]).numpy().tolist() == [566, 454]
    assert layers.HashedCrossing(1000)([tf.constant([1, 2]), tf.constant([3, -4])]).numpy().tolist() == [651, 542]


def test_texts_become_places_in_the_vocabulary():
    layer = layers.TextVectorization()
    layer.adapt(TEXTS)
    assert layer.get_vocabulary() == ["", "[UNK]", "the", "sat", "on", "mat", "dog", "cat"]
    assert layer(["the cat ran", "dog"]).numpy().tolist() == [[2, 7, 1], [6, 0, 0]]
    short = layers.TextVectorization(output_sequence_length=2, vocabulary=["the", "cat"])
    assert short(tf.constant([["the cat ran"], ["dog"]])).numpy().tolist() == [[2, 3], [1, 0]]
    assert short(tf.constant("cat")).numpy().tolist() == [3, 0]


@pytest.mark.parametrize(
    "mode, expected",
    [
        ("count", [[2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]]),
        ("multi_hot", [[1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]]),
        ("tf_idf", [[1.3301955, 0.5108256, 0, 0, 0, 0.6931472, 0, 0, 0, 0, 0, 0, 0, 0.6931472],
                    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.6931472, 0, 0]]),
    ],
)  # fmt: skip
def test_texts_become_counts_of_words_and_pairs(mode, expected):
    layer = layers.TextVectorization(output_mode=mode, ngrams=2)
    layer.adapt(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2))
    assert layer.get_vocabulary() == ["[UNK]", "the", "sat", "the mat", "the dog", "the cat", "sat on", "on the", "on", "mat", "dog sat", "dog", "cat sat", "cat"]
    np.testing.assert_allclose(layer(["the cat ran", "dog"]).numpy(), expected, rtol=1e-6)
    assert layer(["", "dog"]).numpy()[0].tolist() == [0] * 14


def test_lookups_find_places_and_the_way_back():
    layer = layers.StringLookup(num_oov_indices=3)
    layer.adapt(np.array([["b", "a"], ["b", "c"]]))
    assert layer.get_vocabulary() == ["[UNK]"] * 3 + ["b", "c", "a"]
    assert layer(tf.constant(["a", "zz", "b", "q"])).numpy().tolist() == [5, 1, 3, 2]
    back = layers.StringLookup(vocabulary=layer.get_vocabulary(include_special_tokens=False), invert=True)
    assert back(tf.constant([1, 3, 0, 99])).numpy().tolist() == [b"b", b"a", b"[UNK]", b"[UNK]"]
    weighed = layers.StringLookup(vocabulary=["a", "b"], output_mode="tf_idf", idf_weights=[0.5, 0.25])
    assert weighed(tf.constant([["a", "zz", "a"]])).numpy().tolist() == [[0.375, 1.0, 0.0]]


def test_a_vocabulary_comes_from_a_file_and_goes_into_one(tmp_path):
    (tmp_path / "words.txt").write_text("x\ny\n")
    assert layers.StringLookup(vocabulary=str(tmp_path / "words.txt")).get_vocabulary() == ["[UNK]", "x", "y"]
    layer = layers.TextVectorization()
    layer.adapt(TEXTS)
    layer.save_assets(tmp_path)
    again = layers.deserialize(layers.serialize(layer))
    again.load_assets(tmp_path)
    assert again.get_vocabulary() == layer.get_vocabulary()


def test_bad_vocabularies_are_refused():
    with pytest.raises(ValueError, match="repeated terms are: \\['a'\\]"):
        layers.StringLookup(vocabulary=["a", "a"])
    with pytest.raises(ValueError, match="vocabulary size is 3, max_tokens is 2"):
        layers.StringLookup(vocabulary=["a", "b"], max_tokens=2)
    with pytest.raises(ValueError, match="in vocabulary, found OOV values \\['zz'\\]"):
        layers.StringLookup(vocabulary=["a"], num_oov_indices=0)(tf.constant(["zz"]))


def test_normalization_learns_mean_and_variance():
    data = np.random.RandomState(0).normal(3, 2, (100, 3)).astype(np.float32)
    for source in (data, tf.constant(data), tf.data.Dataset.from_tensor_slices(data).batch(32), tf.data.Dataset.from_tensor_slices(data)):
        layer = layers.Normalization()
        layer.adapt(source)
        out = layer(data).numpy()
        np.testing.assert_allclose(out.mean(0), 0, atol=1e-5)
        np.testing.assert_allclose(out.std(0), 1, rtol=1e-4)
    assert [v.name.split(":")[0] for v in layer.weights] == ["mean", "variance", "count"]


def test_bins_learnt_from_data_are_equally_full():
    layer = layers.Discretization(num_bins=4)
    layer.adapt(np.arange(10.0))
    np.testing.assert_allclose(layer.bin_boundaries, [1.5, 4.0, 6.5], rtol=1e-5)
    assert layer(np.array([[0.0, 2.0, 5.0, 9.0]])).numpy().tolist() == [[0, 1, 2, 3]]


def test_layers_of_strings_know_their_shapes_in_models():
    x = keras.Input((1,), dtype="string")
    assert layers.StringLookup(vocabulary=["a"])(x).shape == (None, 1)
    assert layers.StringLookup(vocabulary=["a"], output_mode="multi_hot")(x).shape == (None, 2)
    assert layers.TextVectorization(vocabulary=["a"], output_sequence_length=7)(x).shape == (None, 7)
    model = keras.Model(x, layers.Embedding(4, 3)(layers.StringLookup(vocabulary=["a", "b"])(x)))
    assert model(tf.constant([["a"], ["zz"]])).shape == (2, 1, 3)


# --- Images ---


def test_flips_are_drawn_for_each_image():
    tf.random.set_seed(1)
    images = np.arange(64 * 12, dtype=np.float32).reshape(64, 2, 2, 3)
    out = layers.RandomFlip("horizontal")(images).numpy()
    same, flipped = (out == images).all((1, 2, 3)), (out == images[:, :, ::-1]).all((1, 2, 3))
    assert (same | flipped).all() and 15 < flipped.sum() < 49
    np.testing.assert_array_equal(layers.RandomFlip("vertical")(images, training=False).numpy(), images)
    one = layers.RandomFlip("vertical")(images[0]).numpy()
    assert (one == images[0]).all() or (one == images[0, ::-1]).all()


def test_crops_lie_inside_and_move():
    tf.random.set_seed(1)
    image = np.arange(8 * 9, dtype=np.float32).reshape(1, 8, 9, 1)
    layer = layers.RandomCrop(3, 4)
    corners = set()
    for _ in range(20):
        out = layer(image).numpy()[0, :, :, 0]
        row, column = divmod(int(out[0, 0]), 9)
        np.testing.assert_array_equal(out, image[0, row : row + 3, column : column + 4, 0])
        corners.add((row, column))
    assert len(corners) > 8
    assert layer(image, training=False).shape == (1, 3, 4, 1)


def test_contrast_and_brightness_stay_in_the_range():
    tf.random.set_seed(1)
    images = np.random.RandomState(0).uniform(0, 255, (16, 4, 4, 3)).astype(np.float32)
    out = layers.RandomContrast((0.5, 0.5))(images).numpy()
    assert out.min() >= 0 and out.max() <= 255
    ratio = (out - images.mean((1, 2), keepdims=True)) / (images - images.mean((1, 2), keepdims=True))
    inside = (out > 0) & (out < 255)
    for i in range(16):
        values = ratio[i][inside[i]]
        assert np.ptp(values) < 0.05 and 0.49 < values.mean() < 1.51
    bright = layers.RandomBrightness(0.5)(images).numpy()
    assert bright.min() >= 0 and bright.max() <= 255 and np.abs(bright - images).max() > 10


def test_layers_are_functions_of_datasets():
    data = np.arange(5 * 4 * 4 * 1, dtype=np.float32).reshape(5, 4, 4, 1)
    pipeline = keras.Sequential([layers.Rescaling(1 / 255), layers.Resizing(2, 2)])
    out = list(tf.data.Dataset.from_tensor_slices(data).batch(2).map(lambda x: pipeline(x)))
    assert [tuple(x.shape) for x in out] == [(2, 2, 2, 1), (2, 2, 2, 1), (1, 2, 2, 1)]
    np.testing.assert_allclose(out[0].numpy(), pipeline(data[:2]).numpy(), rtol=1e-6)
    words = layers.StringLookup(vocabulary=["a", "b"])
    found = [x.numpy().tolist() for x in tf.data.Dataset.from_tensor_slices(np.array([b"a", b"c", b"b"])).batch(3).map(words)]
    assert found == [[1, 0, 2]]


def test_random_layers_draw_anew_for_every_batch_of_a_dataset():
    tf.random.set_seed(2)
    data = np.tile(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1), (40, 1, 1, 1))
    flip = layers.RandomFlip("horizontal")
    out = np.concatenate([x.numpy() for x in tf.data.Dataset.from_tensor_slices(data).batch(4).map(lambda x: flip(x, training=True))])
    flipped = (out == data[:, :, ::-1]).all((1, 2, 3))
    assert 8 < flipped.sum() < 32
    assert len({tuple(row) for row in flipped.reshape(10, 4).tolist()}) > 3


def test_augmentation_trains_inside_of_a_model():
    model = keras.Sequential([keras.Input((8, 8, 1)), layers.RandomFlip(), layers.RandomRotation(0.1), layers.RandomZoom(0.1), layers.RandomTranslation(0.1, 0.1), layers.Flatten(), layers.Dense(2)])
    model.compile("sgd", "mse")
    x = np.random.RandomState(0).uniform(0, 1, (8, 8, 8, 1)).astype(np.float32)
    history = model.fit(x, np.zeros((8, 2), np.float32), epochs=2, batch_size=4, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    np.testing.assert_array_equal(model.predict(x, verbose=0), model.predict(x, verbose=0))


def test_layers_of_words_run_inside_traced_functions():
    layers = tf.keras.layers
    words, more = tf.constant(["a", "q"]), tf.constant(["x", "y"])
    lookup, cross, vectors = layers.StringLookup(vocabulary=["a", "b"]), layers.HashedCrossing(5), layers.TextVectorization(output_sequence_length=3)
    vectors.adapt(["a q", "q x"])

    @tf.function
    def traced(words, more):
        return lookup(words), cross([words, more]), vectors(words)

    for got, expected in zip(traced(words, more), (lookup(words), cross([words, more]), vectors(words))):
        np.testing.assert_array_equal(got, expected)


def test_numbers_are_hashed_by_a_model():
    start = tf.keras.Input((2,), dtype="int64")
    model = tf.keras.Model(start, tf.keras.layers.Hashing(7)(start))
    numbers = np.array([[1, 2], [30, 4]])
    np.testing.assert_array_equal(model.predict(numbers, verbose=0), tf.keras.layers.Hashing(7)(numbers))


def test_mask_tokens_count_for_nothing_where_categories_are_encoded():
    layer = layers.IntegerLookup(vocabulary=[12, 36], mask_token=0, output_mode="count")
    np.testing.assert_array_equal(layer(tf.constant([[12, 0, 0, 7]])).numpy(), [[1, 1, 0]])


def test_numbers_outside_the_vocabulary_are_refused_where_there_is_no_place_for_them():
    with pytest.raises(tf.errors.InvalidArgumentError, match="found OOV values \\[7\\]"):
        layers.IntegerLookup(vocabulary=[12], num_oov_indices=0)(tf.constant([12, 7]))


def test_without_splitting_a_row_of_words_is_one_sample():
    layer = layers.TextVectorization(split=None, output_mode="count", vocabulary=["a", "b"])
    np.testing.assert_array_equal(layer(tf.constant(["a", "b", "a!", "c"])).numpy(), [1, 2, 1])


def test_lookups_give_whole_numbers_except_for_weights_as_in_keras():
    made = [
        (lambda **kw: layers.StringLookup(vocabulary=["a", "b"], **kw), ["a", "z"]),
        (lambda **kw: layers.IntegerLookup(vocabulary=[3, 4], **kw), [3, 9]),
        (lambda **kw: layers.TextVectorization(vocabulary=["a", "b"], **kw), ["a", "z b"]),
    ]
    for make, values in made:
        for mode, dtype in [("int", "int64"), ("one_hot", "int64"), ("multi_hot", "int64"), ("count", "int64"), ("tf_idf", "float32")]:
            layer = make(output_mode=mode, **({"idf_weights": [0.5, 0.6]} if mode == "tf_idf" else {}))
            if mode == "one_hot" and isinstance(layer, layers.TextVectorization):
                continue  # one sample has several words
            assert layer(tf.constant(values)).dtype == dtype, (layer, mode)
            assert next(iter(tf.data.Dataset.from_tensors(values).map(layer))).dtype == dtype, (layer, mode)
            symbolic = layer(keras.Input((1,), dtype="int64" if isinstance(values[0], int) else "string"))
            assert symbolic.dtype == ("int64" if mode == "int" else "float32")  # what Keras announces


def test_encoded_lookups_mix_with_floats_in_a_model():
    words, numbers = keras.Input((1,), dtype="int64"), keras.Input((2,))
    hot = layers.IntegerLookup(vocabulary=[1, 2], output_mode="one_hot")(words)
    joined = layers.Concatenate()([hot, numbers])
    model = keras.Model([words, numbers], [joined, layers.Dense(1, kernel_initializer="ones")(joined)])
    joined, dense = model([tf.constant([[2], [7]]), tf.constant([[0.5, 1.0], [2.0, 3.0]])])
    np.testing.assert_array_equal(joined, [[0, 0, 1, 0.5, 1], [1, 0, 0, 2, 3]])
    np.testing.assert_array_equal(dense, [[2.5], [6]])
