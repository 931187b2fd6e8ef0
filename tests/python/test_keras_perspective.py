"""Images seen from elsewhere or drawn on rubber; sources of tensors; functions that keep nothing for their gradient."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import keras
from tandemflow.keras import layers


def images():
    return np.random.default_rng(3).random((8, 12, 10, 3), np.float32)


@pytest.mark.parametrize("made", [layers.RandomPerspective, lambda **kw: layers.RandomElasticTransform(value_range=(0, 1), **kw)], ids=["perspective", "elastic"])
def test_images_are_changed_with_the_probability_of_the_factor_and_only_in_training(made):
    x = images()
    always, never = made(factor=(1.0, 1.0)), made(factor=0.0)
    changed = np.asarray(always(x, training=True))
    assert changed.shape == x.shape and (np.abs(changed - x).max((1, 2, 3)) > 1e-4).sum() >= 6
    np.testing.assert_array_equal(always(x, training=False), x)
    np.testing.assert_array_equal(never(x, training=True), x)
    again = type(always).from_config(always.get_config())
    assert again.get_config() == always.get_config()


def test_they_work_in_a_pipeline_and_in_the_other_format():
    layer = layers.RandomElasticTransform(value_range=(0, 1), data_format="channels_first")
    x = images().transpose(0, 3, 1, 2)
    assert [tuple(y.shape) for y in tf.data.Dataset.from_tensor_slices(x).batch(4).map(lambda v: layer(v, training=True))] == [(4, 3, 12, 10)] * 2


def test_noise_of_no_strength_moves_nothing():
    x = images()
    np.testing.assert_allclose(keras.ops.image.elastic_transform(x, alpha=0.0, sigma=2.0), x, atol=1e-5)
    assert keras.ops.image.elastic_transform(x[0], alpha=3.0, sigma=1.5).shape == (12, 10, 3)


def test_bad_arguments_are_refused_in_keras_words():
    with pytest.raises(ValueError, match=r"The `scale` argument should be a number in the range \[0,1\]. Received: scale=2"):
        layers.RandomPerspective(scale=2)
    with pytest.raises(NotImplementedError, match="Unknown `interpolation` cubic"):
        layers.RandomPerspective(interpolation="cubic")
    with pytest.raises(NotImplementedError, match="Unknown `fill_mode` mirror"):
        layers.RandomElasticTransform(fill_mode="mirror")


def test_the_sources_of_a_tensor_are_the_inputs_it_is_computed_of_each_once():
    a, b, c = (keras.Input((3,)) for _ in range(3))
    shared = layers.Add()([a, b])
    out = layers.Dense(2)(layers.Concatenate()([shared, a * 2]))
    assert [any(s is t for t in (a, b)) for s in keras.utils.get_source_inputs(out)] == [True, True]
    assert keras.utils.get_source_inputs(c)[0] is c


def test_a_function_that_keeps_nothing_has_the_same_gradient():
    calls = []

    def f(x):
        calls.append(1)
        return keras.ops.sin(x) * 2

    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y = keras.remat(f)(v)
    np.testing.assert_allclose(tape.gradient(y, v), 2 * np.cos([1.0, 2.0]), rtol=1e-6)
    assert len(calls) == 2


def test_the_topics_of_newswires_have_names():
    names = keras.datasets.reuters.get_label_names()
    assert len(names) == 46 and names[3] == "earn" and names[-1] == "lead"


def test_normalization_keeps_what_it_learnt_in_its_own_dtype_and_checks_sizes():
    x = np.random.default_rng(0).random((10, 4))
    layer = layers.Normalization(dtype="float64")
    layer.adapt(x)
    np.testing.assert_allclose(np.asarray(layer(x)).mean(0), 0, atol=1e-12)
    with pytest.raises(ValueError, match=r"built with input_shape=\(10, 4\), but adapt\(\) is being called with data with an incompatible shape, data.shape=\(3, 5\)"):
        layer.adapt(np.ones((3, 5)))
    with pytest.raises(ValueError, match=r"must have the same shape. Received: mean shape \(\) and variance shape \(2,\)"):
        layers.Normalization(mean=1.0, variance=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"number of axes \(0\). Received: mean shape \(2,\) for axis \(\)"):
        layers.Normalization(axis=None, mean=[1.0, 2.0], variance=[1.0, 2.0])
