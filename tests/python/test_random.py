"""Random numbers: their distributions, and that they repeat."""
import numpy as np
import pytest

import tandemflow as tf

N = 20000


def drawn(kind, seed):
    tf.random.set_seed(seed)
    return {
        "truncated_normal": lambda: tf.random.truncated_normal([N], 1.0, 2.0), "gamma": lambda: tf.random.gamma([N], [0.5, 3.0], 2.0),
        "poisson": lambda: tf.random.poisson([N], [0.7, 50.0]), "bernoulli": lambda: tf.random.bernoulli([N], 0.3),
        "categorical": lambda: tf.random.categorical([[0.0, np.log(3.0), -np.inf]], N), "shuffle": lambda: tf.random.shuffle(tf.range(N)),
    }[kind]().numpy()  # fmt: skip


@pytest.mark.parametrize("kind", ["truncated_normal", "gamma", "poisson", "bernoulli", "categorical", "shuffle"])
def test_the_seed_repeats_them(kind):
    first = drawn(kind, 5)
    assert np.array_equal(first, drawn(kind, 5)) and not np.array_equal(first, drawn(kind, 6))


def test_distributions_have_their_moments():
    x = drawn("truncated_normal", 1)
    assert np.abs(x - 1).max() <= 4 and abs(x.mean() - 1) < 0.05 and abs(x.std() / 2 - 0.8796) < 0.01
    g = drawn("gamma", 1)
    assert g.shape == (N, 2) and (g > 0).all()
    np.testing.assert_allclose(g.mean(0), [0.25, 1.5], rtol=0.04)
    np.testing.assert_allclose(g.var(0), [0.125, 0.75], rtol=0.08)
    p = drawn("poisson", 1)
    np.testing.assert_allclose(p.mean(0), [0.7, 50], rtol=0.03)
    np.testing.assert_allclose(p.var(0), [0.7, 50], rtol=0.05)
    b = drawn("bernoulli", 1)
    assert set(b) == {0, 1} and abs(b.mean() - 0.3) < 0.02
    c = drawn("categorical", 1)
    assert c.shape == (1, N) and set(c[0]) == {0, 1} and abs(c.mean() - 0.75) < 0.02
    assert sorted(drawn("shuffle", 1)) == list(range(N))


def test_stateless_numbers_depend_on_the_seed_only():
    for draw in (
        lambda seed: tf.random.stateless_normal([50], seed), lambda seed: tf.random.stateless_uniform([50], seed, 0, 1000, tf.int32),
        lambda seed: tf.random.stateless_truncated_normal([50], seed), lambda seed: tf.random.stateless_gamma([50], seed, 2.0),
        lambda seed: tf.random.stateless_poisson([50], seed, 4.0), lambda seed: tf.random.stateless_categorical(tf.zeros([1, 100]), 50, seed),
        lambda seed: tf.random.experimental_stateless_shuffle(tf.range(50), seed),
    ):  # fmt: skip
        a = draw([1, 2]).numpy()
        tf.random.normal([3])
        assert np.array_equal(a, draw([1, 2]).numpy()) and not np.array_equal(a, draw([1, 3]).numpy()) and not np.array_equal(a, draw([2, 2]).numpy())
    assert tf.random.split([1, 2], 3).shape == (3, 2) and not np.array_equal(tf.random.fold_in([1, 2], 0).numpy(), tf.random.fold_in([1, 2], 1).numpy())
    with pytest.raises(ValueError, match="shape"):
        tf.random.stateless_normal([3], [1, 2, 3])
    with pytest.raises(ValueError, match="maxval"):
        tf.random.stateless_uniform([3], [1, 2], dtype=tf.int32)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="lam"):
        tf.random.poisson([2], -1.0)
    with pytest.raises(ValueError, match="classes"):
        tf.random.categorical([1.0, 2.0], 3)


def test_stateless_draws_of_few_programs_follow_their_distributions():
    successes = tf.random.stateless_binomial([20000], [1, 2], 10.0, 0.3)
    assert successes.dtype == tf.int32 and abs(float(tf.reduce_mean(tf.cast(successes, tf.float32))) - 3) < 0.05
    cut = tf.random.stateless_parameterized_truncated_normal([20000], [1, 2], means=1.0, stddevs=2.0, minvals=0.0, maxvals=3.0).numpy()
    assert 0 <= cut.min() < 0.01 and 2.99 < cut.max() <= 3 and abs(cut.mean() - 1.43) < 0.05
    assert tf.random.experimental.Generator is tf.random.Generator and tf.random.experimental.stateless_split([1, 2], 3).shape == (3, 2)
    assert tf.random.experimental.create_rng_state(1, tf.random.Algorithm.PHILOX).shape == (3,)


def test_integers_of_any_range():
    for low, high, dtype in ((-(2**31), 2**31, tf.int32), (2**60, 2**60 + 10, tf.int64), (-5, 2**50, tf.int64), (0, 2**64, tf.uint64), (0, 2**32, tf.uint32)):
        x = tf.random.uniform([4000], low, high, dtype)
        values = x.numpy().astype(object)
        assert x.dtype == dtype and low <= values.min() and values.max() < high
        assert 8 * (values.min() - low) < high - low and 8 * (high - 1 - values.max()) < high - low
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):  # any number of the dtype
        x = tf.random.stateless_uniform([4000], [1, 2], None, None, dtype).numpy().astype(object)
        assert x.min() < dtype.min + (dtype.max - dtype.min) / 8 and x.max() > dtype.max - (dtype.max - dtype.min) / 8
    assert len(set(tf.random.Generator.from_seed(1).uniform_full_int([1000], tf.int64).numpy().tolist())) == 1000


def test_bounds_may_be_tensors():
    x = tf.random.uniform([4000, 3], [0.0, 1.0, 2.0], [1.0, 3.0, 2.5]).numpy()
    np.testing.assert_allclose(x.min(0), [0, 1, 2], atol=0.01)
    np.testing.assert_allclose(x.max(0), [1, 3, 2.5], atol=0.01)


def test_numbers_of_a_seed_are_the_same_in_every_run_of_a_traced_function():
    draws = [
        lambda: tf.random.stateless_uniform([3], [3, 4]),
        lambda: tf.random.stateless_normal([3], [3, 0]),
        lambda: tf.random.stateless_truncated_normal([3], [0, 0]),
        lambda: tf.random.stateless_uniform([3], [1, 2], 0, 100, tf.int32),
        lambda: tf.random.stateless_categorical(tf.zeros([1, 9]), 3, [1, 2]),
        lambda: tf.random.experimental.stateless_shuffle(tf.range(9), [1, 2]),
        lambda: tf.nn.experimental.stateless_dropout(tf.ones([9]), 0.5, [1, 2]),
        lambda: tf.random.split([1, 2], 3),
        lambda: tf.keras.random.normal([3], seed=7),
    ]
    for draw in draws:
        traced = tf.function(draw)
        assert np.array_equal(traced(), draw()) and np.array_equal(traced(), draw())
    with tf.device("/CPU:0"):
        both = tf.function(lambda: (tf.random.stateless_uniform([3], [1, 2]), tf.random.stateless_uniform([3], [1, 3]), tf.random.uniform([3])))
        first, second = both(), both()
    assert np.array_equal(first[0], second[0]) and np.array_equal(first[1], second[1]) and not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[2], second[2])


def test_numbers_of_few_digits_stay_below_their_bound():
    for dtype in (tf.float16, tf.bfloat16):
        for low, high in ((0.0, 1.0), (-1.0, 0.0), (2.0, 3.0), (-3.0, -2.0), (0.0, 0.3)):
            x = tf.cast(tf.random.uniform([20000], low, high, dtype), tf.float32).numpy()
            assert low - 0.01 <= x.min() and x.max() < high and x.max() > high - 0.05 * (high - low)


def test_a_truncated_normal_far_from_its_mean():
    for low, high, mean in ((1.0, 2.0, 1.3833), (5.0, 9.0, 5.1865), (-9.0, -5.0, -5.1865)):
        x = tf.random.stateless_parameterized_truncated_normal([20000], [1, 2], 0.0, 1.0, low, high).numpy()
        assert low <= x.min() and x.max() <= high and abs(x.mean() - mean) < 0.01


def test_many_gamma_numbers_follow_the_seed_of_the_process():
    """Eagerly they are one traced loop, which draws as the ops one by one do."""
    draws = []
    for _ in range(2):
        tf.random.set_seed(5)
        draws.append([tf.random.gamma([80_000], [2.5])[:, 0].numpy(), tf.random.normal([3]).numpy(), tf.random.gamma([80_000], [2.5])[:, 0].numpy()])
    assert all(np.array_equal(first, second) for first, second in zip(*draws)) and not np.array_equal(draws[0][0], draws[0][2])
    assert abs(draws[0][0].mean() - 2.5) < 0.05 and abs(draws[0][0].var() - 2.5) < 0.1
    tf.random.set_seed(5)
    traced = tf.function(lambda: tf.random.gamma([80_000], [2.5])[:, 0])
    assert np.array_equal(traced(), draws[0][0])


def test_beta_numbers_lie_between_0_and_1_however_small_the_parameters_are():
    for alpha, beta in ((1e-3, 1e-3), (0.2, 0.2), (2.0, 5.0)):
        x = np.asarray(tf.keras.random.beta((50000,), alpha, beta, seed=3), "float64")
        assert np.all((x >= 0) & (x <= 1))
        np.testing.assert_allclose(x.mean(), alpha / (alpha + beta), atol=0.01)
        np.testing.assert_allclose(x.var(), alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1)), rtol=0.03)


PARAMETERS = {
    "normal": lambda a, b: tf.random.normal([3], a, b),
    "uniform": lambda a, b: tf.random.uniform([3], a, b),
    "truncated_normal": lambda a, b: tf.random.truncated_normal([3], a, b),
    "stateless_normal": lambda a, b: tf.random.stateless_normal([3], [1, 2], a, b),
    "stateless_uniform": lambda a, b: tf.random.stateless_uniform([3], [1, 2], a, b),
    "stateless_truncated_normal": lambda a, b: tf.random.stateless_truncated_normal([3], [1, 2], a, b),
    "generator": lambda a, b: tf.random.Generator.from_seed(1).normal([3], a, b),
    "keras": lambda a, b: tf.keras.random.normal([3], a, b, seed=1),
    "keras uniform": lambda a, b: tf.keras.random.uniform([3], a, b, seed=1),
}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_what_is_drawn_has_gradients_for_parameters_that_are_tensors(kind):
    def gradients(a, b):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            drawn = PARAMETERS[kind](a, b)
        return drawn, tape.gradient(drawn, [a, b])

    for a, b in ((1.0, 3.0), ([1.0, 2.0, 3.0], [3.0, 4.0, 5.0])):
        a, b = tf.constant(a), tf.constant(b)
        for run in (gradients, tf.function(gradients)):
            drawn, (of_a, of_b) = run(a, b)
            # x = a + z * b, or x = a + u * (b - a): either way 1 = the sum of what a, and z or u, are worth.
            unit = (drawn - a) / (b - a if "uniform" in kind else b)
            first = 1 - unit if "uniform" in kind else tf.ones([3])
            np.testing.assert_allclose(of_a, tf.reduce_sum(first) if a.ndim == 0 else first, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(of_b, tf.reduce_sum(unit) if a.ndim == 0 else unit, rtol=1e-4, atol=1e-5)


def test_a_traced_function_draws_about_a_mean_that_it_is_given():
    traced = []

    @tf.function
    def draw(mean):
        traced.append(mean)
        return tf.random.normal([N], mean, 0.5)

    assert abs(float(tf.reduce_mean(draw(tf.constant(3.0)))) - 3) < 0.05
    assert abs(float(tf.reduce_mean(draw(tf.constant(-7.0)))) + 7) < 0.05
    assert len(traced) == 1


def test_gamma_numbers_of_a_negative_parameter_are_none():
    assert np.isnan(tf.random.gamma([2], [-1.0, 0.5])).tolist() == [[True, False]] * 2


def test_a_half_number_stays_below_a_bound_that_is_a_tensor():
    drawn = tf.random.uniform([N], tf.constant(1, tf.float16), tf.constant(1.01, tf.float16), tf.float16).numpy()
    assert drawn.min() >= 1 and drawn.max() < np.float16(1.01)


def test_the_state_of_a_generator_is_filled_up_as_tensorflow_does():
    state = tf.random.create_rng_state
    assert state(5, "philox").numpy().tolist() == [5, 0, 0] and state([5], 1).numpy().tolist() == [0, 0, 5]
    assert state([1, 2], tf.random.Algorithm.THREEFRY).numpy().tolist() == [1, 2] and state([1, 2, 3, 4], "philox").numpy().tolist() == [1, 2, 3]
