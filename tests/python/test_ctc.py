"""Labels of sequences whose places are not known; the numbers are TensorFlow's."""
import numpy as np
import pytest

import tandemflow as tf
from tandemflow import keras

LOGITS = np.random.RandomState(0).randn(6, 3, 5).astype("float32")  # time, batch, classes
LENGTHS = [6, 5, 4]


def test_losses_count_as_many_steps_and_labels_as_are_said():
    dense = tf.nn.ctc_loss([[1, 2, 0], [3, 3, 1], [4, 0, 0]], LOGITS, [2, 3, 1], LENGTHS, blank_index=0)
    np.testing.assert_allclose(dense, [4.8942, 11.5894, 5.3837], atol=1e-4)
    last = tf.nn.ctc_loss([[1, 2, 0], [3, 3, 1], [0, 0, 0]], LOGITS, [2, 3, 1], LENGTHS, blank_index=-1)
    np.testing.assert_allclose(last, [4.1336, 6.8766, 5.8419], atol=1e-4)
    labels = tf.sparse.from_dense([[1, 2, 0], [3, 3, 1], [2, 0, 0]])
    sparse = tf.nn.ctc_loss(labels, LOGITS, None, LENGTHS, blank_index=-1)
    np.testing.assert_allclose(sparse, [4.1336, 6.8766, 5.8461], atol=1e-4)
    of_keras = keras.ops.ctc_loss([[1, 2, 0], [3, 3, 1], [4, 0, 0]], LOGITS.transpose(1, 0, 2), [2, 3, 1], LENGTHS)
    np.testing.assert_allclose(of_keras, dense, rtol=1e-6)
    with pytest.raises(ValueError, match="`blank_index` must be provided"):
        tf.nn.ctc_loss(labels, LOGITS, None, LENGTHS)


def test_the_likeliest_classes_spell_labels():
    (decoded,), scores = tf.nn.ctc_greedy_decoder(LOGITS, LENGTHS)
    assert tf.sparse.to_dense(decoded).numpy().tolist() == [[3, 1, 2], [1, 1, 2], [1, 3, 0]]
    np.testing.assert_allclose(scores, [[-5.1242], [-5.2998], [-5.3662]], atol=1e-4)
    rows, again = keras.ops.ctc_decode(LOGITS.transpose(1, 0, 2), LENGTHS)
    assert rows.numpy().tolist() == [[[3, 1, 2, 4, -1, -1], [1, 4, 1, 2, -1, -1], [1, 3, -1, -1, -1, -1]]]
    np.testing.assert_allclose(again, scores)
    with pytest.raises(ValueError, match="'greedy'"):
        keras.ops.ctc_decode(LOGITS, LENGTHS, strategy="beam_search")
