"""keras.ops and keras.random, against the file that tools/reference_layers.py wrote with Keras."""
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf
from ops_cases import CASES
from tandemflow import keras

ops = keras.ops
FILE = np.load(Path(__file__).resolve().parent.parent / "data/keras_ops.npz")


@pytest.mark.parametrize("name", CASES)
def test_functions_answer_as_keras_does(name):
    results = tf._gradient.flatten(CASES[name](ops))
    expected = [FILE[f"{name}/{i}"] for i in range(sum(key.split("/")[0] == name for key in FILE.files))]
    assert len(results) == len(expected)
    for got, want in zip(results, expected):
        got = ops.convert_to_numpy(got)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 if want.dtype.kind == "f" else 0)


def test_every_case_of_the_file_is_compared():
    assert {key.split("/")[0] for key in FILE.files} == set(CASES)


def test_keras_tensors_take_operators_and_functions():
    x, y = keras.Input((4, 5)), keras.Input((4, 5))
    out = ops.sum((x * 2 - y / 3 + 1) ** 2, axis=-1) + ops.abs(x)[:, :, 0] @ ops.ones((4, 4)) - (-y)[..., 1]
    assert out.shape == (None, 4)
    model = keras.Model([x, y], out)
    a, b = (np.random.RandomState(i).standard_normal((3, 4, 5)).astype(np.float32) for i in range(2))
    expected = ((a * 2 - b / 3 + 1) ** 2).sum(-1) + np.abs(a)[:, :, 0] @ np.ones((4, 4)) + b[..., 1]
    np.testing.assert_allclose(model([a, b]).numpy(), expected, rtol=1e-5)


def test_functions_of_images_are_part_of_models():
    x = keras.Input((8, 6, 3))
    model = keras.Model(x, ops.image.resize(x, (4, 3)))
    assert model.output_shape == (None, 4, 3, 3)
    image = np.ones((2, 8, 6, 3), np.float32)
    np.testing.assert_allclose(model(image).numpy(), np.ones((2, 4, 3, 3)), rtol=1e-6)


def test_loops_and_conditions():
    assert ops.while_loop(lambda i: i < 5, lambda i: i + 2, ops.convert_to_tensor(0)).numpy() == 6
    assert ops.fori_loop(0, 4, lambda i, total: total + i, 0) == 6
    total, sums = ops.scan(lambda carry, x: (carry + x, carry + x), ops.convert_to_tensor(0.0), ops.arange(1.0, 4.0))
    assert total.numpy() == 6 and sums.numpy().tolist() == [1, 3, 6]
    np.testing.assert_array_equal(ops.map(lambda row: ops.sum(row), ops.ones((3, 2))).numpy(), [2, 2, 2])
    np.testing.assert_array_equal(ops.associative_scan(ops.add, ops.arange(4)).numpy(), [0, 1, 3, 6])
    assert ops.cond(ops.convert_to_tensor(True), lambda: 1, lambda: 2) == 1
    assert ops.switch(1, [lambda x: x, lambda x: x * 2], 4) == 8

    @tf.function
    def chosen(x):
        return ops.cond(ops.sum(x) > 0, lambda: x * 2, lambda: x - 1)

    assert chosen(tf.constant([1.0])).numpy() == [2.0] and chosen(tf.constant([-1.0])).numpy() == [-2.0]


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError):
        ops.summ


# --- keras.random ---


def test_an_integer_seed_gives_the_same_numbers_and_a_generator_goes_on():
    a, b = keras.random.normal((3,), seed=5).numpy(), keras.random.normal((3,), seed=5).numpy()
    np.testing.assert_array_equal(a, b)
    first, second = keras.random.SeedGenerator(5), keras.random.SeedGenerator(5)
    one, two = keras.random.normal((3,), seed=first).numpy(), keras.random.normal((3,), seed=first).numpy()
    assert not np.array_equal(one, two)
    np.testing.assert_array_equal(keras.random.normal((3,), seed=second).numpy(), one)
    assert first.state.numpy().tolist() == [5, 2]


def test_a_generator_goes_on_in_traced_functions():
    generator = keras.random.SeedGenerator(3)
    draw = tf.function(lambda: keras.random.uniform((4,), seed=generator))
    assert not np.array_equal(draw().numpy(), draw().numpy())


@pytest.mark.parametrize(
    "draw, mean, deviation",
    [
        (lambda: keras.random.normal((40000,), 1.0, 2.0, seed=1), 1.0, 2.0),
        (lambda: keras.random.uniform((40000,), 2.0, 4.0, seed=1), 3.0, 12**-0.5 * 2),
        (lambda: keras.random.randint((40000,), 0, 10, seed=1), 4.5, 8.25**0.5),
        (lambda: keras.random.truncated_normal((40000,), seed=1), 0.0, 0.8796),
        (lambda: keras.random.gamma((40000,), 4.0, seed=1), 4.0, 2.0),
        (lambda: keras.random.beta((40000,), 2.0, 2.0, seed=1), 0.5, 0.05**0.5),
        (lambda: keras.random.binomial((40000,), 10.0, 0.3, seed=1), 3.0, 2.1**0.5),
    ],
)
def test_distributions_have_their_mean_and_deviation(draw, mean, deviation):
    values = draw().numpy()
    assert abs(values.mean() - mean) < 0.05 * deviation
    assert abs(values.std() - deviation) < 0.03 * deviation


def test_shuffle_dropout_and_categorical():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    shuffled = keras.random.shuffle(x, axis=1, seed=2).numpy()
    np.testing.assert_array_equal(np.sort(shuffled, 1), x)
    dropped = keras.random.dropout(np.ones((1000,), np.float32), 0.25, seed=1).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1) / np.float32(0.75)} and abs((dropped == 0).mean() - 0.25) < 0.05
    classes = keras.random.categorical(np.log([[0.1, 0.0001, 0.9]]).astype(np.float32), 2000, seed=1).numpy()
    assert classes.shape == (1, 2000) and abs((classes == 2).mean() - 0.9) < 0.03


def test_bools_are_ordered_and_added_up_as_numbers():
    x = np.array([[True, False], [True, True]])
    for name, wanted in (("max", True), ("min", False), ("argmax", 0), ("argmin", 1), ("trace", 2), ("square", [[1, 0], [1, 1]]),
                         ("abs", x), ("sort", [[False, True], [True, True]]), ("argsort", [[1, 0], [0, 1]]), ("size", 4)):  # fmt: skip
        np.testing.assert_array_equal(getattr(keras.ops, name)(x), wanted, name)
    assert keras.ops.max(x).dtype == "bool" and keras.ops.square(x).dtype == "int32"


def test_medians_are_part_of_models_and_traced_functions():
    assert keras.ops.median(keras.Input((3, 4), batch_size=2), axis=-1).shape == (2, 3)
    np.testing.assert_array_equal(tf.function(lambda x: keras.ops.median(x, axis=1))(np.array([[1.0, 3.0, 2.0]])), [2])


def test_rows_are_counted_each_and_updates_may_be_added():
    np.testing.assert_array_equal(keras.ops.bincount(np.array([[0, 1, 1], [3, 2, 0]])), [[1, 2, 0, 0], [1, 0, 1, 1]])
    np.testing.assert_array_equal(keras.ops.scatter_update(np.ones(3, "float32"), [[1], [1]], [2.0, 3.0], reduction="add"), [1, 6, 1])
    with pytest.raises(ValueError, match="reduction must be"):
        keras.ops.scatter_update(np.ones(3, "float32"), [[1]], [2.0], reduction="sum")
    np.testing.assert_allclose(keras.ops.cholesky([[4.0, 2.0], [2.0, 2.0]], upper=True), [[2, 1], [0, 1]], atol=1e-6)
