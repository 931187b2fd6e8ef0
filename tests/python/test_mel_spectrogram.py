"""keras.layers.MelSpectrogram gives Keras' values."""
import numpy as np
import pytest
import tandemflow as tf

SIGNAL = np.random.RandomState(0).randn(2, 4000).astype("float32")


@pytest.mark.parametrize(
    "options, shape, mean, early, last",
    [
        ({}, (2, 128, 8), 36.02, [29.274, 28.778, 34.552], [41.656, 42.036, 41.289]),
        (dict(fft_length=512, sequence_stride=128, num_mel_bins=20, sampling_rate=8000), (2, 20, 32), 32.66, [27.175, 29.872, 28.839], [35.812, 35.315, 35.242]),
        (dict(fft_length=256, sequence_length=200, power_to_db=False, num_mel_bins=10, mag_exp=1.0), (2, 10, 8), 84.19, [52.005, 44.425, 36.726], [183.384, 176.013, 202.109]),
    ],
)
def test_values_are_keras(options, shape, mean, early, last):
    layer = tf.keras.layers.MelSpectrogram(**options)
    out = layer(SIGNAL).numpy()
    assert out.shape == shape and layer(SIGNAL[0]).shape == shape[1:]
    np.testing.assert_allclose([*out[0, 3, :3], *out[1, -1, -3:]], [*early, *last], rtol=2e-4)
    assert abs(out.mean() - mean) < 0.006
    again = tf.keras.layers.deserialize(tf.keras.layers.serialize(layer))
    np.testing.assert_array_equal(again(SIGNAL).numpy(), out)


def test_in_a_model_and_with_wrong_lengths():
    model = tf.keras.Sequential([tf.keras.Input((4000,)), tf.keras.layers.MelSpectrogram(fft_length=512)])
    assert model.output_shape == (None, 128, 8)
    with pytest.raises(ValueError, match="sequence_length=300, fft_length=200"):
        tf.keras.layers.MelSpectrogram(fft_length=200, sequence_length=300)
