"""model.summary(); what Keras prints was written down by tools/keras_console.py."""
from pathlib import Path

import keras_scenes
import numpy as np
import pytest
from tandemflow import keras

FOLDER = Path(__file__).resolve().parent.parent / "data" / "keras"
layers = keras.layers


def test_summaries_are_those_of_keras():
    with open(FOLDER / "summaries.txt", encoding="utf-8", newline="") as file:
        wanted = file.read()
    printed = keras_scenes.summaries(keras, np)
    scenes = [dict(scene.split("\n", 1) for scene in text.split("--- ")[1:]) for text in (printed, wanted)]
    assert list(scenes[0]) == list(scenes[1])
    for title in scenes[1]:
        assert scenes[0][title] == scenes[1][title], title


def test_names_that_match_no_layer_and_consoles_too_narrow_are_refused():
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    with pytest.raises(ValueError, match="do not match the layer names in the model. Received: \\['a', 'b'\\]"):
        model.summary(layer_range=["a", "b"])
    with pytest.raises(ValueError, match="Insufficient console width"):
        model.summary(line_length=9)


def test_sizes_count_bytes_of_the_dtype(capsys):
    keras.Sequential([keras.Input((2,)), layers.Dense(3, dtype="float64")]).summary()
    assert "Total params: 9 (72.00 B)" in capsys.readouterr().out


def test_terminals_with_256_colours_get_the_colours_of_keras(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    terminal = keras_scenes.Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    keras.Sequential([keras.Input((2,)), layers.Dense(1, name="one")]).summary()
    printed = terminal.getvalue()
    assert "│ one (\x1b[38;5;33mDense\x1b[0m)" in printed
    assert "(\x1b[38;5;45mNone\x1b[0m, \x1b[38;5;34m1\x1b[0m)" in printed
