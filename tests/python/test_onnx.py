"""ONNX files: models written and read by onnxruntime, read back, and the nodes of the standard."""
import json
from pathlib import Path

import numpy as np
import onnx
import onnx_nodes
import onnxruntime
import pytest

import tandemflow as tf
from tandemflow.onnx import messages
from tandemflow.onnx.tensors import to_array

keras, layers = tf.keras, tf.keras.layers
HERE = Path(__file__).parent


def chain(shape, *stages):
    x = y = keras.Input(shape)
    for layer in stages:
        y = layer(y)
    return keras.Model(x, y)


def towers():
    a, b = keras.Input((6,), name="a"), keras.Input((4,), name="b")
    both = layers.Concatenate()([layers.Dense(3, activation="gelu")(a), layers.Dense(3, activation="silu")(b)])
    return keras.Model([a, b], [layers.Dense(2, activation="softmax", name="p")(both), layers.Dense(1, name="q")(both)])


def transformer():
    x = keras.Input((7,), dtype="int32")
    h = layers.Embedding(20, 8)(x)
    h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 4)(h, h, use_causal_mask=True))
    return keras.Model(x, layers.Dense(20)(layers.Dense(16, activation="relu")(h)))


def residual():
    x = keras.Input((16, 16, 3))
    h = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    h = layers.Add()([h, layers.Conv2D(8, 1)(x)])
    h = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(h)
    h = layers.SeparableConv2D(4, 3)(layers.DepthwiseConv2D(3, padding="same")(h))
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(h)))


MODELS = {
    "dense": lambda: chain((10,), layers.Dense(8, activation="relu"), layers.Dropout(0.5), layers.Dense(3, activation="softmax")),
    "pictures": lambda: chain(
        (28, 28, 3), layers.Rescaling(1 / 255), layers.Conv2D(8, 3, activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(8, 3, padding="same", activation="elu"), layers.AveragePooling2D(2), layers.Flatten(), layers.Dense(10, activation="softmax"),
    ),
    "residual": residual,
    "towers": towers,
    "transformer": transformer,
    "recurrent": lambda: chain(
        (9, 5), layers.LSTM(6, return_sequences=True), layers.GRU(4, return_sequences=True), layers.SimpleRNN(3), layers.Dense(2, activation="sigmoid")
    ),
    "any length": lambda: chain((None, 5), layers.Bidirectional(layers.LSTM(6)), layers.Dense(2)),
    "autoencoder": lambda: chain(
        (8, 8, 1), layers.Conv2D(4, 3, strides=2, padding="same"), layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="relu"),
        layers.UpSampling2D(), layers.Conv2D(1, 3, padding="same", activation="sigmoid"),
    ),
    "series": lambda: chain((12, 4), layers.Conv1D(6, 3, activation="leaky_relu"), layers.MaxPooling1D(2), layers.GlobalMaxPooling1D(), layers.Dense(1, activation="tanh")),
    "activations": lambda: chain((5,), layers.PReLU(), layers.LeakyReLU(), *(layers.Activation(a) for a in ("hard_sigmoid", "softplus", "mish", "selu")), layers.Reshape((5, 1))),
    "norms": lambda: chain((6, 6, 4), layers.GroupNormalization(2), layers.LayerNormalization(), layers.UnitNormalization(), layers.Cropping2D(1)),
}  # fmt: skip


def samples(model, batch):
    random = np.random.default_rng(0)
    for tensor in model.inputs:
        shape = [batch, *(6 if size is None else size for size in tensor.shape[1:])]
        yield random.integers(0, 20, shape).astype("int32") if "int" in str(tensor.dtype) else random.normal(size=shape).astype("float32")


@pytest.mark.parametrize("name", MODELS)
def test_models_give_the_same_in_onnxruntime_and_read_back(name, tmp_path):
    keras.utils.set_random_seed(1)
    model, path = MODELS[name](), str(tmp_path / "model.onnx")
    tf.onnx.export(model, path)
    onnx.checker.check_model(onnx.load(path))
    session, again = onnxruntime.InferenceSession(path), tf.onnx.load(path)
    for batch in (1, 3):  # the size of the batch is open
        inputs = list(samples(model, batch))
        wanted = model(inputs[0] if len(inputs) == 1 else inputs)
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        for got in (session.run(None, dict(zip(again.input_names, inputs))), again.run(dict(zip(again.input_names, inputs))).values()):
            for one, other in zip(got, wanted):
                np.testing.assert_allclose(np.asarray(one), other.numpy(), rtol=1e-5, atol=1e-6)


def test_functions_are_exported_by_their_signature(tmp_path):
    path, weights = str(tmp_path / "f.onnx"), tf.Variable([[1.0], [2.0]])

    @tf.function(input_signature=[tf.TensorSpec([None, 2], name="x")])
    def f(x):
        return tf.nn.relu(x @ weights) - tf.reduce_mean(x, -1, keepdims=True)

    tf.onnx.export(f, path)
    x = np.float32([[1, 2], [-3, 1]])
    np.testing.assert_allclose(onnxruntime.InferenceSession(path).run(None, {"x": x})[0], f(x))
    with pytest.raises(ValueError, match="input_signature"):
        tf.onnx.export(lambda x: x, path)
    with pytest.raises(NotImplementedError, match="no ONNX node for the op 'cholesky'"):
        tf.onnx.export(tf.linalg.cholesky, path, [tf.TensorSpec([3, 3])])


def test_gradients_of_softmaxes_are_exported(tmp_path):
    path = str(tmp_path / "slopes.onnx")

    def slopes(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.nn.softmax(x) ** 2) + tf.reduce_sum(tf.nn.log_softmax(x, 0) ** 2)
        return tape.gradient(y, x)

    tf.onnx.export(slopes, path, [tf.TensorSpec([2, 3], name="x")])
    x = np.float32([[1, -2, 0.5], [0, 3, 2]])
    np.testing.assert_allclose(onnxruntime.InferenceSession(path).run(None, {"x": x})[0], slopes(tf.constant(x)), rtol=1e-5)


def test_weights_can_be_trained_further(tmp_path):
    path, model = str(tmp_path / "m.onnx"), chain((3,), layers.Dense(1))
    tf.onnx.export(model, path)
    loaded, x = tf.onnx.load(path, trainable=True), tf.ones([4, 3])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(loaded(x) ** 2)
    gradients = tape.gradient(loss, loaded.trainable_variables)
    assert [list(g.shape) for g in gradients] == [[3, 1], [1]] and float(loss) > 0


def test_the_nodes_of_the_standard():
    """What does not pass is listed with its reason; tools/onnx_missing.py writes the list."""
    listed = json.loads((HERE / "onnx_missing.json").read_text())
    reasons = {name: reason for reason, names in listed.items() for name in names}
    worse, better = [], []
    for name, *case in onnx_nodes.cases():
        reason = onnx_nodes.run(name, *case)
        if reason and name not in reasons:
            worse.append(f"{name}: {reason}")
        elif not reason and name in reasons:
            better.append(name)
    assert not worse, "these passed before:\n" + "\n".join(worse)
    assert not better, "these pass now; run tools/onnx_missing.py:\n" + "\n".join(better)



@pytest.mark.parametrize("name", ["4d_causal_bf16", "4d_causal_padded_kv_bf16", "3d_causal_bf16", "4d_fp16"])
def test_attention_is_rounded_once_however_few_its_digits(name):
    from onnx.reference.ops.op_attention import _compute_attention

    case = next(case for case in onnx_nodes.cases() if case[0] == "test_attention_" + name)
    model, inputs = case[1:3]
    loaded = tf.onnx.load(model)
    given = onnx_nodes._given(loaded, inputs)
    node = onnx.load_model_from_string(model).graph.node[0]
    names = [name for name, there in zip(("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"), node.input) if there]
    attributes = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    wide = [np.asarray(value) if np.asarray(value).dtype.kind in "ib" else np.asarray(value, np.float64) for value in given]
    exact = _compute_attention(**dict(zip(names, wide)), **attributes)[0]
    got = loaded(*given)
    got = got[0] if isinstance(got, tuple) else got
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(exact), 1e-3))) + 1 - (11 if "fp16" in name else 8))
    assert (np.abs(np.asarray(got, np.float64) - exact) / unit).max() <= 0.51


def _trees(random, modes, **more):
    """Three random trees of seven questions and eight leaves each, as a model of float32."""
    inner = [[(2 * i + 1, 2 * i + 2) for i in range(7)] for _ in range(3)]  # beyond the seventh: leaves
    ways = {"true": [], "false": []}
    for tree, pairs in enumerate(inner):
        for pair in pairs:
            for way, child in zip(ways, pair):
                ways[way].append((child + 7 * tree, 0) if child < 7 else (child - 7 + 8 * tree, 1))
    weights = random.standard_normal(24).astype(np.float32)
    attributes = dict(
        tree_roots=[0, 7, 14], n_targets=4, nodes_featureids=random.integers(0, 5, 21).tolist(), leaf_targetids=random.integers(0, 3, 24).tolist(),
        nodes_modes=onnx.numpy_helper.from_array(random.choice(modes, 21).astype(np.uint8)), leaf_weights=onnx.numpy_helper.from_array(weights),
        nodes_splits=onnx.numpy_helper.from_array(np.round(random.standard_normal(21), 1).astype(np.float32)),
        **{f"nodes_{way}nodeids": [at for at, _ in goals] for way, goals in ways.items()}, **{f"nodes_{way}leafs": [leaf for _, leaf in goals] for way, goals in ways.items()},
        **more,
    )  # fmt: skip
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph([node], "trees", [helper.make_tensor_value_info("x", floats, [None, 5])], [helper.make_tensor_value_info("y", floats, None)])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 5)])


@pytest.mark.parametrize("aggregate", range(4))
def test_trees_give_what_onnxruntime_gives(aggregate, tmp_path):
    random = np.random.default_rng(aggregate)
    model = _trees(random, [0, 1, 2, 3, 4, 5], aggregate_function=aggregate, nodes_missing_value_tracks_true=random.integers(0, 2, 21).tolist())
    x = np.round(random.standard_normal((50, 5)), 1).astype(np.float32)
    x[random.random(x.shape) < 0.1] = np.nan
    onnx.save(model, tmp_path / "trees.onnx")
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    np.testing.assert_allclose(tf.onnx.load(str(tmp_path / "trees.onnx"))(x), wanted, rtol=1e-5, atol=1e-6)


def test_scores_of_trees_become_what_the_standard_says(tmp_path):
    """onnxruntime takes the numbers of softmax and logistic for one another."""
    x, answers = np.random.default_rng(1).standard_normal((9, 5)).astype(np.float32), []
    for transform in range(4):
        onnx.save(_trees(np.random.default_rng(5), [0], post_transform=transform), tmp_path / "trees.onnx")
        answers.append(tf.onnx.load(str(tmp_path / "trees.onnx"))(x).numpy())
    plain, powers = answers[0], np.exp(answers[0])
    np.testing.assert_allclose(answers[1], powers / powers.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(answers[2], powers / (1 + powers), rtol=1e-5)
    powers[plain == 0] = 0
    np.testing.assert_allclose(answers[3], powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_trees_that_lead_nowhere_are_refused(tmp_path):
    for change, message in ((dict(nodes_truenodeids=[99] * 21), "is not there"), (dict(nodes_truenodeids=[0] * 21, nodes_trueleafs=[0] * 21), "in circles")):
        model = _trees(np.random.default_rng(1), [0])
        for attribute in model.graph.node[0].attribute:
            if attribute.name in change:
                attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, change[attribute.name]))
        onnx.save(model, tmp_path / "trees.onnx")
        with pytest.raises(ValueError, match=message):
            tf.onnx.load(str(tmp_path / "trees.onnx"))(np.zeros((2, 5), np.float32))


def test_wrong_calls_and_files_are_refused(tmp_path):
    path = tmp_path / "m.onnx"
    tf.onnx.export(towers(), str(path))
    model, data = tf.onnx.load(str(path)), path.read_bytes()
    with pytest.raises(TypeError, match="input b is missing"):
        model(np.zeros((1, 6), np.float32))
    with pytest.raises(TypeError, match="inputs are a, b"):
        model(c=1)
    with pytest.raises(ValueError, match=r"input 'b' must have shape \['batch', 4\], got \[1, 5\]"):
        model(np.zeros((1, 6), np.float32), np.zeros((1, 5), np.float32))
    (tmp_path / "no.onnx").write_bytes(b"PK\3\4 this is a zip")
    with pytest.raises(ValueError, match="no.onnx"):
        tf.onnx.load(str(tmp_path / "no.onnx"))
    with pytest.raises(NotImplementedError, match="the ONNX op Gelo is not supported"):
        tf.onnx.load(data.replace(b"Gelu", b"Gelo"))


def test_damaged_files_never_crash(tmp_path):
    path = tmp_path / "m.onnx"
    tf.onnx.export(MODELS["dense"](), str(path))
    data, random = path.read_bytes(), np.random.default_rng(2)
    for cut in range(0, len(data), 7):
        _load_or_refuse(data[:cut])
    for _ in range(300):
        damaged = bytearray(data)
        for place in random.integers(0, len(data), 3):
            damaged[place] = random.integers(0, 256)
        _load_or_refuse(bytes(damaged))


def test_graphs_nested_without_end_are_refused():
    inner = messages.Graph(name="innermost")
    for _ in range(50):
        inner = messages.Graph(node=[messages.Node(op_type="If", attribute=[messages.Attribute(name="then_branch", type=messages.GRAPH, g=inner)])])
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        tf.onnx.load(messages.Model(graph=inner).to_bytes())


def test_16_bit_floats_are_the_lower_halves_of_their_numbers():
    for data_type, bits in ((10, 15360), (16, 16256)):  # float16 and bfloat16, 1.0 each
        tensor = messages.Tensor(name="t", data_type=data_type, dims=[2], int32_data=[bits, bits - 2**16])
        np.testing.assert_array_equal(to_array(tensor), [1, 1])


def _load_or_refuse(data):
    try:
        tf.onnx.load(data)
    except (ValueError, NotImplementedError):
        pass
