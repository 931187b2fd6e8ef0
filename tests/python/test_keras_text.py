"""keras.preprocessing.text, with what Keras 3.15 answers."""
import numpy as np
import pytest

import tandemflow as tf
from tandemflow import keras
from tandemflow.keras.preprocessing import text

TEXTS = ["The cat sat, the CAT!", "a dog & the cat", "dogs dogs dogs"]


def fitted(**options):
    tokenizer = text.Tokenizer(**options)
    tokenizer.fit_on_texts(TEXTS)
    return tokenizer


def test_words_are_numbered_by_how_often_they_come():
    tokenizer = fitted(num_words=5, oov_token="<o>")
    assert tokenizer.word_index == {"<o>": 1, "the": 2, "cat": 3, "dogs": 4, "sat": 5, "a": 6, "dog": 7}
    assert tokenizer.texts_to_sequences([*TEXTS, "new cat"]) == [[2, 3, 1, 2, 3], [1, 1, 2, 3], [4, 4, 4], [1, 3]]
    assert tokenizer.sequences_to_texts([[2, 3, 9]]) == ["the cat <o>"]
    assert fitted(num_words=4).texts_to_sequences(["the dog sat"]) == [[1]]
    assert fitted(char_level=True).texts_to_sequences(["cat"])[0][1] == fitted(char_level=True).word_index["a"]


def test_texts_as_rows():
    tokenizer = fitted(num_words=4)
    assert tokenizer.texts_to_matrix(TEXTS[:1], "count").tolist() == [[0, 2, 2, 0]]
    assert tokenizer.texts_to_matrix(TEXTS[:1], "freq").tolist() == [[0, 0.5, 0.5, 0]]
    assert tokenizer.texts_to_matrix(TEXTS, "binary")[2].tolist() == [0, 0, 0, 1]
    assert tokenizer.texts_to_matrix(TEXTS, "tfidf")[2][3] == pytest.approx(1.9227, abs=1e-3)
    with pytest.raises(ValueError, match="Unknown vectorization mode: other"):
        tokenizer.texts_to_matrix(TEXTS, "other")


def test_a_tokenizer_is_written_and_read():
    tokenizer = fitted(oov_token="?")
    again = text.tokenizer_from_json(tokenizer.to_json())
    assert again.texts_to_sequences(TEXTS) == tokenizer.texts_to_sequences(TEXTS) and again.get_config() == tokenizer.get_config()


def test_words_and_hashes():
    assert text.text_to_word_sequence("Some text, some MORE.") == ["some", "text", "some", "more"]
    hashed = text.hashing_trick("a b a", 9, "md5")
    assert hashed[0] == hashed[2] and all(1 <= number < 9 for number in hashed)
    assert len(text.one_hot("a b c", 5)) == 3


def test_models_with_adapted_vocabularies_come_back_from_files(tmp_path):
    texts, kinds, counts = np.array(["the cat sat", "the dog ran far", "a cat"]), np.array([["x"], ["y"], ["x"]]), np.array([[3], [1], [3]])
    weighted, found = keras.layers.TextVectorization(output_mode="tf_idf"), keras.layers.StringLookup(output_mode="one_hot")
    numbers = keras.layers.IntegerLookup(output_mode="multi_hot", num_oov_indices=2)
    inputs = [keras.Input(shape, dtype=dtype) for shape, dtype in (((), "string"), ((1,), "string"), ((1,), "int64"))]
    for layer, data in ((weighted, texts), (found, kinds), (numbers, counts)):
        layer.adapt(data)
    joined = keras.layers.concatenate([layer(x) for layer, x in zip((weighted, found, numbers), inputs)])
    model = keras.Model(inputs, keras.layers.Dense(2)(joined))
    model.save(tmp_path / "model.keras")
    data = [tf.constant(texts), tf.constant(kinds), tf.constant(counts)]
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras")(data), model(data))
