"""Pictures in files: read as TensorFlow reads them, damaged ones refused."""
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf

FILES = np.load(Path(__file__).resolve().parent.parent / "data" / "pictures.npz")
CASES = [name for name in FILES.files if not name.endswith("/file")]


def file(name):
    return FILES[name + "/file"].tobytes()


@pytest.mark.parametrize("case", CASES)
def test_files_are_read_as_tensorflow_reads_them(case):
    name, channels = case.split("/")
    decode = tf.io.decode_png if name.startswith("png") else tf.io.decode_jpeg
    got, wanted = decode(file(name), channels=int(channels)).numpy().astype(int), FILES[case].astype(int)
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= (1 if channels == "1" or name.startswith("jpeg") else 0)  # rounding of colours to grey


def test_any_decoder_reads_both_and_encoders_come_back():
    assert tf.io.decode_jpeg(file("png_colour")).shape == (11, 13, 3) and tf.image.decode_png(file("jpeg_grey")).shape == (11, 13, 1)
    floats = tf.io.decode_image(file("png_grey"), dtype=tf.float32)
    np.testing.assert_allclose(floats.numpy(), FILES["png_grey/0"] / 255, rtol=1e-6)
    for channels in (1, 2, 3, 4):
        picture = tf.cast(tf.random.uniform([5, 7, channels], 0, 256, tf.int32), tf.uint8)
        assert tf.reduce_all(tf.equal(tf.io.decode_png(tf.io.encode_png(picture)), picture)).numpy()
    smooth = tf.constant(FILES["jpeg_grey/0"])
    again = tf.io.decode_jpeg(tf.io.encode_jpeg(smooth, quality=100))
    assert np.abs(again.numpy().astype(int) - smooth.numpy()).max() < 8
    assert tf.io.is_jpeg(file("jpeg_grey")).numpy() and not tf.io.is_jpeg(file("png_grey")).numpy()


def test_in_a_pipeline(tmp_path):
    for i in range(3):
        tf.io.write_file(str(tmp_path / f"{i}.png"), tf.io.encode_png(np.full((4, 4, 3), i, np.uint8)))
    names = tf.data.Dataset.list_files(str(tmp_path / "*.png"), shuffle=False)
    pictures = names.map(lambda name: tf.image.resize(tf.io.decode_png(tf.io.read_file(name), channels=3), [2, 2])).batch(3)
    (batch,) = list(pictures)
    assert batch.shape == (3, 2, 2, 3) and batch.numpy()[:, 0, 0, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["png_colour", "jpeg_colour"])
def test_damaged_files_are_refused_or_read_but_never_crash(name):
    data = file(name)
    for length in range(0, len(data) - 20, 7):
        with pytest.raises((tf.errors.DataLossError, tf.errors.InvalidArgumentError)):
            tf.io.decode_image(data[:length])
    random = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(data)
        for place in random.integers(0, len(data), 4):
            broken[place] = random.integers(256)
        try:
            tf.io.decode_image(bytes(broken))
        except (tf.errors.DataLossError, tf.errors.InvalidArgumentError):
            pass


def test_mistakes_are_told():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        tf.io.decode_image(b"GIF89a")
    with pytest.raises(tf.errors.InvalidArgumentError, match="channels must be 0, 1 or 3"):
        tf.io.decode_jpeg(file("jpeg_grey"), channels=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs uint8"):
        tf.io.encode_png(tf.zeros([2, 2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        tf.io.decode_png(tf.constant(["a"]))
    with pytest.raises(NotImplementedError, match="E0702"):
        tf.function(tf.io.decode_png)(tf.constant(b""))
