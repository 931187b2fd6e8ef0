"""Pictures in files: read as TensorFlow reads them, damaged ones refused."""
import struct
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf

FILES = np.load(Path(__file__).resolve().parent.parent / "data" / "pictures.npz")
CASES = [name for name in FILES.files if not name.endswith("/file") and not name.startswith("accurate/")]


def file(name):
    return FILES[name + "/file"].tobytes()


@pytest.mark.parametrize("case", CASES)
def test_files_are_read_as_tensorflow_reads_them(case):
    name, channels = case.split("/")
    decode = tf.io.decode_png if name.startswith("png") else tf.io.decode_jpeg
    got, wanted = decode(file(name), channels=int(channels)).numpy().astype(int), FILES[case].astype(int)
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= (1 if channels == "1" and name.startswith("png") else 0)  # rounding of colours to grey


@pytest.mark.parametrize("case", [name for name in FILES.files if name.startswith("accurate/")])
def test_jpeg_files_are_read_with_the_slower_transform_when_asked(case):
    _, name, channels = case.split("/")
    assert (tf.io.decode_jpeg(file(name), channels=int(channels), dct_method="INTEGER_ACCURATE").numpy() == FILES[case]).all()


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


def test_jpeg_files_are_read_as_they_are_asked_for():
    noise = np.random.default_rng(1).integers(0, 256, (17, 13, 3)).astype("uint8")
    data = tf.io.encode_jpeg(noise)
    plain, fast, exact = (tf.io.decode_jpeg(data, dct_method=method).numpy() for method in ("", "INTEGER_FAST", "INTEGER_ACCURATE"))
    assert (plain == fast).all() and (plain != exact).any()  # TensorFlow's choice
    assert (tf.io.decode_image(data).numpy() == plain).all()
    assert (tf.io.decode_jpeg(data, fancy_upscaling=False).numpy() != plain).any()
    for ratio, shape in ((2, (9, 7, 3)), (4, (5, 4, 3)), (8, (3, 2, 3))):
        assert tf.io.decode_jpeg(data, ratio=ratio).shape == shape
    part = tf.io.decode_and_crop_jpeg(data, [1, 2, 5, 4], channels=1, ratio=2)
    assert (part.numpy() == tf.io.decode_jpeg(data, channels=1, ratio=2).numpy()[1:6, 2:6]).all()
    for wrong in (lambda: tf.io.decode_jpeg(data, ratio=3), lambda: tf.io.decode_jpeg(data, dct_method="SLOW"), lambda: tf.io.decode_and_crop_jpeg(data, [0, 0, 40, 4])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            wrong()


def test_of_jpeg_files_that_are_cut_off_what_is_there_is_read_when_asked():
    smooth = np.mgrid[:64, :64].sum(0).astype("uint8")[..., None] * np.ones(3, "uint8")
    data = tf.io.encode_jpeg(smooth).numpy()
    half, whole = data[: len(data) - (len(data) - 600) // 2], tf.io.decode_jpeg(data).numpy()
    with pytest.raises(tf.errors.DataLossError):
        tf.io.decode_jpeg(half)
    for options in (dict(try_recover_truncated=True), dict(acceptable_fraction=0.2)):
        got = tf.io.decode_jpeg(half, **options).numpy()
        assert got.shape == whole.shape and (got[:8] == whole[:8]).all() and (got[-8:] != whole[-8:]).any()


def test_jpeg_files_are_written_as_they_are_asked_for():
    noise = np.random.default_rng(1).integers(0, 256, (16, 16, 3)).astype("uint8")
    plain = tf.io.encode_jpeg(noise).numpy()
    assert plain[6:11] == b"JFIF\0" and plain[13:18] == b"\1\1\x2c\1\x2c"  # 300 pixels an inch
    assert tf.io.encode_jpeg(noise, density_unit="cm", x_density=7, y_density=9).numpy()[13:18] == b"\2\0\7\0\x09"
    for options in (dict(progressive=True), dict(optimize_size=True)):
        other = tf.io.encode_jpeg(noise, **options).numpy()
        assert other != plain and (tf.io.decode_jpeg(other).numpy() == tf.io.decode_jpeg(plain).numpy()).all()
    errors = [np.abs(tf.io.decode_jpeg(tf.io.encode_jpeg(noise, chroma_downsampling=on)).numpy().astype(int) - noise).mean() for on in (True, False)]
    assert errors[1] < errors[0] / 2
    assert b"http://ns.adobe.com/xap/1.0/\0<x/>" in tf.io.encode_jpeg(noise, xmp_metadata="<x/>").numpy()
    for wrong in (dict(format="grayscale"), dict(format="cmyk"), dict(density_unit="mm"), dict(xmp_metadata="x" * 70000)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.io.encode_jpeg(noise, **wrong)


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


def test_pictures_of_16_bits_are_written_and_read():
    picture = np.array([[[0, 1, 258], [65535, 7, 9]]], np.uint16)
    assert tf.io.decode_png(tf.io.encode_png(picture), dtype=tf.uint16).numpy().tolist() == picture.tolist()
    assert tf.io.decode_png(tf.io.encode_png(picture)).numpy().tolist() == (picture >> 8).tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="8 bits"):
        tf.io.decode_png(file("jpeg_grey"), dtype=tf.uint16)
    with pytest.raises(tf.errors.InvalidArgumentError, match="uint8 or tf.uint16"):
        tf.io.decode_png(tf.io.encode_png(picture), dtype=tf.int32)


def test_mistakes_are_told():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown image file format"):
        tf.io.decode_image(b"RIFF89")
    with pytest.raises(tf.errors.InvalidArgumentError, match="channels must be 0, 1 or 3"):
        tf.io.decode_jpeg(file("jpeg_grey"), channels=4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="needs uint8"):
        tf.io.encode_png(tf.zeros([2, 2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        tf.io.decode_png(tf.constant(["a"]))
    with pytest.raises(NotImplementedError, match="E0702"):
        tf.function(tf.io.decode_png)(tf.constant(b""))


def _lzw(indices, least):
    """Compressed as GIF files are, with words that grow."""
    clear, end = 1 << least, (1 << least) + 1
    bits, total, count = 0, 0, least + 1

    def put(code):
        nonlocal bits, total
        bits |= code << total
        total += count

    put(clear)
    words, word = {(i,): i for i in range(clear)}, ()
    for index in indices:
        if word + (index,) in words:
            word += (index,)
            continue
        put(words[word])
        words[word + (index,)] = len(words) + 2
        if len(words) + 2 > 1 << count and count < 12:
            count += 1
        word = (index,)
        if len(words) + 2 >= 4095:
            put(words[word])
            put(clear)
            words, word, count = {(i,): i for i in range(clear)}, (), least + 1
    if word:
        put(words[word])
    put(end)
    return bits.to_bytes((total + 7) // 8, "little")


def gif(size, table, frames):
    """(height, width), [colours, 3] and frames of (top, left, indices, transparent or None, interlaced)."""
    depth = len(table).bit_length() - 1
    data = b"GIF89a" + struct.pack("<HHBBB", size[1], size[0], 0x80 | (depth - 1), 0, 0) + table.astype(np.uint8).tobytes()
    for top, left, indices, transparent, interlaced in frames:
        data += b"" if transparent is None else bytes([0x21, 0xF9, 4, 1, 0, 0, transparent, 0])
        data += b"\x2c" + struct.pack("<HHHHB", left, top, indices.shape[1], indices.shape[0], 0x40 if interlaced else 0)
        rows = [i for first, step in ((0, 8), (4, 8), (2, 4), (1, 2)) for i in range(first, len(indices), step)] if interlaced else slice(None)
        packed = _lzw(indices[rows].ravel().tolist(), max(depth, 2))
        data += bytes([max(depth, 2)]) + b"".join(bytes([len(packed[i : i + 255])]) + packed[i : i + 255] for i in range(0, len(packed), 255)) + b"\0"
    return data + b"\x3b"


def test_frames_of_a_gif_are_drawn_over_one_another():
    random = np.random.default_rng(3)
    table = random.integers(0, 256, (64, 3))
    first, second = random.integers(0, 64, (90, 110)), random.integers(0, 4, (21, 30))
    data = gif((90, 110), table, [(0, 0, first, None, True), (8, 40, second, 2, False)])
    got = tf.io.decode_gif(data)
    wanted = np.stack([table[first]] * 2)
    part = wanted[1, 8:29, 40:70]
    part[second != 2] = table[second[second != 2]]
    assert got.dtype == tf.uint8 and np.array_equal(got, wanted)
    assert np.array_equal(tf.io.decode_image(data), wanted) and np.array_equal(tf.image.decode_image(data, expand_animations=False), wanted[0])
    small = gif((90, 110), table, [(80, 100, first[:10, :10], None, False)])
    assert np.array_equal(tf.io.decode_gif(small)[0, 80:, 100:], table[first[:10, :10]]) and not tf.io.decode_gif(small).numpy()[0, :80].any()


def test_damaged_gifs_are_refused_or_read_but_never_crash():
    random = np.random.default_rng(4)
    whole = gif((12, 12), random.integers(0, 256, (16, 3)), [(0, 0, random.integers(0, 16, (12, 12)), None, False)])
    for i in range(300):
        data = bytearray(whole[: random.integers(0, len(whole))] if i % 3 == 0 else whole)
        for at in random.integers(0, max(len(data), 1), 3 if data else 0):
            data[at] = random.integers(0, 256)
        if data[:6] == b"GIF89a" and np.prod(struct.unpack_from("<HH", data.ljust(10), 6)) > 10**6:
            continue
        try:
            tf.io.decode_gif(bytes(data))
        except tf.errors.InvalidArgumentError:
            pass
    with pytest.raises(tf.errors.InvalidArgumentError, match="GIF87a or GIF89a"):
        tf.io.decode_gif(file("png_grey"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="3 channels, got channels=1"):
        tf.io.decode_image(whole, channels=1)


def test_decode_image_reads_bmp_files():
    bmp = b"BM" + struct.pack("<IHHIIiiHHIIiiII", 70, 0, 0, 54, 40, 1, 2, 1, 24, 0, 16, 0, 0, 0, 0) + bytes([3, 2, 1, 0, 6, 5, 4, 0])
    assert tf.io.decode_image(bmp).numpy().tolist() == [[[4, 5, 6]], [[1, 2, 3]]]
