"""Names that few programs use: queues, bits, distances, samplers, special functions, ExtensionType; the values are TensorFlow's."""
import threading
from typing import Mapping, Tuple, Union

import numpy as np
import pytest
import tandemflow as tf


def near(values, expected, **kwargs):
    np.testing.assert_allclose(np.asarray(values), expected, **{"rtol": 2e-5, "atol": 1e-6, **kwargs})


# --- Bits and symbols. ---


def test_the_same_bytes_under_another_dtype():
    assert tf.bitcast(tf.constant([1.0, -2.0]), tf.int32).numpy().tolist() == [1065353216, -1073741824]
    assert tf.bitcast(tf.constant([1, 2]), tf.uint8).numpy().tolist() == [[1, 0, 0, 0], [2, 0, 0, 0]]
    assert tf.bitcast(tf.constant([[1, 0, 0, 0], [0, 1, 0, 0]], tf.uint8), tf.int32).numpy().tolist() == [1, 256]
    assert tf.function(lambda x: tf.bitcast(x, tf.uint32))(tf.constant([3])).numpy().tolist() == [3]
    with pytest.raises(ValueError, match="last axis must be 4, got shape \\[3\\]"):
        tf.bitcast(tf.constant([1, 2, 3], tf.uint8), tf.int32)


def test_distances_of_sequences():
    given = tf.SparseTensor([[0, 0, 0], [1, 0, 0]], ["a", "b"], (2, 1, 1))
    truth = tf.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], (2, 2, 2))
    assert tf.edit_distance(given, truth).numpy().tolist() == [[np.inf, 1], [0.5, 1]]
    assert tf.edit_distance(given, truth, normalize=False).numpy().tolist() == [[1, 1], [1, 1]]
    near(tf.edit_distance(tf.sparse.from_dense([[1, 2, 3, 4], [5, 6, 0, 0]]), tf.sparse.from_dense([[1, 3, 4, 0], [6, 5, 7, 0]])), [1 / 3, 2 / 3])
    with pytest.raises(ValueError, match="one dtype and rank"):
        tf.edit_distance(given, tf.sparse.from_dense([[1]]))


# --- Queues. ---


def test_a_queue_gives_what_went_in():
    queue = tf.queue.FIFOQueue(3, [tf.int32, tf.string], shapes=[(), ()])
    queue.enqueue([10, b"windy"])
    queue.enqueue([15, b"sunny"])
    number, word = queue.dequeue()
    assert (int(number), word.numpy(), int(queue.size())) == (10, b"windy", 1)
    queue.enqueue_many([[13, 16], [b"cloudy", b"rainy"]])
    numbers, words = queue.dequeue_many(3)
    assert numbers.numpy().tolist() == [15, 13, 16] and words.numpy().tolist() == [b"sunny", b"cloudy", b"rainy"]
    queue.close()
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        queue.enqueue([1, b"x"])
    with pytest.raises(tf.errors.OutOfRangeError, match="no elements left"):
        queue.dequeue()


def test_threads_wait_for_a_queue():
    queue, taken = tf.queue.FIFOQueue(1, tf.int32, shapes=[()]), []
    reader = threading.Thread(target=lambda: taken.extend(int(queue.dequeue()) for _ in range(5)))
    reader.start()
    for i in range(5):
        queue.enqueue(i)
    reader.join(20)
    assert taken == [0, 1, 2, 3, 4]


def test_other_queues():
    named = tf.queue.FIFOQueue(2, [tf.int32, tf.float32], names=["a", "b"])
    named.enqueue({"a": 1, "b": 2.0})
    assert {name: float(value) for name, value in named.dequeue().items()} == {"a": 1, "b": 2}
    urgent = tf.queue.PriorityQueue(10, [tf.string], shapes=[()])
    for number in (5, 1, 3):
        urgent.enqueue([number, str(number)])
    assert [int(urgent.dequeue()[0]) for _ in range(3)] == [1, 3, 5]
    padded = tf.queue.PaddingFIFOQueue(10, [tf.int32], shapes=[[None]])
    padded.enqueue([[1, 2, 3]])
    padded.enqueue([[4]])
    assert padded.dequeue_many(2).numpy().tolist() == [[1, 2, 3], [4, 0, 0]]
    shuffled = tf.queue.RandomShuffleQueue(20, 0, tf.int32, seed=1)
    for i in range(10):
        shuffled.enqueue(i)
    drawn = [int(shuffled.dequeue()) for _ in range(10)]
    assert sorted(drawn) == list(range(10)) and drawn != sorted(drawn)
    with pytest.raises(tf.errors.InvalidArgumentError, match="component 0 has shape \\(2,\\), the queue was made for \\(\\)"):
        tf.queue.FIFOQueue(2, tf.int32, shapes=[()]).enqueue([[1, 2]])


# --- A few classes of many. ---

DRAWS = np.random.RandomState(0)
W, B, X = DRAWS.randn(6, 3).astype("f"), DRAWS.randn(6).astype("f"), DRAWS.randn(4, 3).astype("f")
Y = np.array([[0], [2], [5], [1]])
SAMPLED = (np.array([1, 3, 4]), np.array([[0.5], [0.4], [0.3], [0.2]], "f"), np.array([0.4, 0.3, 0.2], "f"))


def test_losses_of_sampled_classes():
    near(tf.nn.nce_loss(W, B, Y, X, 3, 6, sampled_values=SAMPLED), [9.2639, 11.0333, 5.7993, 7.2911], rtol=1e-4)
    near(tf.nn.nce_loss(W, B, Y, X, 3, 6, sampled_values=SAMPLED, remove_accidental_hits=True), [9.2639, 11.0333, 5.7993, 7.2855], rtol=1e-4)
    near(tf.nn.sampled_softmax_loss(W, B, Y, X, 3, 6, sampled_values=SAMPLED), [0.661, 6.6928, 1.8397, 6.2949], rtol=1e-4)
    two, both = np.array([[0, 1], [2, 3], [5, 4], [1, 0]]), (SAMPLED[0], np.repeat(SAMPLED[1], 2, 1), SAMPLED[2])
    near(tf.nn.nce_loss(W, B, two, X, 3, 6, num_true=2, sampled_values=both), [12.6913, 11.8806, 7.4964, 6.0182], rtol=1e-4)
    near(tf.nn.sampled_softmax_loss(W, B, two, X, 3, 6, num_true=2, sampled_values=both), [1.8024, 3.4759, 1.3983, 4.8648], rtol=1e-4)
    rows, places, _ = tf.nn.compute_accidental_hits(Y, SAMPLED[0], 1)
    assert rows.numpy().tolist() == [3] and places.numpy().tolist() == [0]


def test_samplers_say_how_often_classes_are_to_be_expected():
    near(tf.random.log_uniform_candidate_sampler(Y, 1, 4, False, 100, seed=1).true_expected_count, [[0.6008], [0.2493], [0.1336], [0.3514]], rtol=2e-4)
    near(tf.random.uniform_candidate_sampler(Y, 1, 4, False, 100).sampled_expected_count, [0.04] * 4)
    near(tf.random.fixed_unigram_candidate_sampler(Y, 1, 4, False, 6, unigrams=[1, 2, 3, 4, 5, 6], distortion=0.5).true_expected_count, [[0.3693], [0.6396], [0.9046], [0.5222]], rtol=2e-4)
    assert sorted(tf.random.uniform_candidate_sampler(Y, 1, 6, True, 6).sampled_candidates.numpy().tolist()) == list(range(6))
    drawn = tf.random.log_uniform_candidate_sampler(Y, 1, 2000, False, 50).sampled_candidates.numpy()
    assert drawn.min() == 0 and drawn.max() < 50 and 0.14 < (drawn == 0).mean() < 0.22  # log(2) / log(51) = 0.176
    with pytest.raises(ValueError, match="7 different classes were asked for, but there are 6"):
        tf.random.uniform_candidate_sampler(Y, 1, 7, True, 6)


def test_a_traced_step_draws_other_classes_each_time():
    weights = tf.Variable(W)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.nce_loss(weights, B, Y, X, 2, 6))
        return tf.convert_to_tensor(tape.gradient(loss, weights))

    gradients = [step().numpy() for _ in range(6)]
    assert gradients[0].shape == (6, 3) and any(not np.allclose(gradients[0], other) for other in gradients[1:])


# --- Special functions. ---


def test_special_functions_and_their_gradients():
    m, a, x = tf.math, tf.constant([0.5, 1.0, 2.5, 10.0, 40.0, 3.0]), tf.constant([0.1, 2.0, 2.0, 12.0, 35.0, 0.0])
    near(m.igamma(a, x), [0.34528, 0.86466, 0.45058, 0.75761, 0.21981, 0.0], rtol=1e-4)
    near(m.igammac(a, x), 1 - m.igamma(a, x).numpy())
    near(m.betainc(tf.constant([0.5, 2.0, 5.0, 1.0]), tf.constant([0.5, 3.0, 1.0, 1.0]), tf.constant([0.1, 0.5, 0.9, 1.0])), [0.20483276, 0.6875, 0.59049, 1.0])
    near(m.zeta(tf.constant([2.0, 3.0, 1.5]), tf.constant([1.0, 0.5, 10.0])), [1.64493, 8.4144, 0.64866], rtol=1e-5)
    near(m.polygamma(tf.constant([0.0, 1.0, 2.0, 3.0]), tf.constant([1.5, 2.0, 0.5, 4.0])), [0.03649, 0.64493, -16.8288, 0.04487], rtol=1e-4)
    y = tf.constant([-3.0, 0.0, 0.5, 2.0])
    near(m.bessel_i0(y), [4.88079, 1, 1.06348, 2.27959])
    near(m.bessel_i1(y), [-3.95337, 0, 0.25789, 1.59064], rtol=1e-4)
    near(m.bessel_i0e(y), [0.243, 1, 0.64504, 0.30851], rtol=1e-4)
    near(m.bessel_i1e(y), [-0.19683, 0, 0.15642, 0.21527], rtol=1e-4)
    near(m.erfcinv(tf.constant([0.1, 1.0, 1.7])), [1.163087, 0, -0.732869], rtol=1e-4)
    for function, arguments, expected in [
        (m.bessel_i0, (y,), [-3.95337, 0, 0.25789, 1.59064]),
        (m.bessel_i0e, (tf.constant([0.5, 2.0]),), [-0.48861, -0.09324]),
        (m.bessel_i1, (tf.constant([0.0, 0.5]),), [0.5, 0.54769]),
        (m.bessel_i1e, (tf.constant([0.5, 2.0]),), [0.17577, -0.0144]),
        (m.zeta, (tf.constant([2.0, 3.0]), tf.constant([1.0, 0.5])), [-2.40411, -48.70455]),
    ]:
        with tf.GradientTape() as tape:
            tape.watch(arguments[-1])
            out = function(*arguments)
        near(tape.gradient(out, arguments[-1]), expected, rtol=1e-3)
    near(tf.function(m.igamma)(tf.constant(2.0), tf.constant(3.0)), 0.8008517)
    with pytest.raises(TypeError, match="take floating numbers, got int32"):
        m.igamma(tf.constant(2), tf.constant(3))


def test_special_functions_and_their_gradients_are_the_same_in_a_traced_function():
    x = tf.constant([0.5, 1.25, 3.0])
    for function in (tf.math.bessel_i0, tf.math.bessel_i1, tf.math.bessel_i0e, tf.math.bessel_i1e, lambda v: tf.math.zeta(tf.constant(3.0), v)):

        def slope(v, function=function):
            with tf.GradientTape() as tape:
                tape.watch(v)
                y = function(v)
            return tape.gradient(y, v)

        def bend(v, slope=slope):
            with tf.GradientTape() as tape:
                tape.watch(v)
                y = slope(v)
            return tape.gradient(y, v)

        near(tf.function(function)(x), function(x))
        near(tf.function(slope)(x), slope(x))
        near(tf.function(bend)(x), bend(x))
        with tf.GradientTape() as tape:  # outside the traced function
            tape.watch(x)
            y = tf.function(function)(x)
        near(tape.gradient(y, x), slope(x))
        differences = (np.array(slope(x + 1e-2)) - np.array(slope(x - 1e-2))) / 2e-2
        near(bend(x), differences, rtol=1e-2)


# --- Values made of tensors. ---


class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor

    def with_default(self, default):
        return tf.where(self.mask, self.values, default)

    def __validate__(self):
        self.values.shape.assert_is_compatible_with(self.mask.shape)


class Pencil(tf.experimental.ExtensionType):
    color: str = "black"
    has_erasor: bool = True
    length: tf.Tensor = 1.0


class Deep(tf.experimental.ExtensionType):
    parts: Tuple[tf.Tensor, ...]
    named: Mapping[str, tf.Tensor]
    maybe: Union[tf.Tensor, None]
    inner: Masked


def test_extension_types_have_constructors_and_cannot_be_changed():
    masked = Masked([[1, 2], [3, 4]], mask=[[True, False], [True, True]])
    assert masked.with_default(9).numpy().tolist() == [[1, 9], [3, 4]]
    assert (Pencil("blue").color, Pencil().length.numpy(), Pencil(length=3.0).has_erasor) == ("blue", 1.0, True)
    with pytest.raises(AttributeError, match="Cannot mutate attribute `mask`"):
        masked.mask = [True]
    with pytest.raises(TypeError, match="missing a required argument: 'mask'; its fields are values, mask"):
        Masked([1])
    with pytest.raises(TypeError, match="field 'color': expected str, got int 4"):
        Pencil(color=4)
    with pytest.raises(ValueError, match="incompatible"):
        Masked([1, 2, 3], [True, False])
    deep = Deep(([1, 2], [3]), {"k": [1.0]}, None, masked)
    assert len(deep.parts) == 2 and deep.named["k"].numpy() == [1] and deep.maybe is None and deep.inner is masked
    assert bool(Masked([1], [True]) == Masked([1], [True])) and not bool(Masked([1], [True]) == Masked([2], [True]))
    assert list(tf.experimental.extension_type.as_dict(Pencil())) == ["color", "has_erasor", "length"]
    assert repr(Masked.Spec.from_value(masked).mask) == "TensorSpec(shape=(2, 2), dtype=tf.bool, name=None)"


def test_functions_take_and_give_extension_types():
    doubled = tf.function(lambda masked: masked.with_default(100) * 2)
    assert doubled(Masked([1, 2], [True, False])).numpy().tolist() == [2, 200]
    made = tf.function(lambda x: Masked(x, x > 2))
    assert made(tf.constant([1, 2, 3])).mask.numpy().tolist() == [False, False, True]


def test_constructors_of_ones_own_and_subclasses():
    class Doubled(tf.experimental.ExtensionType):
        a: tf.Tensor
        b: int

        def __init__(self, x):
            self.a = tf.convert_to_tensor(x) * 2
            self.b = 3

    class More(Masked):
        extra: tf.Tensor = 2

    assert Doubled([1, 2]).a.numpy().tolist() == [2, 4] and int(More([1], [True]).extra) == 2
    with pytest.raises(AttributeError, match="unknown attribute `c` of .*its fields are a, b"):
        class Wrong(Doubled):  # noqa: N801
            def __init__(self):
                self.c = 1

        Wrong()


def test_shapes_are_joined_and_checked():
    shape = tf.TensorShape
    assert shape([None, 3]).merge_with([2, None]) == [2, 3] and shape(None).with_rank(2).as_list() == [None, None]
    assert shape([1, 2]).most_specific_compatible_shape([1, 3]).as_list() == [1, None]
    for wrong in (
        lambda: shape([1, 2]).with_rank(3), lambda: shape([1]).assert_is_compatible_with([2]), lambda: shape([None]).assert_is_fully_defined(),
        lambda: shape([1]).assert_has_rank(2), lambda: shape([1, 2]).with_rank_at_most(1), lambda: shape([1]).with_rank_at_least(2),
        lambda: shape([1]).merge_with([2]), lambda: shape([1]).assert_same_rank([1, 2]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="hape"):
            wrong()
    assert tf.uint8.limits == (0, 255) and tf.float32.limits == (0, 1) and tf.int32.is_numeric and tf.int32.is_compatible_with("int32")


def test_a_dense_hash_table_refuses_the_keys_that_it_keeps():
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=-1, empty_key=-2, deleted_key=-3)
    table.insert([1, 2], [10, 20])
    table.erase([2])
    assert table.lookup([1, 2]).numpy().tolist() == [10, -1] and table.size().numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="is the deleted_key"):
        table.insert([-3], [0])


def test_boxes_are_kept_with_their_scores():
    boxes, scores = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]], [0.9, 0.8, 0.7]
    kept, values = tf.image.non_max_suppression_with_scores(boxes, scores, 3)
    assert kept.numpy().tolist() == [0, 2] and values.numpy().tolist() == pytest.approx([0.9, 0.7])
    kept, values = tf.image.non_max_suppression_with_scores(boxes, scores, 3, soft_nms_sigma=0.5)
    assert kept.numpy().tolist() == [0, 2, 1] and values.numpy()[2] == pytest.approx(0.8 * 2.718281828 ** -(0.9**2), abs=1e-4)


def test_matmul_takes_the_spellings_of_tensorflow():
    a, b = tf.ones([2, 3]), tf.ones([2, 3])
    assert tf.matmul(a, b, adjoint_b=True, a_is_sparse=False).shape == (2, 2)
    with pytest.raises(TypeError, match="multiple values"):
        tf.matmul(a, b, transpose_b=True, adjoint_b=True)


def test_integers_and_iterables_are_told_from_others():
    tf.debugging.assert_integer(1)
    tf.debugging.assert_proper_iterable([1])
    for check, wrong in [(tf.debugging.assert_integer, 1.0), (tf.debugging.assert_proper_iterable, "a"), (tf.debugging.assert_proper_iterable, tf.ones(2))]:
        with pytest.raises(TypeError):
            check(wrong)


def test_equal_neighbours_become_one():
    labels, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 1], [0, 1, 1, 2, 3]], [4, 2])
    assert labels.numpy().tolist() == [[1, 2], [0, 1]] and lengths.numpy().tolist() == [2, 2]
    unique, places = tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 1, 1]])
    assert unique.numpy().tolist() == [[3, 4, 0, 0], [1, 0, 0, 0]] and places.numpy().tolist() == [[0, 1, 1, 0], [0] * 4]


def test_isotonic_regression_averages_what_rises():
    x = tf.constant([[3.0, 1.0, 2.0, 2.5, 0.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        values, blocks = tf.nn.isotonic_regression(x)
        total = tf.reduce_sum(values * [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_allclose(values, [[3, 5.5 / 3, 5.5 / 3, 5.5 / 3, 0]], rtol=1e-6)
    assert blocks.numpy().tolist() == [[0, 1, 1, 1, 2]] and tape.gradient(total, x).numpy().tolist() == [[1, 3, 3, 3, 5]]
    np.testing.assert_allclose(tf.nn.isotonic_regression(tf.transpose(x), decreasing=False, axis=0)[0], np.full((5, 1), 1.7), rtol=1e-6)


def test_rows_that_are_looked_up_are_cut_to_a_norm():
    rows = [[3.0, 4.0], [0.3, 0.4]]
    np.testing.assert_allclose(tf.nn.embedding_lookup(np.array(rows), [[0], [1]], max_norm=1.0), [[[0.6, 0.8]], [[0.3, 0.4]]], rtol=1e-6)
    np.testing.assert_allclose(tf.nn.embedding_lookup(rows, [[0], [1]], max_norm=1.0), [[1.0], [1.0]])  # two tables, joined, as in TensorFlow


def test_depthwise_gradients_by_name():
    ones, filters = np.ones((1, 5, 5, 2), "float32"), np.ones((3, 3, 2, 1), "float32")
    counts = np.array([2, 3, 3, 3, 2])
    got = tf.nn.depthwise_conv2d_backprop_input([1, 5, 5, 2], filters, ones, [1, 1, 1, 1], "SAME")
    assert np.array_equal(got[0, :, :, 1], np.outer(counts, counts))
    got = tf.nn.depthwise_conv2d_backprop_filter(ones, [3, 3, 2, 1], ones, [1, 1, 1, 1], "SAME")
    assert np.array_equal(got[:, :, 0, 0], np.outer([4, 5, 4], [4, 5, 4]))
    x = tf.random.normal([1, 3, 2])
    assert np.array_equal(tf.nn.conv_transpose(x, tf.ones([2, 1, 2]), [1, 6, 1], 2), tf.nn.conv1d_transpose(x, tf.ones([2, 1, 2]), [1, 6, 1], 2))


def test_patches_keep_an_infinite_pixel_to_themselves():
    image = np.arange(2 * 7 * 8 * 3, dtype="float32").reshape(2, 7, 8, 3)
    image[0, 0, 0, 0] = np.inf
    got = tf.image.extract_patches(image, [1, 3, 2, 1], [1, 2, 3, 1], [1, 2, 1, 1], "SAME").numpy()
    assert got.shape == (2, 4, 3, 18) and not np.isnan(got).any() and np.isinf(got).sum() == np.isinf(got[0]).sum() > 0
    large = np.full((1, 2, 2, 1), 2**24 + 1, "int32")  # not a float32
    assert np.array_equal(tf.image.extract_patches(large, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"), np.full((1, 1, 1, 4), 2**24 + 1))


def test_likeness_in_several_sizes():
    random = np.random.default_rng(2)
    x = random.random((2, 41, 40, 3)).astype("float32")
    y = np.clip(x + 0.3 * random.random(x.shape).astype("float32"), 0, 1)
    np.testing.assert_allclose(tf.image.ssim_multiscale(x, x, 1.0, filter_size=2), [1, 1], rtol=1e-6)
    one = tf.image.ssim_multiscale(x, y, 1.0, power_factors=(1.0,), filter_size=7)
    np.testing.assert_allclose(one, tf.image.ssim(x, y, 1.0, filter_size=7), rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="smaller than the filter"):
        tf.image.ssim_multiscale(x, y, 1.0)


def test_diagonals_of_tensors_and_of_tridiagonal_matrices():
    x = np.arange(6.0).reshape(2, 3)
    x[0, 1] = np.inf
    spread = tf.linalg.tensor_diag(x)
    assert not np.isnan(spread.numpy()).any() and np.array_equal(tf.linalg.tensor_diag_part(spread), x)
    alpha, beta = np.array([1.0, 2, 3, 4]), np.array([0.5, 0.6, 0.7])
    matrix = np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1)
    values, vectors = tf.linalg.eigh_tridiagonal(alpha, beta, eigvals_only=False)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=1e-12)
    np.testing.assert_allclose(matrix @ vectors.numpy(), vectors.numpy() * values.numpy(), atol=1e-12)
    assert tf.linalg.eigh_tridiagonal(alpha, beta, select="i", select_range=(1, 2)).shape == (2,)


def test_strings_are_chosen_one_by_one():
    assert tf.where(tf.constant("a") == "a", tf.constant("yes"), tf.constant("no")).numpy() == b"yes"
