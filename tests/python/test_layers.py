"""Layers against the files that tools/reference_layers.py wrote with Keras."""
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
import tandemflow as tf
from layer_cases import FAMILIES, output_weights, weight_values
from tandemflow import keras
from tandemflow.keras import layers
from tandemflow.keras._engine.naming import clear_session
from tandemflow.keras._engine.registry import serialize_keras_object

FOLDER = Path(__file__).resolve().parent.parent / "data"
CASES = [(family, name) for family, cases in FAMILIES.items() for name in cases]
# Constructor arguments that only exist with adapters, quantized weights or other frameworks.
NOT_HERE = {"lora_rank", "lora_alpha", "quantization_config", "gptq_unpacked_column_size"}


@pytest.fixture(scope="module")
def files():
    return {family: np.load(FOLDER / f"layers_{family}.npz") for family in FAMILIES}


def expected_of(file, name):
    prefix = name + "/"
    return {key.removeprefix(prefix): file[key] for key in file.files if key.startswith(prefix)}


def close(got, expected, tolerance, what):
    scale = max(1, np.abs(expected).max(initial=0)) if expected.dtype.kind == "f" else 1
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale, err_msg=what)


def built_layer(name, case):
    clear_session()
    layer = case.make(keras)
    tensors = [tf.constant(x) for x in case.inputs(name)]
    argument = tensors if len(tensors) > 1 else tensors[0]
    call = getattr(case, "arguments", lambda x: (x,))(argument)
    layer(*call, **case.call)
    layer.set_weights(weight_values(layer))
    return layer, tensors, call


def run(layer, case, call):
    outputs = tf._gradient.flatten(layer(*call, **case.call))
    total = tf.add_n([tf.reduce_sum(o * output_weights(tuple(o.shape))) for o in outputs if o.dtype.is_floating] or [tf.constant(0.0)])
    return outputs, tf.add_n([total, *layer.losses])


def compare(layer, outputs, grads, expected, case, how):
    assert {f"out{i}" for i in range(len(outputs))} == {key for key in expected if key.startswith("out")}
    for i, output in enumerate(outputs):
        assert tuple(output.shape) == expected[f"out{i}"].shape
        close(output.numpy(), expected[f"out{i}"], case.tolerance, f"{how}: output {i}")
    for i, grad in enumerate(grads):
        if f"grad{i}" in expected:
            assert grad is not None, f"{how}: gradient {i} is missing"
            close(tf.convert_to_tensor(grad).numpy(), expected[f"grad{i}"], case.tolerance, f"{how}: gradient {i}")
    for i, variable in enumerate(layer.non_trainable_variables):
        close(variable.numpy(), expected[f"state{i}"], case.tolerance, f"{how}: {variable.name}")


def step(layer, case, call, tensors):
    watched = [x for x in tensors if x.dtype.is_floating]
    with tf.GradientTape() as tape:
        for x in watched:
            tape.watch(x)
        outputs, total = run(layer, case, call)
    return outputs, tape.gradient(total, watched + layer.trainable_variables)


@pytest.mark.parametrize("family, name", CASES)
def test_values_and_gradients_are_those_of_keras(files, family, name):
    case, expected = FAMILIES[family][name], expected_of(files[family], name)
    layer, tensors, call = built_layer(name, case)
    compare(layer, *step(layer, case, call, tensors), expected, case, "eager")


@pytest.mark.parametrize("family, name", CASES)
def test_traced_they_are_the_same(files, family, name):
    case, expected = FAMILIES[family][name], expected_of(files[family], name)
    layer, tensors, call = built_layer(name, case)

    @tf.function
    def traced(tensors):
        argument = tensors if len(tensors) > 1 else tensors[0]
        return step(layer, case, getattr(case, "arguments", lambda x: (x,))(argument), tensors)

    compare(layer, *traced(tensors), expected, case, "traced")


@pytest.mark.parametrize("family, name", CASES)
def test_in_a_functional_model_shapes_are_known(files, family, name):
    case, expected = FAMILIES[family][name], expected_of(files[family], name)
    clear_session()
    layer = case.make(keras)
    inputs = [layers.Input(x.shape[1:], dtype=x.dtype.name) for x in case.inputs(name)]
    argument = inputs if len(inputs) > 1 else inputs[0]
    outputs = tf._gradient.flatten(layer(*getattr(case, "arguments", lambda x: (x,))(argument), **case.call))
    assert [o.shape[1:] for o in outputs] == [expected[f"out{i}"].shape[1:] for i in range(len(outputs))]
    assert all(o.shape[0] is None for o in outputs)
    assert layer.built


@pytest.mark.parametrize("family, name", CASES)
def test_configurations_are_those_of_keras_and_make_the_layer_again(files, family, name):
    case, expected = FAMILIES[family][name], expected_of(files[family], name)
    layer, _, call = built_layer(name, case)
    config = json.loads(json.dumps(serialize_keras_object(layer)["config"]))
    wanted = json.loads(str(expected["config"]))
    assert config.keys() == {key for key in wanted if key not in NOT_HERE}
    assert _plain(config) == _plain({key: value for key, value in wanted.items() if key not in NOT_HERE})
    again = layers.deserialize(serialize_keras_object(layer))
    again(*call, **case.call)
    again.set_weights(weight_values(again))
    for a, b in zip(tf._gradient.flatten(layer(*call)), tf._gradient.flatten(again(*call))):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def _plain(config):
    """Without what is allowed to differ: names, build configurations, and arguments of layers inside that are not here."""
    if isinstance(config, dict):
        return {k: _plain(v) for k, v in config.items() if k not in ("name", "build_config", "shared_object_id") and k not in NOT_HERE}
    return [_plain(item) for item in config] if isinstance(config, (list, tuple)) else config


def test_constructors_have_the_arguments_and_defaults_of_keras():
    wanted = json.loads((FOLDER / "layer_signatures.json").read_text())
    for name, cls in layers.family.members.items():
        if name in ("Functional", "Sequential", "Model"):
            continue
        got = [[p.name, _default(p)] for p in inspect.signature(cls.__init__).parameters.values() if p.name not in ("self", "args", "kwargs")]
        assert got == wanted[name], name


def _default(parameter):
    value = "REQUIRED" if parameter.default is parameter.empty else parameter.default
    return json.loads(json.dumps(value))


def test_every_case_of_the_files_is_compared(files):
    for family, cases in FAMILIES.items():
        assert {key.split("/")[0] for key in files[family].files} == set(cases)
