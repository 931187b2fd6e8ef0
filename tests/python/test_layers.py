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
NOT_HERE = {"lora_rank", "lora_alpha", "gptq_unpacked_column_size"}


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
    call = case.arguments(tensors)
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
        return step(layer, case, case.arguments(tensors), tensors)

    compare(layer, *traced(tensors), expected, case, "traced")


@pytest.mark.parametrize("family, name", CASES)
def test_in_a_functional_model_shapes_are_known(files, family, name):
    case, expected = FAMILIES[family][name], expected_of(files[family], name)
    clear_session()
    layer = case.make(keras)
    inputs = [layers.Input(x.shape[1:], dtype=x.dtype.name) for x in case.inputs(name)]
    outputs = tf._gradient.flatten(layer(*case.arguments(inputs), **case.call))
    assert [o.shape[1:] for o in outputs] == [expected[f"out{i}"].shape[1:] for i in range(len(outputs))]
    assert all(o.shape[0] is None for o in outputs)
    assert layer.built


@pytest.mark.parametrize("family, name", CASES)
def test_configurations_are_those_of_keras_and_make_the_layer_again(files, family, name):
    case, expected = FAMILIES[family][name], expected_of(files[family], name)
    layer, _, call = built_layer(name, case)
    config = json.loads(json.dumps(serialize_keras_object(layer)["config"]))
    wanted = json.loads(str(expected["config"]))
    if "layers" in config:  # a model around it, to make a mask: its input is not what is compared
        config, wanted = ({"layers": c["layers"][1:]} for c in (config, wanted))
    assert config.keys() == {key for key in wanted if key not in NOT_HERE}
    assert _plain(config) == _plain({key: value for key, value in wanted.items() if key not in NOT_HERE})
    again = layers.deserialize(serialize_keras_object(layer))
    again(*call, **case.call)
    again.set_weights(weight_values(again))
    for a, b in zip(tf._gradient.flatten(layer(*call, **case.call)), tf._gradient.flatten(again(*call, **case.call))):
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
        assert got == wanted[{"GroupedQueryAttention": "GroupQueryAttention"}.get(name, name)], name


def _default(parameter):
    value = "REQUIRED" if parameter.default is parameter.empty else parameter.default
    return json.loads(json.dumps(value))


def test_every_case_of_the_files_is_compared(files):
    for family, cases in FAMILIES.items():
        assert {key.split("/")[0] for key in files[family].files} == set(cases)


@pytest.mark.parametrize("family, name", CASES)
def test_under_mixed_precision_they_compute_in_bfloat16_and_keep_float32(family, name):
    case = FAMILIES[family][name]
    before = keras.dtype_policies.dtype_policy()
    keras.dtype_policies.set_dtype_policy("mixed_bfloat16")
    try:
        layer = case.make(keras)
        tensors = [tf.constant(x) for x in case.inputs(name)]
        with tf.GradientTape() as tape:
            outputs = [o for o in tf._gradient.flatten(layer(*case.arguments(tensors), **case.call)) if o.dtype.is_floating]
            total = tf.add_n([tf.reduce_sum(tf.cast(o, tf.float32)) for o in outputs] or [tf.constant(0.0)])
        grads = tape.gradient(total, layer.trainable_variables)
    finally:
        keras.dtype_policies.set_dtype_policy(before)
    if name != "integer_lookup_count":  # counts are float32
        assert {o.dtype.name for o in outputs} <= {"bfloat16"}
    assert {v.dtype.name for v in layer.weights} <= {"float32", "int64"}
    assert all(np.isfinite(tf.convert_to_tensor(g).numpy()).all() for g in grads if g is not None)


def test_spectral_normalization_divides_by_the_largest_singular_value():
    layer = layers.SpectralNormalization(layers.Dense(4), power_iterations=30)
    x = np.ones((2, 5), np.float32)
    layer(x)
    layer.layer.kernel.assign(np.random.RandomState(0).standard_normal((5, 4)).astype(np.float32))
    layer(x, training=True)
    assert abs(np.linalg.svd(layer.layer.kernel.numpy())[1][0] - 1) < 1e-4


# --- What files cannot show ---


class AddingCell:
    """A cell that is no layer."""

    state_size = 3

    def call(self, inputs, states):
        out = inputs + 0.5 * states[0]
        return out, [out]


def test_cells_of_users_run_along_the_sequence():
    x = np.random.RandomState(0).standard_normal((2, 4, 3)).astype(np.float32)
    outputs, state = layers.RNN(AddingCell(), return_sequences=True, return_state=True)(x)
    expected, now = [], np.zeros((2, 3), np.float32)
    for i in range(4):
        now = x[:, i] + 0.5 * now
        expected.append(now)
    np.testing.assert_allclose(outputs.numpy(), np.stack(expected, 1), rtol=1e-6)
    np.testing.assert_allclose(state.numpy(), now, rtol=1e-6)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN"])
def test_stateful_layers_go_on_where_they_stopped(name):
    x = np.random.RandomState(0).standard_normal((2, 6, 3)).astype(np.float32)
    whole = getattr(layers, name)(4, return_sequences=True)
    expected = whole(x).numpy()
    parts = getattr(layers, name)(4, return_sequences=True, stateful=True)
    parts.build((2, 3, 3))
    parts.set_weights(whole.get_weights())
    np.testing.assert_allclose(parts(x[:, :2]).numpy(), expected[:, :2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(parts(x[:, 2:]).numpy(), expected[:, 2:], rtol=1e-5, atol=1e-6)
    parts.reset_state()
    np.testing.assert_allclose(parts(x[:, :2]).numpy(), expected[:, :2], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="Expected batch size: 2"):
        parts(x[:1])


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN"])
def test_recurrent_dropout_uses_one_mask_for_all_steps_of_a_batch(name):
    tf.random.set_seed(3)
    layer = getattr(layers, name)(4, dropout=0.5, recurrent_dropout=0.5)
    x = np.ones((2, 5, 3), np.float32)
    still, moving, again = layer(x).numpy(), layer(x, training=True).numpy(), layer(x, training=True).numpy()
    assert not np.allclose(still, moving) and not np.allclose(moving, again)
    np.testing.assert_array_equal(layer(x).numpy(), still)
    assert layer.cell._mask is None and layer.cell._recurrent_masks is None


@pytest.mark.parametrize(
    "make", [lambda: layers.Dropout(0.4), lambda: layers.SpatialDropout1D(0.4), lambda: layers.GaussianDropout(0.4),
             lambda: layers.AlphaDropout(0.4), lambda: layers.GaussianNoise(0.4)]
)  # fmt: skip
def test_layers_that_only_training_sees_keep_the_mean(make):
    tf.random.set_seed(7)
    x = np.ones((50, 40, 30), np.float32)
    layer = make()
    np.testing.assert_array_equal(layer(x).numpy(), x)
    out = layer(x, training=True).numpy()
    assert out.std() > 0.1
    target = 1.0 if not isinstance(layer, layers.AlphaDropout) else out.mean()
    assert abs(out.mean() - target) < (0.08 if isinstance(layer, layers.SpatialDropout1D) else 0.02)  # 1,500 draws
    if isinstance(layer, layers.SpatialDropout1D):
        assert (out.min(1) == out.max(1)).all()  # whole channels
    if isinstance(layer, layers.Dropout):
        assert set(np.unique(out)) <= {np.float32(0), np.float32(1) / np.float32(0.6)}


def test_bad_inputs_name_the_layer_what_it_got_and_what_it_needs():
    dense = layers.Dense(2, name="out")
    dense(np.ones((1, 3), np.float32))
    with pytest.raises(ValueError, match=r"Input 0 with name 'None' of layer 'out' is incompatible with the layer: expected axis -1 .* value 3, but received input with shape \(1, 4\)"):
        dense(np.ones((1, 4), np.float32))
    with pytest.raises(ValueError, match="expected min_ndim=4, found ndim=2"):
        layers.Conv2D(2, 3)(np.ones((1, 4), np.float32))
    with pytest.raises(ValueError, match="units=-1"):
        layers.Dense(-1)
    with pytest.raises(ValueError, match="`padding` argument of Conv2D.*Received: causal"):
        layers.Conv2D(2, 3, padding="causal")
    with pytest.raises(ValueError, match=r"Inputs have incompatible shapes. Received shapes \(3,\) and \(4,\)"):
        layers.Add()([np.ones((1, 3), np.float32), np.ones((1, 4), np.float32)])
    with pytest.raises(ValueError, match="The total size of the tensor must be unchanged"):
        layers.Reshape((5,))(np.ones((1, 4), np.float32))
    with pytest.raises(ValueError, match="Expected a float value between 0 and 1. Received: rate=1.5"):
        layers.Dropout(1.5)
    with pytest.raises(AttributeError, match="did you mean tf.keras.layers.Dense"):
        layers.Dens


def test_lambdas_and_their_shapes():
    layer = layers.Lambda(lambda x, factor: x * factor, arguments={"factor": 3.0})
    np.testing.assert_array_equal(layer(np.ones((2, 2), np.float32)).numpy(), np.full((2, 2), 3.0))
    assert layers.Lambda(lambda x: tf.reduce_sum(x, 1))(layers.Input((4, 5))).shape == (None, 5)
    with pytest.raises(ValueError, match="safe_mode=False"):
        layers.deserialize(serialize_keras_object(layer))


def test_masks_go_through_layers_that_keep_them():
    x = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
    embedded = layers.Embedding(5, 3, mask_zero=True)(x)
    for layer in (layers.Dropout(0.5), layers.Dense(4), layers.LayerNormalization(), layers.Activation("relu"), layers.LSTM(2, return_sequences=True)):
        embedded = layer(embedded)
        np.testing.assert_array_equal(embedded._keras_mask.numpy(), x != 0)
    pooled = layers.GlobalAveragePooling1D()(embedded)
    kept = (x != 0)[..., None]
    np.testing.assert_allclose(pooled.numpy(), (embedded.numpy() * kept).sum(1) / kept.sum(1), rtol=1e-5)


def test_masked_batches_are_normalized_by_what_is_kept():
    x = np.random.RandomState(1).standard_normal((3, 4, 2)).astype(np.float32)
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0]], bool)
    layer = layers.BatchNormalization(momentum=0.0)
    layer(x, training=True, mask=tf.constant(mask))
    np.testing.assert_allclose(layer.moving_mean.numpy(), x[mask].mean(0), rtol=1e-5)
    np.testing.assert_allclose(layer.moving_variance.numpy(), x[mask].var(0), rtol=1e-4)


def test_frozen_batch_normalization_keeps_its_statistics():
    x = np.random.RandomState(1).standard_normal((8, 2)).astype(np.float32)
    layer = layers.BatchNormalization()
    layer(x, training=True)
    before = layer.get_weights()
    layer.trainable = False
    layer(x, training=True)
    for a, b in zip(before, layer.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_channels_first_is_channels_last_transposed():
    x = np.random.RandomState(1).standard_normal((2, 6, 7, 3)).astype(np.float32)
    for name, arguments in (("Conv2D", (4, 3)), ("DepthwiseConv2D", (3,)), ("Conv2DTranspose", (4, 3)), ("MaxPooling2D", ()), ("UpSampling2D", ()), ("ZeroPadding2D", ())):
        last = getattr(layers, name)(*arguments)
        expected = last(x).numpy()
        first = getattr(layers, name)(*arguments, data_format="channels_first")
        first.build((2, 3, 6, 7))
        first.set_weights(last.get_weights())
        got = first(x.transpose(0, 3, 1, 2)).numpy()
        np.testing.assert_allclose(got.transpose(0, 2, 3, 1), expected, rtol=1e-5, atol=1e-6)


def test_masks_of_embeddings_reach_attention():
    x = np.array([[1, 2, 0, 0], [3, 1, 2, 0]])
    embedded = layers.Embedding(5, 6, mask_zero=True)(x)
    plain = tf.constant(embedded.numpy())
    layer = layers.MultiHeadAttention(2, 3)
    got = layer(embedded, embedded)
    kept = tf.constant((x != 0)[:, :, None] & (x != 0)[:, None, :])
    np.testing.assert_allclose(got.numpy(), layer(plain, plain, attention_mask=kept).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got._keras_mask.numpy(), x != 0)
    assert np.abs(got.numpy() - layer(plain, plain).numpy()).max() > 1e-3


def test_an_activation_along_an_axis_sees_the_axes_as_they_were_given():
    x = np.random.RandomState(0).randn(2, 3, 5, 5).astype("float32")
    out = layers.Conv2D(4, 3, data_format="channels_first", activation="softmax")(x)
    np.testing.assert_allclose(tf.reduce_sum(out, -1), np.ones((2, 4, 3)), rtol=1e-5)


def test_a_mask_given_by_hand_goes_on_with_the_result():
    mask = np.array([[True, False]])
    out = layers.BatchNormalization()(np.ones((1, 2, 3), "float32"), mask=mask)
    np.testing.assert_array_equal(out._keras_mask, mask)


def test_attention_takes_masks_without_a_batch_and_scores_in_any_dtype():
    x = np.random.RandomState(0).randn(2, 4, 6)
    layer = layers.MultiHeadAttention(2, 3, dtype="float64")
    out, scores = layer(x, x, attention_mask=np.eye(4, dtype=bool), return_attention_scores=True)
    np.testing.assert_allclose(scores, np.broadcast_to(np.eye(4), (2, 2, 4, 4)))
    np.testing.assert_allclose(layer(x, x, attention_mask=np.eye(4, dtype=bool)), out, rtol=1e-6)


def test_batch_renormalization_normalizes_by_the_statistics_of_many_batches():
    """With r and d unbounded, a batch's result is what inference with the renorm statistics would give."""
    x = np.random.RandomState(0).randn(8, 3).astype("float32") * 2 + 1
    layer = layers.BatchNormalization(renorm=True, epsilon=1e-6, renorm_momentum=0.9)
    layer.build((None, 3))
    layer.renorm_mean.assign([1.0, 2.0, 3.0])
    layer.renorm_stddev.assign([2.0, 2.0, 4.0])
    np.testing.assert_allclose(layer(x, training=True), (x - [1, 2, 3]) / [2, 2, 4], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.renorm_mean, 0.9 * np.array([1, 2, 3]) + 0.1 * x.mean(0), rtol=1e-5)
    assert [v.name for v in layer.non_trainable_weights] == ["moving_mean", "moving_variance", "moving_stddev", "renorm_mean", "renorm_stddev"]
    with pytest.raises(ValueError, match="rmax should be greater than rmin"):
        layers.BatchNormalization(renorm=True, renorm_clipping={"rmax": 1.0, "rmin": 2.0})


def test_an_activation_may_be_taken_away_to_look_at_logits():
    x = np.random.RandomState(0).randn(2, 3).astype("float32")
    layer = layers.Dense(4, activation="softmax")
    layer(x)
    layer.activation = None
    np.testing.assert_allclose(layer(x), x @ layer.kernel.numpy(), rtol=1e-5, atol=1e-6)


def test_a_sequential_model_built_without_a_shape_has_a_configuration():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
    model.build()
    assert keras.Sequential.from_config(model.get_config()).output_shape == (None, 3)
