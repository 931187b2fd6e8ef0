"""Parts of Keras that few programs use: windows as columns, factorings, keras.Function, calls without state; the values are Keras'."""
import numpy as np
import pytest
import tandemflow as tf

keras, ops = tf.keras, tf.keras.ops
IMAGES = np.arange(2 * 3 * 5 * 4, dtype="float32").reshape(2, 3, 5, 4)


@pytest.mark.parametrize(
    "options, shape",
    [({"kernel_size": 2}, (2, 12, 12)), ({"kernel_size": (3, 2), "padding": 1, "stride": 2}, (2, 18, 9)), ({"kernel_size": 2, "dilation": (2, 1), "stride": (1, 2)}, (2, 12, 6))],
)
def test_windows_become_columns_and_images_again(options, shape):
    columns = ops.unfold(IMAGES, **options)
    assert columns.shape == shape
    counts = ops.fold(ops.unfold(np.ones_like(IMAGES), **options), (5, 4), **options).numpy()
    np.testing.assert_allclose(ops.fold(columns, (5, 4), **options).numpy(), IMAGES * counts, rtol=1e-6)
    if options == {"kernel_size": 2}:
        assert columns.numpy()[1, 5, :3].tolist() == [81, 82, 83] and ops.unfold(keras.Input((3, 5, 4)), 2).shape == (None, 12, 12)


def test_windows_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"windows of \(9, 9\).*do not fit into images of \(5, 4\)"):
        ops.unfold(IMAGES, 9)
    with pytest.raises(ValueError, match="have 12 windows of a multiple of 4 values, got shape \\(2, 12, 5\\)"):
        ops.fold(np.zeros((2, 12, 5), "float32"), (5, 4), 2)


def test_factors_of_matrices():
    near = np.testing.assert_allclose
    factor = np.linalg.cholesky([[4.0, 2.0], [2.0, 3.0]]).astype("float32")
    near(ops.cholesky_inverse(factor).numpy(), [[0.375, -0.25], [-0.25, 0.5]], rtol=1e-5)
    near(ops.cholesky_inverse(factor.T, upper=True).numpy(), [[0.375, -0.25], [-0.25, 0.5]], rtol=1e-5)
    both, order = ops.lu_factor(np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]], "float32"))
    near(both.numpy(), [[7, 8, 10], [0.1429, 0.8571, 1.5714], [0.5714, 0.5, -0.5]], atol=1e-4)
    assert order.numpy().tolist() == [1, 2, 0]
    matrix = np.array([[0.0, 1.0], [-1.0, 0.0]], "float32")
    values, vectors = (ops.convert_to_numpy(part) for part in ops.eig(matrix))
    assert sorted(np.round(values.imag, 5).tolist()) == [-1, 1]
    near(matrix @ vectors, vectors * values, atol=1e-6)
    with pytest.raises(ValueError, match="square matrices, got shape \\(2, 3\\)"):
        ops.lu_factor(np.zeros((2, 3), "float32"))


def test_small_functions():
    np.testing.assert_allclose(ops.i0(np.array([0.0, 1.0, 2.0], "float32")).numpy(), [1, 1.266066, 2.279585], rtol=1e-5)
    assert ops.view(np.array([1065353216], "int32"), "float32").numpy().tolist() == [1]
    assert ops.nextafter(np.array([1.0, 1.0], "float32"), np.array([2.0, 0.0], "float32")).numpy().tolist() == [1.0000001192092896, 0.9999999403953552]
    assert ops.vectorize(lambda a, b: a + b)([1, 2, 3, 4], 2).numpy().tolist() == [3, 4, 5, 6]
    turned = ops.polar(np.array([1.0, 2.0], "float32"), np.array([0.0, np.pi / 2], "float32"))
    np.testing.assert_allclose(ops.imag(turned).numpy(), [0, 2], atol=1e-6)
    np.testing.assert_allclose(ops.angle(turned).numpy(), [0, np.pi / 2], rtol=1e-6)


def test_a_function_of_a_drawn_graph():
    inputs = keras.Input((2,))
    function = keras.Function(inputs, ops.relu(keras.layers.Dense(3, kernel_initializer="ones")(inputs)) + 1)
    assert function(np.ones((1, 2), "float32")).numpy().tolist() == [[3, 3, 3]]
    assert function.compute_output_shape((None, 2)) == (None, 3) and len(function.inputs) == len(function.outputs) == 1


def test_calls_without_state_leave_the_variables_as_they_were():
    metric = keras.metrics.SparseCategoricalAccuracy()
    state = metric.stateless_reset_state()
    state = metric.stateless_update_state(state, np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    assert [float(v) for v in state] == [1, 2] and float(metric.stateless_result(state)) == 0.5 and float(metric.result()) == 0
    layer = keras.layers.Dense(2, kernel_initializer="ones")
    layer.build((None, 2))
    outputs, others = layer.stateless_call([np.full((2, 2), 3.0, "float32"), np.zeros(2, "float32")], [], np.ones((1, 2), "float32"))
    assert outputs.numpy().tolist() == [[6, 6]] and others == [] and layer.kernel.numpy().sum() == 4
    variable = keras.Variable(np.ones(2, "float32"))
    optimizer = keras.optimizers.SGD(0.1)
    with pytest.raises(ValueError, match="optimizer.build"):
        optimizer.stateless_apply([], [], [])
    optimizer.build([variable])
    trained, own = optimizer.stateless_apply([v.value() for v in optimizer.variables], [np.array([1.0, 2.0], "float32")], [np.ones(2, "float32")])
    np.testing.assert_allclose(trained[0].numpy(), [0.9, 0.8])
    assert int(own[0]) == 1 and int(optimizer.iterations) == 0 and variable.numpy().tolist() == [1, 1]
    with pytest.raises(ValueError, match="metric_variables must be a list of 2 values"):
        metric.stateless_result([0.0])


def test_a_saved_function_as_a_layer(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.export(str(tmp_path / "saved"), verbose=False)
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    layer = keras.layers.TFSMLayer(str(tmp_path / "saved"), call_endpoint="serve")
    np.testing.assert_array_equal(layer(x).numpy(), model(x).numpy())
    named = keras.layers.TFSMLayer(str(tmp_path / "saved"), call_endpoint="serving_default")
    np.testing.assert_array_equal(named(x)["output_0"].numpy(), model(x).numpy())
    inputs = keras.Input((3,))
    assert keras.Model(inputs, layer(inputs)).predict(x, verbose=0).shape == (4, 2) and layer.get_config()["call_endpoint"] == "serve"
    with pytest.raises(ValueError, match="'nope' is neither.*It has serve, serving_default"):
        keras.layers.TFSMLayer(str(tmp_path / "saved"), call_endpoint="nope")


def test_folders_of_sounds(tmp_path, capsys):
    for number, kind in enumerate("ab"):
        (tmp_path / kind).mkdir()
        for i in range(3):
            sound = tf.fill([10 * (i + 1), 1], 0.25 * (number + 1))
            tf.io.write_file(str(tmp_path / kind / f"{i}.wav"), tf.audio.encode_wav(sound, 8000))
    read = lambda **more: list(keras.utils.audio_dataset_from_directory(tmp_path, batch_size=3, shuffle=False, **more))  # noqa: E731
    padded = read()
    assert [sounds.shape.as_list() for sounds, _ in padded] == [[3, 30, 1]] * 2 and padded[1][1].numpy().tolist() == [1, 1, 1]
    assert padded[1][0].numpy()[0, :, 0].tolist() == [0.5] * 10 + [0.0] * 20
    assert [sounds.row_lengths().numpy().tolist() for sounds, _ in read(ragged=True)] == [[10, 20, 30]] * 2
    assert [sounds.shape.as_list() for sounds, _ in read(output_sequence_length=15)] == [[3, 15, 1]] * 2
    assert "Found 6 files belonging to 2 classes." in capsys.readouterr().out
    with pytest.raises(ValueError, match="both `ragged` and `output_sequence_length`"):
        read(ragged=True, output_sequence_length=5)


def test_windows_of_a_time_series_come_with_the_target_that_follows_them():
    made = keras.preprocessing.sequence.TimeseriesGenerator(np.arange(10), np.arange(10), length=4, sampling_rate=2, batch_size=3, reverse=True, start_index=1, end_index=8)
    assert len(made) == 2
    np.testing.assert_array_equal(made[0][0], [[3, 1], [4, 2], [5, 3]])
    np.testing.assert_array_equal(made[0][1], [5, 6, 7])
    np.testing.assert_array_equal(made[1][0], [[6, 4]])
    with pytest.raises(ValueError, match="of same length"):
        keras.preprocessing.sequence.TimeseriesGenerator([1, 2], [1], 1)
    with pytest.raises(ValueError, match="is disallowed"):
        keras.preprocessing.sequence.TimeseriesGenerator([1, 2], [1, 2], 5)


def test_the_backend_decodes_probabilities_whose_last_class_is_the_blank():
    steps = [0, 0, 2, 1, 2]  # 2 is the blank
    probabilities = np.full((1, 5, 3), 0.1, "float32")
    probabilities[0, range(5), steps] = 0.8
    labels, scores = keras.backend.ctc_decode(probabilities, np.array([5]))
    np.testing.assert_array_equal(labels[0], [[0, 1, -1, -1, -1]])
    np.testing.assert_allclose(scores, [[-5 * np.log(0.8 + 1e-7)]], rtol=1e-6)
