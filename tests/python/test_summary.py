"""tf.summary: event files as TensorBoard reads them."""
import struct
import zlib

import numpy as np
import pytest
import tandemflow as tf


def fields(data):
    """(number, value) of a protocol buffer."""
    at = 0

    def varint():
        nonlocal at
        shift = value = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    out = []
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            out.append((key >> 3, varint()))
            continue
        length = {1: 8, 5: 4}[key & 7] if key & 7 != 2 else varint()
        out.append((key >> 3, data[at : at + length]))
        at += length
    return out


def first(message, number):
    return next((value for key, value in fields(message) if key == number), None)


def events(folder):
    (path,) = folder.glob("*tfevents*")
    return [record.numpy() for record in tf.data.TFRecordDataset(str(path))]


def values(folder):
    """(step, tag, plugin, tensor) of each summary."""
    out = []
    for event in events(folder)[1:]:
        value = first(first(event, 5), 1)
        plugin = first(first(first(value, 9), 1), 1)
        out.append((first(event, 2), first(value, 1).decode(), plugin.decode(), first(value, 8)))
    return out


def test_scalars(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default():
        for step in range(3):
            tf.summary.scalar("loss", 0.5 * step, step=step)
    head = events(tmp_path)[0]
    assert first(head, 3) == b"brain.Event:2"
    got = values(tmp_path)
    assert [(step, tag, plugin) for step, tag, plugin, _ in got] == [(step, "loss", "scalars") for step in range(3)]
    # The tensor of TensorBoard's own record for 0.5: dtype float, no axes, four bytes.
    assert got[1][3] == bytes.fromhex("080112002204" + struct.pack("<f", 0.5).hex())


def test_steps_conditions_and_traced_functions(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function
    def train(x, step):
        tf.summary.scalar("x", x, step=step)
        return x

    with writer.as_default(step=7):
        tf.summary.scalar("default", 1.0)
        with tf.summary.record_if(False):
            assert not tf.summary.scalar("never", 1.0)
        train(tf.constant(1.0), tf.constant(8, tf.int64))
        train(tf.constant(2.0), tf.constant(9, tf.int64))
    assert [(step, tag) for step, tag, *_ in values(tmp_path)] == [(7, "default"), (8, "x"), (9, "x")]
    assert not tf.summary.scalar("no writer", 1.0, step=0)
    with writer.as_default(), pytest.raises(ValueError, match="No step set"):
        tf.summary.scalar("x", 1.0)
    writer.close()
    with writer.as_default(), pytest.raises(RuntimeError, match="closed"):
        tf.summary.scalar("x", 1.0, step=1)


def test_histograms_text_and_images(tmp_path):
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        tf.summary.histogram("h", tf.range(10, dtype=tf.float32), step=1, buckets=5)
        tf.summary.histogram("same", tf.ones([4]), step=1, buckets=3)
        tf.summary.text("t", "hello", step=1)
        tf.summary.image("i", np.full((5, 2, 3, 1), 0.5, np.float32), step=1, max_outputs=2)
    tensors = {tag: (plugin, tensor) for _, tag, plugin, tensor in values(tmp_path)}
    rows = np.frombuffer(first(tensors["h"][1], 4), "<f8").reshape(5, 3)
    np.testing.assert_allclose(rows[:, 2], [2, 2, 2, 2, 2])
    assert rows[0, 0] == 0 and rows[-1, 1] == 9 and tensors["h"][0] == "histograms"
    np.testing.assert_array_equal(np.frombuffer(first(tensors["same"][1], 4), "<f8").reshape(3, 3)[:, 2], [0, 0, 4])
    assert tensors["t"][0] == "text" and first(tensors["t"][1], 8) == b"hello"
    plugin, tensor = tensors["i"]
    words = [value for key, value in fields(tensor) if key == 8]
    assert plugin == "images" and words[:2] == [b"3", b"2"] and len(words) == 4
    assert words[2].startswith(b"\x89PNG") and words[2][16:24] == struct.pack(">II", 3, 2)
    assert zlib.decompress(words[2][words[2].index(b"IDAT") + 4 : -16]) == (b"\0" + b"\x7f" * 3) * 2
