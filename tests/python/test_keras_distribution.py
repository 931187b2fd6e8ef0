"""keras.distribution on the devices of one machine."""
import os

import numpy as np
import pytest

from tandemflow import keras
from test_distribute import run

distribution = keras.distribution

TWO_DEVICES = """
import sys

import numpy as np
import tandemflow as tf

sys.path.insert(0, sys.argv[1])
from test_keras_distribution import distribution, losses

alone = losses()
distribution.set_distribution(distribution.DataParallel(devices=["cpu:0", "gpu:0"]))
assert tf.distribute.get_strategy().num_replicas_in_sync == 2
np.testing.assert_allclose(losses(), alone, rtol=1e-4)
layouts = distribution.LayoutMap(distribution.DeviceMesh((1, 2), ["batch", "model"], ["cpu:0", "gpu:0"]))
layouts[".*kernel"] = (None, "model")
with distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch").scope():
    np.testing.assert_allclose(losses(), alone, rtol=1e-4)
"""


@pytest.fixture(autouse=True)
def on_one_device_afterwards():
    yield
    distribution.set_distribution(None)


def losses():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    x = np.random.RandomState(0).rand(32, 4)
    return model.fit(x, x.sum(1), epochs=2, batch_size=8, shuffle=False, verbose=0).history["loss"]


def test_distributed_training_gives_the_losses_of_one_device():
    alone = losses()
    distribution.set_distribution(distribution.DataParallel(devices=["cpu:0"]))
    np.testing.assert_allclose(losses(), alone, rtol=1e-5)
    mesh = distribution.DeviceMesh((1, 1), ["batch", "model"], ["cpu:0"])
    layouts = distribution.LayoutMap(mesh)
    layouts["dense.*kernel"] = (None, "model")
    parallel = distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch")
    with parallel.scope():
        assert distribution.distribution() is parallel
        np.testing.assert_allclose(losses(), alone, rtol=1e-5)


def test_two_devices_give_the_losses_of_one():
    run(TWO_DEVICES, os.path.dirname(__file__))


def test_layouts_are_found_by_the_paths_of_variables():
    mesh = distribution.DeviceMesh((1,), ["model"], ["cpu:0"])
    layouts = distribution.LayoutMap(mesh)
    layouts["dense.*kernel"] = (None, "model")
    assert layouts["dense_3/kernel"].axes == (None, "model") and layouts["dense_3/kernel"].device_mesh is mesh
    assert layouts["dense_3/bias"] is None and len(layouts) == 1
    layouts[".*_3/kernel"] = distribution.TensorLayout((None, None))
    with pytest.raises(ValueError, match="matches multiple"):
        layouts["dense_3/kernel"]


def test_devices_are_named_as_in_keras():
    assert distribution.list_devices("cpu") == ["cpu:0"] and distribution.get_device_count("cpu") == 1


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: distribution.DeviceMesh((2,), ["a", "b"]), "same size"),
        (lambda: distribution.DeviceMesh((7,), ["a"]), "number of devices"),
        (lambda: distribution.ModelParallel(), "layout_map"),
        (lambda: distribution.set_distribution("all"), "DataParallel"),
        (lambda: distribution.TensorLayout(("x",), distribution.DeviceMesh((1,), ["a"], ["cpu:0"])), "Invalid axis names"),
    ],
)
def test_mistakes_are_named(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_several_processes_are_refused_with_what_to_use():
    with pytest.raises(NotImplementedError, match="MultiWorkerMirroredStrategy"):
        distribution.initialize("a:1,b:2", 2, 0)
