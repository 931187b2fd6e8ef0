"""keras.utils, keras.preprocessing, keras.datasets, keras.backend and keras.config."""
import hashlib
import io
import tarfile
import xml.etree.ElementTree as ElementTree

import keras_scenes
import numpy as np
import pytest
import tandemflow as tf
from PIL import Image
from tandemflow import keras

utils, layers = keras.utils, keras.layers


@pytest.fixture(autouse=True)
def keras_home(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


# --- Numbers ---


def test_classes_become_one_hot_rows():
    np.testing.assert_array_equal(utils.to_categorical([[0], [2]], 4), [[1, 0, 0, 0], [0, 0, 1, 0]])
    assert utils.to_categorical(np.zeros((2, 3), int)).shape == (2, 3, 1)
    assert isinstance(utils.to_categorical(tf.constant([1, 0])), tf.Tensor)
    with pytest.raises(IndexError, match="class 3 is out of range for num_classes=2"):
        utils.to_categorical([0, 3], 2)


def test_sequences_are_filled_and_cut_on_either_side():
    sequences = [[1], [2, 3], [4, 5, 6]]
    np.testing.assert_array_equal(utils.pad_sequences(sequences), [[0, 0, 1], [0, 2, 3], [4, 5, 6]])
    padded = keras.preprocessing.sequence.pad_sequences(sequences, 2, padding="post", truncating="post", value=-1)
    np.testing.assert_array_equal(padded, [[1, -1], [2, 3], [4, 5]])
    assert utils.pad_sequences([np.ones((2, 3)), np.ones((1, 3))], dtype="float32").shape == (2, 2, 3)
    assert utils.pad_sequences([["a"], ["b", "c"]], dtype=object, value="-").tolist() == [["-", "a"], ["b", "c"]]
    with pytest.raises(ValueError, match="Found non-iterable: 2"):
        utils.pad_sequences([[1], 2])


def test_normalize_divides_by_norms_and_leaves_zeros():
    np.testing.assert_allclose(utils.normalize([[3.0, 4.0], [0.0, 0.0]]), [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(utils.normalize([[1.0, 3.0]], order=1), [[0.25, 0.75]])


def test_one_seed_fixes_all_random_numbers():
    def draw():
        utils.set_random_seed(7)
        return [np.random.rand(), float(tf.random.uniform([])), keras.initializers.GlorotUniform()((2, 2)).numpy().tolist()]

    assert draw() == draw()
    with pytest.raises(ValueError, match="to be an integer. Received: seed=1.5"):
        utils.set_random_seed(1.5)


# --- Datasets ---


def test_windows_over_a_series():
    data = np.arange(10)
    batches = list(utils.timeseries_dataset_from_array(data, data * 10, 3, sequence_stride=2, sampling_rate=2, batch_size=2))
    np.testing.assert_array_equal(batches[0][0], [[0, 2, 4], [2, 4, 6]])
    np.testing.assert_array_equal(batches[0][1], [0, 20])
    np.testing.assert_array_equal(batches[1][0], [[4, 6, 8]])
    shuffled = utils.timeseries_dataset_from_array(data, None, 2, shuffle=True, seed=3, batch_size=None)
    assert sorted(int(window[0]) for window in shuffled) == list(range(9))
    with pytest.raises(ValueError, match="`sampling_rate` must be lower than the length of the data"):
        utils.timeseries_dataset_from_array(data, None, 2, sampling_rate=10)


def test_a_dataset_is_split_in_two():
    left, right = utils.split_dataset((np.arange(10), np.arange(10) * 2), left_size=0.7)
    assert [int(x) for x, _ in left] == list(range(7))
    assert [int(y) for _, y in right] == [14, 16, 18]
    left, right = utils.split_dataset(tf.data.Dataset.range(6), right_size=2, shuffle=True, seed=1)
    assert sorted([int(x) for x in left] + [int(x) for x in right]) == list(range(6))
    with pytest.raises(ValueError, match="At least one of"):
        utils.split_dataset([1, 2, 3])


def _image(path, colour, size=(6, 4)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


def test_images_of_folders_become_batches(tmp_path, capsys):
    for i in range(3):
        _image(tmp_path / "cats" / f"{i}.png", (10 * i, 0, 0))
        _image(tmp_path / "dogs" / f"{i}.png", (0, 200, 0))
    (tmp_path / "dogs" / "notes.txt").write_text("no image")
    dataset = utils.image_dataset_from_directory(tmp_path, image_size=(8, 8), batch_size=4, shuffle=False)
    assert capsys.readouterr().out == "Found 6 files belonging to 2 classes.\n"
    assert dataset.class_names == ["cats", "dogs"]
    assert [path[-10:] for path in dataset.file_paths[:2]] == ["cats/0.png", "cats/1.png"]
    images, labels = next(iter(dataset))
    assert images.shape == (4, 8, 8, 3) and images.dtype == tf.float32
    np.testing.assert_array_equal(labels, [0, 0, 0, 1])
    np.testing.assert_array_equal(images[2, 0, 0], [20, 0, 0])

    parts = utils.image_dataset_from_directory(
        tmp_path, label_mode="categorical", validation_split=0.5, subset="both", seed=1, image_size=(2, 2)
    )
    assert "Using 3 files for training.\nUsing 3 files for validation.\n" in capsys.readouterr().out
    assert sorted(parts[0].file_paths + parts[1].file_paths) == sorted(dataset.file_paths)
    assert next(iter(parts[0]))[1].shape == (3, 2)
    with pytest.raises(ValueError, match="No images found in directory"):
        (tmp_path / "empty" / "a").mkdir(parents=True)
        utils.image_dataset_from_directory(tmp_path / "empty")


def test_every_epoch_has_its_own_order_and_every_file_once(tmp_path):
    for i in range(12):
        _image(tmp_path / "a" / f"{i:02}.png", (i, 0, 0), (1, 1))
    dataset = utils.image_dataset_from_directory(tmp_path, image_size=(1, 1), seed=5, batch_size=None, verbose=False)
    epochs = [[int(image[0, 0, 0]) for image, _ in dataset] for _ in range(2)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(12))


def test_texts_of_folders_become_batches(tmp_path):
    for name, text in (("bad", "so dull"), ("good", "what a film")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text(text)
    dataset = utils.text_dataset_from_directory(tmp_path, label_mode="binary", shuffle=False, max_length=6, verbose=False)
    texts, labels = next(iter(dataset))
    assert texts.numpy().tolist() == [b"so dul", b"what a"]
    np.testing.assert_array_equal(labels, [[0], [1]])


# --- Images ---


def test_images_go_to_arrays_and_files_and_back(tmp_path):
    array = np.arange(24, dtype="float32").reshape(2, 4, 3)
    image = utils.array_to_img(array, scale=False)
    assert image.size == (4, 2)
    np.testing.assert_array_equal(utils.img_to_array(image), array)
    utils.save_img(tmp_path / "a.png", array, scale=False)
    np.testing.assert_array_equal(utils.img_to_array(utils.load_img(tmp_path / "a.png")), array)
    assert utils.load_img(tmp_path / "a.png", color_mode="grayscale", target_size=(5, 6)).size == (6, 5)
    assert utils.img_to_array(image, data_format="channels_first").shape == (3, 2, 4)
    with pytest.raises(ValueError, match="Expected image array to have rank 3"):
        utils.array_to_img(np.zeros((2, 2)))


def test_images_are_resized_at_the_centres_of_pixels():
    row = np.array([0.0, 10.0, 20.0, 30.0], "float32").reshape(1, 4, 1)
    resized = keras.preprocessing.image.smart_resize(np.repeat(row, 4, 0), (2, 2))
    np.testing.assert_allclose(resized[0, :, 0], [5, 25])
    wide = keras.preprocessing.image.smart_resize(np.repeat(row, 2, 0), (2, 2))  # the middle of it
    np.testing.assert_allclose(wide[0, :, 0], [10, 20])


# --- Files ---


def test_a_file_is_fetched_once_and_checked(tmp_path, keras_home, capsys):
    source = tmp_path / "source.txt"
    source.write_text("contents")
    digest = hashlib.sha256(b"contents").hexdigest()
    path = utils.get_file(origin=source.as_uri(), file_hash=digest)
    assert path == str(keras_home / "datasets" / "source.txt")
    assert capsys.readouterr().out.startswith(f"Downloading data from {source.as_uri()}\n")
    source.unlink()
    assert utils.get_file(origin=source.as_uri()) == path
    with pytest.raises(OSError, match="Without a network, put the file there yourself: .*other.txt"):
        utils.get_file("other.txt", origin=source.as_uri())
    source.write_text("other")
    with pytest.raises(ValueError, match="Incomplete or corrupted file"):
        utils.get_file("third.txt", origin=source.as_uri(), file_hash=digest)
    with pytest.raises(ValueError, match="Paths are no longer accepted"):
        utils.get_file("a/b", origin=source.as_uri())


def _tar(path, name, text):
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))


def test_archives_are_extracted_and_may_not_leave_their_folder(tmp_path, keras_home):
    _tar(tmp_path / "good.tar.gz", "inner/a.txt", b"hello")
    folder = utils.get_file(origin=(tmp_path / "good.tar.gz").as_uri(), extract=True)
    assert folder == str(keras_home / "datasets" / "good.tar.gz")
    with open(f"{folder}/inner/a.txt") as file:
        assert file.read() == "hello"
    _tar(tmp_path / "evil.tar.gz", "../../../evil.txt", b"x")
    with pytest.raises(Exception, match="outside|inside"):
        utils.get_file(origin=(tmp_path / "evil.tar.gz").as_uri(), extract=True)
    assert not list(tmp_path.rglob("evil.txt"))


def test_known_data_sets_are_read_from_the_cache(keras_home):
    folder = keras_home / "datasets"
    folder.mkdir(parents=True)
    digits = {"x_train": np.zeros((3, 28, 28), "uint8"), "y_train": np.arange(3), "x_test": np.ones((1, 28, 28)), "y_test": [7]}
    np.savez(folder / "mnist.npz", **digits)
    (x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
    assert x_train.shape == (3, 28, 28) and y_train.tolist() == [0, 1, 2] and y_test.tolist() == [7]

    reviews = np.empty(3, object)
    reviews[:] = [[1, 2], [3, 9, 1], [2]]
    np.savez(folder / "imdb.npz", x_train=reviews, y_train=[0, 1, 0], x_test=reviews, y_test=[1, 1, 0])
    (x_train, y_train), _ = keras.datasets.imdb.load_data(num_words=8)
    texts = dict(zip(map(tuple, x_train), y_train))
    assert texts == {(1, 4, 5): 0, (1, 6, 2, 4): 1, (1, 5): 0}  # 1 begins a text, 2 stands for rare words

    np.savez(folder / "boston_housing.npz", x=np.arange(10).reshape(10, 1), y=np.arange(10))
    (x_train, y_train), (x_test, y_test) = keras.datasets.boston_housing.load_data()
    assert len(x_train) == 8 and sorted([*y_train, *y_test]) == list(range(10))
    np.testing.assert_array_equal(x_train[:, 0], y_train)


class Hostile:
    def __reduce__(self):
        return print, ("code of the file ran",)


def test_files_of_data_sets_cannot_run_code(keras_home, capsys):
    (keras_home / "datasets").mkdir(parents=True)
    texts = np.empty(1, object)
    texts[:] = [Hostile()]
    np.savez(keras_home / "datasets" / "reuters.npz", x=texts, y=[0])
    with pytest.raises(Exception, match="asks for builtins.print, which no array needs"):
        keras.datasets.reuters.load_data()
    assert "code of the file ran" not in capsys.readouterr().out


# --- Pictures of models ---


def test_models_are_drawn_as_dot_svg_and_png(tmp_path):
    model = keras_scenes._nested_models(keras, layers)
    utils.plot_model(model, tmp_path / "m.dot", show_shapes=True, show_layer_names=True)
    text = (tmp_path / "m.dot").read_text()
    assert 'label="joined (Concatenate)\\nInput shape: [(None, 2), (None, 2), (None, 2)]\\nOutput shape: (None, 6)"' in text
    assert text.count("->") == 6
    nested = utils.model_to_dot(model, expand_nested=True).to_string()
    assert 'subgraph "cluster_drawn/inner"' in nested and nested.count("->") == 9

    utils.plot_model(model, tmp_path / "m.svg", expand_nested=True, show_layer_names=True)
    svg = ElementTree.parse(tmp_path / "m.svg").getroot()
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("deep (Dense)") == 1 and "inner" in texts
    for direction in ("TB", "LR"):
        utils.plot_model(model, tmp_path / "m.png", rankdir=direction, dpi=96)
        with Image.open(tmp_path / "m.png") as image:
            assert (image.width < image.height) == (direction == "TB")


def test_boxes_of_a_picture_do_not_overlap(tmp_path):
    from tandemflow.keras.utils import drawing

    entry = keras.Input((3,))
    wide = layers.Concatenate()([layers.Dense(2, name=f"branch_{i}")(entry) for i in range(5)] + [entry])
    model = keras.Model(entry, wide)
    places = drawing.layout(utils.model_to_dot(model)).places
    for i, a in enumerate(places):
        for b in places[:i]:
            assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has not yet been built"):
        utils.plot_model(keras.Sequential([layers.Dense(1)]), tmp_path / "m.svg")
    with pytest.raises(ValueError, match="writes .svg, .png and .dot, got '.*m.gif'"):
        utils.plot_model(keras.Sequential([keras.Input((1,)), layers.Dense(1)]), tmp_path / "m.gif")


# --- Settings ---


def test_settings_and_functions_of_the_backend():
    K = keras.backend
    assert (K.epsilon(), K.floatx(), K.image_data_format(), K.backend()) == (1e-7, "float32", "channels_last", "tensorflow")
    assert [K.get_uid("x"), K.get_uid("x")] == [1, 2]
    assert float(K.sum(K.square(tf.constant([1.0, 2.0])))) == 5
    np.testing.assert_allclose(K.mean(tf.constant([[1.0, 3.0]]), axis=-1, keepdims=True), [[2]])
    keras.config.set_floatx("float64")
    try:
        assert keras.layers.Dense(1).compute_dtype == "float64"
        assert K.cast_to_floatx([1]).dtype == np.float64
    finally:
        keras.config.set_floatx("float32")
    with pytest.raises(AttributeError, match="no attribute 'squre'; did you mean tf.keras.backend.square"):
        K.squre


def test_messages_go_to_the_log_when_interactive_logging_is_off(capsys):
    keras.config.disable_interactive_logging()
    try:
        utils.Progbar(1).update(1)
    finally:
        keras.config.enable_interactive_logging()
    assert capsys.readouterr().out == ""


def test_clear_session_counts_names_from_the_beginning():
    utils.clear_session()
    assert [layers.Dense(1).name, layers.Dense(1).name] == ["dense", "dense_1"]
    keras.backend.clear_session()
    assert layers.Dense(1).name == "dense"
