"""Activations, losses, metrics, optimizers and their kin against what real Keras answered (tools/keras_parts_values.py)."""
import json
from pathlib import Path

import keras_parts
import numpy as np
import pytest
import tandemflow as tf

keras = tf.keras
FOLDER = Path(__file__).resolve().parent.parent / "data/keras"
CONTENT = json.loads((FOLDER / "parts.json").read_text())
CASES = [(family, case) for family, (_, cases) in keras_parts.FAMILIES.items() for case in cases]


def _answers():
    flat, place, found = np.load(FOLDER / "parts.npy"), 0, {}
    for case, shapes in CONTENT["shapes"].items():
        answers = found[tuple(case.split("/"))] = {}
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            answers[name] = flat[place : place + size].reshape(shape)
            place += size
    assert place == len(flat)
    return found


ANSWERS = _answers()


def variable(value, name):
    return tf.Variable(value, name=name)


def close(got, expected, what, rtol=1e-5):
    assert np.shape(got) == np.shape(expected), what
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=0)
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * scale, err_msg=what)


def compare(family, case, answers):
    expected = ANSWERS[family, case]
    assert answers.keys() == expected.keys()
    for name, value in answers.items():
        if family == "initializer" and len(expected[name]) == 4 and expected[name][1] > 1e-3 and case != "Identity":
            # Another generator of random numbers: deviations agree to 2 %, extremes of a normal distribution to 20 %.
            mean, deviation, *extremes = map(float, expected[name])
            assert value[1] == pytest.approx(deviation, rel=0.02)
            assert value[0] == pytest.approx(mean, abs=0.03 * deviation)
            loose = 0.2 if case in ("RandomNormal", "VarianceScaling", "Orthogonal") else 0.01
            np.testing.assert_allclose(value[2:], extremes, rtol=loose, err_msg=name)
        else:
            close(value, expected[name], f"{case}: {name}")


@pytest.mark.parametrize("family, case", CASES)
def test_answers_as_keras_does(family, case):
    extra = (variable,) if family == "optimizer" else ()
    compare(family, case, keras_parts.FAMILIES[family][0](case, tf, keras, *extra))


@pytest.mark.parametrize("case", keras_parts.METRICS)
def test_metrics_answer_the_same_in_a_traced_function(case, monkeypatch):
    name, options, _ = keras_parts.METRICS[case]
    cls = getattr(keras.metrics, name)

    class Traced(cls):
        @tf.function
        def update_state(self, y_true, y_pred, sample_weight=None):
            super().update_state(y_true, y_pred, sample_weight)

        @tf.function
        def result(self):
            return super().result()

    monkeypatch.setattr(keras.metrics, name, Traced)
    compare("metric", case, keras_parts.metric(case, tf, keras))


@pytest.mark.parametrize("case", keras_parts.OPTIMIZERS)
def test_optimizers_step_the_same_in_a_traced_function_and_op_by_op(case):
    steps = {}

    def traced(optimizer, gradients, variables):
        step = steps.setdefault(id(optimizer), tf.function(lambda *grads: optimizer.apply(grads, variables)))
        step(*gradients)
        assert step.experimental_get_tracing_count() == 1

    compare("optimizer", case, keras_parts.optimizer(case, tf, keras, variable, traced))
    op_by_op = keras_parts.optimizer(case, tf, keras, variable, lambda o, g, v: (o.build(v), o._apply_now(g, v)))
    compare("optimizer", case, op_by_op)


# What Keras 3.15 leaves out of its files although it matters, and reads where it is there.
MORE_THAN_KERAS = {
    "Huber": {"delta"}, "CosineSimilarity": {"axis"}, "Identity": {"gain"}, "SparseCategoricalCrossentropy": {"axis"},
}  # fmt: skip


@pytest.mark.parametrize("family, case", CASES)
def test_configurations_are_those_of_keras_and_make_the_same_object(family, case):
    expected = CONTENT["configurations"][f"{family}/{case}"]
    got = keras_parts.configuration(family, case, keras)
    if isinstance(expected, str):
        assert got == expected
        return
    assert got.keys() == expected.keys()
    assert all(got[key] == expected[key] for key in ("module", "class_name", "registered_name"))
    more = set(got["config"]) - set(expected["config"])
    assert more <= MORE_THAN_KERAS.get(got["class_name"], set())
    assert _plain(got["config"], more) == _plain(expected["config"])
    module = keras_parts.module_of(family, keras)
    assert _plain(module.serialize(module.deserialize(_through_json(got)))) == _plain(got)
    assert _plain(module.serialize(module.deserialize(expected))["config"], more) == _plain(expected["config"])


def _through_json(config):
    return json.loads(json.dumps(config))


def _plain(config, without=()):
    """Without names, which are numbered; tensors as lists; numbers as near as float32 has them."""
    if isinstance(config, dict) and config.get("class_name") == "__tensor__":
        return _plain(config["config"]["value"])
    if isinstance(config, dict):
        return {key: _plain(value) for key, value in config.items() if key != "name" and key not in without}
    if isinstance(config, (list, tuple)):
        return [_plain(value) for value in config]
    return float(np.float32(config)) if isinstance(config, float) else config


def test_every_case_of_the_file_is_compared():
    assert set(ANSWERS) == set(CASES) and len(CONTENT["configurations"]) == len(CASES)


def test_sparsemax_gives_distributions_with_zeros():
    # Not compared: where more than one class is left, the rows of Keras 3.15 do not add up to 1.
    x = tf.constant([[0.3, 0.1, -0.4], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    expected = np.array([[0.6, 0.4, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]], np.float32)
    np.testing.assert_allclose(keras.activations.sparsemax(x).numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(keras.activations.sparsemax(tf.transpose(x), 0).numpy(), expected.T, atol=1e-6)
