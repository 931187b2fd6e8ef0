"""What programs written for TensorFlow and Keras do that is easily missed; the answers are theirs."""
import subprocess
import sys

import numpy as np
import pytest

import tandemflow as tf
from tandemflow import _aliases, keras
from tandemflow.keras import layers, ops


def test_a_program_that_asks_for_a_version_gets_the_one_that_is_followed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import tensorflow as tf\nassert int(tf.__version__.split('.')[0]) >= 2 and tf.version.VERSION == tf.__version__\nprint(tf.__version__)\n")
    done = subprocess.run([sys.executable, "-m", "tandemflow", "run", str(program)], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == (_aliases.FOLLOWED, "")
    assert tf.__version__ != _aliases.FOLLOWED  # its own elsewhere


def test_a_program_that_runs_unchanged_may_write_to_its_arrays(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np, tensorflow as tf\nt, v = tf.constant([1.0, 2.0]), tf.Variable([1.0, 2.0])\n"
        "for x in (t, v, t * 2):\n    a = x.numpy()\n    a /= 2\n    print(a.tolist(), x.numpy().tolist())\n"
        "print(np.asarray(t).flags.writeable)\n"
    )
    done = subprocess.run([sys.executable, "-m", "tandemflow", "run", str(program)], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[0.5, 1.0] [1.0, 2.0]", "[0.5, 1.0] [1.0, 2.0]", "[1.0, 2.0] [2.0, 4.0]", "False"]
    assert not tf.constant([1.0]).numpy().flags.writeable  # a view elsewhere


def test_numbers_between_whole_ones_are_float64():
    line = tf.linspace(-2, 2, 5)
    assert line.dtype == tf.float64 and line.numpy().tolist() == [-2, -1, 0, 1, 2]
    assert tf.linspace([1, 2], [3, 5], 3).numpy().tolist() == [[1, 2], [2, 3.5], [3, 5]]
    assert tf.linspace([0.0, 1.0], [1.0, 3.0], 2, axis=-1).numpy().tolist() == [[0, 1], [1, 3]]


def test_a_shape_is_a_tensor_of_int32():
    assert tf.reduce_prod(tf.zeros([5, 8]).shape).numpy() == 40
    assert tf.constant(tf.TensorShape([5, 8])).dtype == tf.int32


def test_iterators_of_arrays_have_next():
    assert tf.data.Dataset.range(3).as_numpy_iterator().next() == 0


class Regularized(keras.Model):
    """Adds to the loss in call, and makes its layers there for the first time."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = layers.Dense(3), layers.Dense(4)

    def call(self, x):
        z = self.encoder(x)
        self.add_loss(ops.mean(z * z))
        return self.decoder(z)


def test_a_loss_that_a_model_adds_counts_once_in_the_first_step_too():
    x = np.random.default_rng(1).random((64, 4), "float32")
    model = Regularized()
    model.compile(keras.optimizers.SGD(0.0), loss="mse")
    loss = model.fit(x, x, verbose=0, batch_size=32).history["loss"][0]
    z = model.encoder(x).numpy()
    expected = np.mean((model.decoder(z).numpy() - x) ** 2) + np.mean(z**2)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert len(model.losses) == 1


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(4)])

    def build(self, input_shape):
        self.seen = input_shape

    def call(self, x):
        return x + self.inner(x)


def test_a_stack_inside_a_layer_keeps_sizes_open():
    block, x = Block(), keras.Input((None, 4))
    model = keras.Model(x, block(x))
    assert block.seen == (None, None, 4) and model.output_shape == (None, None, 4)
    assert model(np.ones((2, 12, 4))).shape == (2, 12, 4)
    assert model(np.ones((2, 13, 4))).shape == (2, 13, 4)


def test_a_stack_takes_other_sizes_where_its_layers_do():
    model = keras.Sequential([layers.Dense(3), layers.Conv1D(2, 2)])
    assert model(np.ones((2, 10, 4))).shape == (2, 9, 2)
    assert model(np.ones((2, 12, 4))).shape == (2, 11, 2)
    with pytest.raises(ValueError, match="expected axis -1 .* value 4"):
        model(np.ones((2, 12, 5)))
    with pytest.raises(ValueError, match=r"incompatible shape \(12, 4\)"):
        model(np.ones((12, 4)))


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
@pytest.mark.parametrize(
    "layer, shape",
    [
        (layers.Dense(2), (3, 4)), (layers.EinsumDense("ab,bc->ac", output_shape=2), (3, 4)),
        (layers.BatchNormalization(), (3, 4)), (layers.LayerNormalization(), (3, 4)), (layers.LSTM(2), (2, 3, 4)),
        (layers.GlobalAveragePooling1D(), (2, 3, 4)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, layers.Layer) else "",
)  # fmt: skip
def test_layers_compute_with_whole_numbers_as_floats(layer, shape, dtype):
    x = np.arange(np.prod(shape)).reshape(shape) % 2
    layer = type(layer).from_config(layer.get_config())
    result = layer(x.astype(dtype))
    assert result.dtype == tf.float32
    np.testing.assert_allclose(result, layer(x.astype("float32")), rtol=1e-6)


def test_layers_that_merge_take_whole_numbers_beside_floats():
    whole, real = np.array([[1, 2]]), np.array([[0.5, 0.25]], "float32")
    assert layers.Concatenate()([whole, real]).numpy().tolist() == [[1, 2, 0.5, 0.25]]
    assert layers.Multiply()([whole, real]).numpy().tolist() == [[0.5, 0.5]]
    masked = layers.Masking(mask_value=0)(np.array([[[1], [0]]]))
    assert masked.dtype == tf.int64


def test_variables_of_keras_are_made_of_initializers():
    assert keras.Variable(initializer="ones", shape=(2,)).numpy().tolist() == [1, 1]
    assert keras.Variable(lambda shape, dtype: tf.fill(shape, tf.cast(3, dtype)), shape=(1,), dtype="int32").dtype == tf.int32
    scalar = keras.Variable(2.5, trainable=False)
    assert isinstance(scalar, keras.Variable) and isinstance(scalar, tf.Variable) and not scalar.trainable
    with pytest.raises(ValueError, match="`shape` argument should be specified"):
        keras.Variable("zeros")


def test_a_model_of_a_class_is_a_layer_of_another():
    x = keras.Input((4,))
    model = keras.Model(x, Regularized()(x))
    assert model(np.ones((2, 4))).shape == (2, 4)


class Standardized(layers.Conv2D):
    def convolution_op(self, inputs, kernel):
        return super().convolution_op(inputs, kernel * 0 + 1)


def test_convolutions_let_subclasses_change_the_kernel():
    x = np.ones((1, 3, 3, 1), "float32")
    assert Standardized(1, 3)(x).numpy().item() == 9.0
    plain = layers.Conv2D(1, 3)
    plain.build((None, 3, 3, 1))
    assert plain.convolution_op(tf.constant(x), tf.ones([3, 3, 1, 1])).numpy().item() == 9.0


def test_an_input_layer_takes_the_old_name_of_its_shape():
    assert keras.Sequential([layers.InputLayer(input_shape=(3,)), layers.Dense(2)]).output_shape == (None, 2)


class Linear(layers.Layer):
    """Makes its variables with tf.Variable, as was usual before add_weight."""

    def build(self, input_shape):
        self.w = tf.Variable(tf.random_normal_initializer()(shape=(input_shape[-1], 3), dtype="float32"), trainable=True)
        self.b = tf.Variable(tf.random.normal([3]), trainable=True)

    def call(self, x):
        return tf.matmul(x, self.w) + self.b


def test_variables_are_made_of_drawn_numbers_while_a_step_is_traced():
    x, y = np.ones((32, 4), "float32"), np.ones((32, 3), "float32")
    model = keras.Sequential([Linear()])
    model.compile("sgd", "mse")
    first, last = model.fit(x, y, epochs=5, verbose=0).history["loss"][:: 4]
    assert last < first and len(model.trainable_variables) == 2


def test_arguments_that_do_not_fit_a_signature_are_of_the_wrong_type():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
    def f(x):
        return x

    for wrong in (tf.constant([[1]]), tf.constant([1.0])):
        with pytest.raises(TypeError, match="its input_signature says"):
            f(wrong)


def test_a_function_shows_what_it_was_traced_for():
    @tf.function
    def double(a):
        return a + a

    double(tf.constant(1))
    assert double.pretty_printed_concrete_signatures() == (
        "Input Parameters:\n  a (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.int32, name=None)\n"
        "Output Type:\n  TensorSpec(shape=(), dtype=tf.int32, name=None)\nCaptures:\n  None"
    )


def test_salted_bins_are_those_of_keras():
    texts = tf.constant([["a"], ["b"], ["longer text here!"]])
    assert layers.Hashing(64, salt=1337)(texts).numpy().tolist() == [[26], [20], [30]]
    assert layers.Hashing(64, salt=[133, 137])(tf.constant([[10], [20]])).numpy().tolist() == [[60], [27]]
    assert layers.Hashing(8, salt=3, mask_value="")(tf.constant(["a", "", "c"])).numpy().tolist() == [4, 0, 1]
    assert tf.strings.to_hash_bucket_strong(["a", "bb", "12345678"], 1000, key=[1, 2]).numpy().tolist() == [646, 371, 12]
    with pytest.raises(ValueError, match="tuple of size 2"):
        layers.Hashing(8, salt=[1, 2, 3])


def test_the_dtype_int_is_pythons():
    assert ops.cast([1.5], "int").dtype == tf.int64


def test_pictures_are_turned_over_and_channels_pooled():
    picture = tf.reshape(tf.range(2 * 4 * 5 * 6, dtype=tf.float32), [2, 4, 5, 6])
    over = tf.image.transpose(picture)
    assert over.shape == (2, 5, 4, 6) and over[1, 2, 3].numpy().tolist() == picture[1, 3, 2].numpy().tolist()
    assert tf.image.transpose(picture[0]).shape == (5, 4, 6)
    pooled = tf.nn.max_pool(picture, [1, 1, 1, 3], [1, 1, 1, 3], "VALID")
    assert pooled.shape == (2, 4, 5, 2) and pooled[0, 0, 0].numpy().tolist() == [2, 5]
    with pytest.raises(ValueError, match="6 channels do not divide into windows of 4"):
        tf.nn.max_pool(picture, [1, 1, 1, 4], [1, 1, 1, 4], "VALID")


def test_buckets_of_strings_are_those_of_tensorflow():
    assert tf.strings.to_hash_bucket_fast(["hello world", "foo bar baz", ""], 10).numpy().tolist() == [1, 2, 3]


def test_ops_between_layers_are_no_layers():
    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(1)(ops.relu(layers.Dense(3)(x) * 2.0)))
    assert [type(layer).__name__ for layer in model.layers] == ["InputLayer", "Dense", "Dense"]
    assert len(model.operations) == 5


def test_datasets_count_and_draw():
    assert list(tf.data.Dataset.counter(2, 3).take(3).as_numpy_iterator()) == [2, 5, 8]
    drawn = tf.data.Dataset.random(seed=4).take(5)
    first, second = list(drawn.as_numpy_iterator()), list(drawn.as_numpy_iterator())
    assert first == second and len(set(first)) == 5 and all(0 <= n < 2**32 for n in first)
    fresh = tf.data.Dataset.random(seed=4, rerandomize_each_iteration=True).take(5)
    assert list(fresh.as_numpy_iterator()) != list(fresh.as_numpy_iterator())


@pytest.mark.parametrize(
    "mode, mean, one", [("log", 0.6016, 0.738), ("magnitude", 0.8396, 2.092), ("psd", 1.6704, 8.75), ("real", 0.6039, 1.94), ("imag", 0.4117, 0.783),
                        ("angle", 1.5962, 0.384), ("stft", 0.5078, -0.351)]
)  # fmt: skip
def test_spectrograms_are_those_of_keras(mode, mean, one):
    x = np.random.RandomState(0).randn(2, 100, 2).astype("float32")
    y = layers.STFTSpectrogram(mode=mode, frame_length=16)(x).numpy()
    assert y.shape == (2, 11, 36 if mode == "stft" else 18)
    assert np.abs(y).mean() == pytest.approx(mean, abs=1e-4) and y.ravel()[37] == pytest.approx(one, abs=1e-3)


def test_sizes_that_a_stride_divides_stay_open():
    assert layers.STFTSpectrogram(frame_length=16, expand_dims=True)(keras.Input((None, 1))).shape == (None, None, 9, 1)
    assert keras.Sequential([layers.Conv1D(2, 32, strides=32)])(keras.Input((None, 3))).shape == (None, None, 2)
    with pytest.raises(ValueError, match="not greater than `frame_length`"):
        layers.STFTSpectrogram(frame_length=16, frame_step=17)


def test_a_strategy_of_many_machines_trains_on_the_one_there_is(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for strategy in (tf.distribute.MultiWorkerMirroredStrategy(), tf.distribute.experimental.CentralStorageStrategy()):
        assert strategy.num_replicas_in_sync >= 1 and isinstance(strategy, tf.distribute.MirroredStrategy)
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}')
    with pytest.raises(NotImplementedError, match="names 2 workers"):
        tf.distribute.MultiWorkerMirroredStrategy()


@pytest.mark.parametrize(
    "ask, nearest",
    [
        (lambda: tf.estimator.Estimator, "use tf.keras.Model"), (lambda: tf.feature_column, "use the preprocessing layers"),
        (lambda: tf.distribute.TPUStrategy, "use tf.distribute.MirroredStrategy"), (lambda: tf.lite, "format='onnx'"),
    ],
)  # fmt: skip
def test_what_cannot_be_here_names_what_is(ask, nearest):
    with pytest.raises(AttributeError, match=nearest):
        ask()
