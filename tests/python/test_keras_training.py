"""Training is as in Keras: the same losses, metrics and weights from the same start."""
import pathlib

import keras_models
import numpy as np
import pytest

import tandemflow as tf

REFERENCE = np.load(pathlib.Path(__file__).parent.parent / "data" / "keras" / "training.npz")


@pytest.mark.parametrize("make", keras_models.MODELS, ids=lambda make: make.__name__)
def test_training_gives_the_numbers_of_keras(make):
    got = keras_models.train(tf.keras, make)
    prefix = make.__name__ + "/"
    expected = {name[len(prefix) :]: REFERENCE[name] for name in REFERENCE.files if name.startswith(prefix)}
    assert sorted(got) == sorted(expected)
    for name, value in expected.items():  # 1e-5 of the largest element: single ones may be differences of large numbers
        np.testing.assert_allclose(got[name], value, rtol=0, atol=1e-5 * np.abs(value).max(), err_msg=name)
