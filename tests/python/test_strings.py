"""tf.strings and ragged tensors: the answers are TensorFlow's."""
import numpy as np
import pytest
import tandemflow as tf

WORDS = ["Hello World", "a,b,,c", "", "Ümlaut 12"]


def texts(tensor):
    return [item.decode() for item in np.asarray(tensor.numpy(), object).ravel()]


CASES = {
    "lower": (lambda x: tf.strings.lower(x), ["hello world", "a,b,,c", "", "Ümlaut 12"]),
    "lower utf-8": (lambda x: tf.strings.lower(x, "utf-8"), ["hello world", "a,b,,c", "", "ümlaut 12"]),
    "upper": (lambda x: tf.strings.upper(x), ["HELLO WORLD", "A,B,,C", "", "ÜMLAUT 12"]),
    "strip": (lambda x: tf.strings.strip(tf.strings.join(["  ", x, "\n"])), WORDS),
    "substr": (lambda x: tf.strings.substr(tf.strings.join(["0", x, "abcdef"]), 1, 3), ["Hel", "a,b", "abc", "Üm"]),
    "replace": (lambda x: tf.strings.regex_replace(x, "[a-z]+", "<\\0>"), ["H<ello> W<orld>", "<a>,<b>,,<c>", "", "Ü<mlaut> 12"]),
    "replace once": (lambda x: tf.strings.regex_replace(x, "([a-z])([a-z])", r"\2\1", replace_global=False), ["Hlelo World", "a,b,,c", "", "Ülmaut 12"]),
    "join": (lambda x: tf.strings.join([x, "!"], separator="-"), ["Hello World-!", "a,b,,c-!", "-!", "Ümlaut 12-!"]),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_string_by_string(case, traced):
    function, wanted = CASES[case]
    assert texts((tf.function(function) if traced else function)(tf.constant(WORDS))) == wanted


def test_parts_of_strings_that_are_limited():
    assert texts(tf.strings.split("a b c", maxsplit=1)) == ["a", "b c"] and texts(tf.strings.split("a,b,c", ",", maxsplit=1)) == ["a", "b,c"]
    assert texts(tf.strings.split(" a ", maxsplit=1)) == ["a", ""] and texts(tf.strings.split("a b", maxsplit=0)) == ["a", "b"]
    assert tf.strings.bytes_split(tf.zeros([2, 0], tf.string)).row_splits.numpy().tolist() == [0, 0, 0]


def test_nothing_is_not_replaced_behind_what_was_replaced():
    assert texts(tf.strings.regex_replace(["Hello World", "lll", ""], "l*", "-")) == ["-H-e-o- -W-o-r-d-", "-", "-"]


def test_an_empty_array_of_objects_holds_strings():
    assert tf.constant(np.zeros([0, 2], object)).dtype == tf.string and tf.constant(np.array([], "S1")).dtype == tf.string
    assert tf.constant(np.zeros([0, 2], object), tf.int32).shape == (0, 2)


def test_lengths_numbers_and_matches():
    x = tf.constant(WORDS)
    assert tf.strings.length(x).numpy().tolist() == [11, 6, 0, 10]
    assert tf.strings.length(x, unit="UTF8_CHAR").numpy().tolist() == [11, 6, 0, 9]
    assert tf.strings.to_number(tf.constant(["1.5", "-2e3"])).numpy().tolist() == [1.5, -2000]
    assert tf.strings.to_number(tf.constant(["7", "-3"]), tf.int64).numpy().tolist() == [7, -3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not correctly convert string: x"):
        tf.strings.to_number("x")
    assert tf.strings.regex_full_match(x, ".*[0-9]+").numpy().tolist() == [False, False, False, True]
    assert tf.strings.substr("Ümlaut", 0, 1, unit="UTF8_CHAR").numpy().decode() == "Ü"
    assert tf.strings.substr("hello", -3, 2).numpy() == b"ll"


def test_values_written_out():
    assert texts(tf.strings.as_string(tf.constant([1.5, -2.25]))) == ["1.500000", "-2.250000"]
    assert texts(tf.strings.as_string(tf.constant([3, -4]))) == ["3", "-4"]
    assert texts(tf.strings.as_string(tf.constant([True, False]))) == ["true", "false"]
    assert texts(tf.strings.as_string(3.14159, precision=2)) == ["3.14"]
    assert texts(tf.strings.as_string([1.5, -2.5], precision=1, fill=" ")) == [" 1.5", "-2.5"]
    assert texts(tf.strings.as_string([1.5, -np.inf], precision=0, width=6, fill="0")) == ["000002", "  -inf"]
    assert tf.strings.format("{} and {}", (tf.constant([1, 2]), tf.constant("x"))).numpy() == b'[1 2] and "x"'
    with pytest.raises(ValueError, match="placeholder"):
        tf.strings.format("{}", (1, 2))


def test_reduce_join():
    x = tf.constant([["a", "b"], ["c", "d"]])
    assert texts(tf.strings.reduce_join(x)) == ["abcd"]
    assert texts(tf.strings.reduce_join(x, axis=0)) == ["ac", "bd"]
    assert texts(tf.strings.reduce_join(x, axis=-1, separator=" ", keepdims=True)) == ["a b", "c d"]
    assert texts(tf.strings.reduce_join(x, axis=[1, 0])) == ["abcd"] and texts(tf.strings.reduce_join(x, axis=[0, 1])) == ["acbd"]


def test_splitting_gives_ragged_rows():
    assert texts(tf.strings.split("a b  c")) == ["a", "b", "c"]
    rows = tf.strings.split(tf.constant(["a b", "c", ""]))
    assert isinstance(rows, tf.RaggedTensor) and rows.to_list() == [[b"a", b"b"], [b"c"], []]
    assert tf.strings.split(tf.constant(["a,b,,c"]), sep=",").to_list() == [[b"a", b"b", b"", b"c"]]
    assert texts(tf.strings.unicode_split("Üb", "UTF-8")) == ["Ü", "b"]
    assert tf.strings.unicode_decode(tf.constant(["ab", "c"]), "UTF-8").to_list() == [[97, 98], [99]]
    assert texts(tf.strings.unicode_encode(tf.ragged.constant([[97, 98], [99]]), "UTF-8")) == ["ab", "c"]
    assert tf.strings.bytes_split(tf.constant(["ab"])).to_list() == [[b"a", b"b"]]
    assert tf.strings.ngrams(tf.constant(["a", "b", "c"]), 2).numpy().tolist() == [b"a b", b"b c"]
    assert texts(tf.strings.reduce_join(rows, axis=-1, separator="+")) == ["a+b", "c", ""]
    split = tf.function(lambda x: tf.strings.split(x))  # runs op by op
    assert split(tf.constant(["a b", "c"])).to_list() == [[b"a", b"b"], [b"c"]]
    outer = tf.function(lambda x: split(x).row_lengths())
    assert outer(tf.constant(["a b", "c"])).numpy().tolist() == [2, 1]


def test_ragged_tensors():
    rows = tf.ragged.constant([[1, 2], [], [3]])
    assert rows.shape.as_list() == [3, None] and rows.ragged_rank == 1 and rows.dtype == tf.int32
    assert rows.to_tensor().numpy().tolist() == [[1, 2], [0, 0], [3, 0]]
    assert rows.to_tensor(-1).numpy().tolist() == [[1, 2], [-1, -1], [3, -1]]
    assert rows[0].numpy().tolist() == [1, 2] and rows[1:].to_list() == [[], [3]] and rows[:, :1].to_list() == [[1], [], [3]]
    assert rows.row_lengths().numpy().tolist() == [2, 0, 1] and rows.row_splits.numpy().tolist() == [0, 2, 2, 3]
    assert rows.value_rowids().numpy().tolist() == [0, 0, 2]
    assert (rows + 1).to_list() == [[2, 3], [], [4]] and (rows * rows).to_list() == [[1, 4], [], [9]]
    assert tf.RaggedTensor.from_row_lengths([1.0, 2.0, 3.0], [1, 2]).to_list() == [[1.0], [2.0, 3.0]]
    assert tf.RaggedTensor.from_value_rowids([1, 2, 3], [0, 0, 2]).to_list() == [[1, 2], [], [3]]
    assert tf.RaggedTensor.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0).to_list() == [[1, 2], [3]]
    deep = tf.ragged.constant([[[1], [2, 3]], [[4]]])
    assert deep.to_list() == [[[1], [2, 3]], [[4]]] and deep.to_tensor().numpy().tolist() == [[[1, 0], [2, 3]], [[4, 0], [0, 0]]]
    with pytest.raises(ValueError, match="row_splits"):
        tf.RaggedTensor.from_row_splits([1, 2], [0, 3])


def test_lookup_tables():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
    assert table.lookup(tf.constant(["b", "x", "a"])).numpy().tolist() == [2, -1, 1] and table.size().numpy() == 2
    assert tf.function(lambda x: table.lookup(x) + 10)(tf.constant([["a"], ["b"]])).numpy().tolist() == [[11], [12]]
    with pytest.raises(TypeError, match="Keys must be dtype"):
        table.lookup(tf.constant([1]))
    words = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([0], tf.int64)), 3)
    assert words["a"].numpy() == 0 and 1 <= words["unknown"].numpy() <= 3 and words.size().numpy() == 4
    changing = tf.lookup.experimental.MutableHashTable(tf.int64, tf.string, "none")
    changing.insert([1], ["one"])
    assert changing.lookup(tf.constant([1, 2], tf.int64)).numpy().tolist() == [b"one", b"none"]


def test_characters_come_with_the_places_where_they_begin():
    numbers, begins = tf.strings.unicode_decode_with_offsets("h\u00e9y", "UTF-8")
    assert numbers.numpy().tolist() == [104, 233, 121] and begins.numpy().tolist() == [0, 1, 3]
    parts, begins = tf.strings.unicode_split_with_offsets(["\u00e9a", ""], "UTF-8")
    assert parts.to_list() == [["\u00e9".encode(), b"a"], []] and begins.to_list() == [[0, 2], []]


def test_strings_change_their_encoding_and_are_joined_by_segment():
    assert tf.strings.unicode_transcode("a", "UTF-8", "UTF-16-BE").numpy() == b"\x00a"
    assert tf.strings.unsorted_segment_join(["a", "b", "c"], [0, 1, 0], 3, separator="-").numpy().tolist() == [b"a-c", b"b", b""]
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment id 3 is not below num_segments, 2"):
        tf.strings.unsorted_segment_join(["a"], [3], 2)


def test_buckets_are_those_of_tensorflow():
    assert tf.strings.to_hash_bucket(["a", "b", "hello world, this is long"], 10).numpy().tolist() == [8, 0, 7]


def test_a_pattern_that_is_none_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid pattern: "):
        tf.strings.regex_replace("a", "(", "b")


def test_ngrams_at_the_ends_are_padded():
    row = ["a", "b", "c"]

    def made(*arguments, **options):
        return [text.decode() for text in tf.strings.ngrams(row, *arguments, **options).numpy()]

    assert made((1, 2), separator="_", pad_values=("<", ">")) == ["a", "b", "c", "<_a", "a_b", "b_c", "c_>"]
    assert made(3, pad_values="P") == ["P P a", "P a b", "a b c", "b c P", "c P P"]
    assert made(3, pad_values=("<", ">"), padding_width=1) == ["< a b", "a b c", "b c >"]
    assert made(9, pad_values="P", padding_width=1, preserve_short_sequences=True) == ["P a b c P"]
    rows = tf.strings.ngrams(tf.ragged.constant([["a"], []]), 2, pad_values="P")
    assert rows.to_list() == [[b"P a", b"a P"], [b"P P"]]
