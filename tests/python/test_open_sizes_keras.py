"""Keras models inside traced functions whose batch size is left open."""
import numpy as np
import pytest

import tandemflow as tf
from tandemflow.keras import layers

SIZES = [4, 1, 3, 7, 2]


def numbers(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def dense():
    return [layers.Dense(8, activation="relu"), layers.LayerNormalization(), layers.Dense(5, activation="softmax")]


def convolutional():
    features = [layers.Conv2D(4, 3, activation="relu", padding="same"), layers.BatchNormalization(), layers.MaxPooling2D()]
    return [*features, layers.Flatten(), layers.Dense(5, activation="softmax")]


def residual():
    features = [layers.Conv2D(4, 3, strides=2, padding="same"), layers.DepthwiseConv2D(3), layers.GlobalAveragePooling2D()]
    return [*features, layers.Dropout(0.0), layers.Dense(5, activation="softmax")]


def recurrent():
    return [layers.LSTM(6, return_sequences=True), layers.GRU(4), layers.Dense(5, activation="softmax")]


def reshaping():
    features = [layers.Reshape((2, 6)), layers.Permute((2, 1)), layers.UpSampling1D(2), layers.GlobalMaxPooling1D()]
    return [*features, layers.Dense(5, activation="softmax")]


MODELS = {
    "dense": (dense, (12,)),
    "convolutional": (convolutional, (8, 8, 2)),
    "residual": (residual, (9, 9, 2)),
    "recurrent": (recurrent, (5, 3)),
    "reshaping": (reshaping, (12,)),
}


def built(name):
    make, shape = MODELS[name]
    tf.random.set_seed(1)
    model = tf.keras.Sequential(make())
    model(numbers(2, *shape))
    return model, shape


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_takes_any_batch_with_one_trace(name, training):
    model, shape = built(name)
    f = tf.function(lambda x: model(x, training=training), input_signature=[tf.TensorSpec([None, *shape])])
    for size in SIZES:
        x = numbers(size, *shape)
        kept = [w.numpy().copy() for w in model.weights]
        found = f(x).numpy()
        for w, value in zip(model.weights, kept):
            w.assign(value)  # what batch normalization has moved
        np.testing.assert_allclose(found, model(x, training=training).numpy(), rtol=1e-4, atol=1e-5)
        for w, value in zip(model.weights, kept):
            w.assign(value)
    assert f.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_takes_any_batch_with_one_trace(name):
    def trained(traced):
        model, shape = built(name)
        optimizer = tf.keras.optimizers.Adam(0.01)
        metric = tf.keras.metrics.SparseCategoricalAccuracy()
        loss_of = tf.keras.losses.SparseCategoricalCrossentropy()

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            metric.update_state(y, model(x))
            return loss

        optimizer.build(model.trainable_variables)
        run = tf.function(step, input_signature=[tf.TensorSpec([None, *shape]), tf.TensorSpec([None], tf.int32)]) if traced else step
        losses = [float(run(tf.constant(numbers(size, *shape)), tf.constant(np.arange(size, dtype=np.int32) % 5))) for size in SIZES]
        return losses, [w.numpy() for w in model.weights], float(metric.result()), run.experimental_get_tracing_count() if traced else 1

    found, expected = trained(True), trained(False)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-3, atol=1e-5)
    for a, b in zip(found[1], expected[1]):
        np.testing.assert_allclose(a, b, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5)
    assert found[3] == 1


def test_attention_takes_any_batch():
    layer = layers.MultiHeadAttention(2, 4)
    layer(numbers(2, 5, 8), numbers(2, 5, 8))
    f = tf.function(lambda x: layer(x, x), input_signature=[tf.TensorSpec([None, 5, 8])])
    for size in SIZES:
        x = numbers(size, 5, 8)
        np.testing.assert_allclose(f(x).numpy(), layer(x, x).numpy(), rtol=1e-4, atol=1e-5)
    assert f.experimental_get_tracing_count() == 1


def test_embeddings_take_any_length_of_any_batch():
    layer = layers.Embedding(10, 4)
    layer(np.zeros([1, 1], np.int32))
    f = tf.function(lambda x: tf.reduce_sum(layer(x), axis=1), input_signature=[tf.TensorSpec([None, None], tf.int32)])
    for shape in [(2, 3), (4, 1), (3, 7), (5, 2)]:
        x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape) % 10
        np.testing.assert_allclose(f(x).numpy(), tf.reduce_sum(layer(x), axis=1).numpy(), rtol=1e-5)
    assert f.experimental_get_tracing_count() == 1


def test_a_layer_that_is_built_inside_knows_its_shape_as_keras_does():
    seen = []

    class Scale(layers.Layer):
        def build(self, input_shape):
            seen.append(tuple(input_shape))
            self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones")

        def call(self, x):
            seen.append(x.shape[0])
            return x * self.w

    layer = Scale()
    f = tf.function(lambda x: layer(x), input_signature=[tf.TensorSpec([None, 3])])
    for size in SIZES:
        np.testing.assert_allclose(f(numbers(size, 3)).numpy(), numbers(size, 3))
    assert seen[:2] == [(None, 3), None]
    assert layer.get_build_config() == {"input_shape": (None, 3)}


def test_fit_and_predict_go_their_own_way():
    model = tf.keras.Sequential([layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    x, y = numbers(10, 3), numbers(10, 1)
    model.fit(x, y, batch_size=4, verbose=0)
    f = tf.function(lambda x: model(x), input_signature=[tf.TensorSpec([None, 3])])
    np.testing.assert_allclose(model.predict(x, batch_size=3, verbose=0), f(x).numpy(), rtol=1e-5)


def test_a_saved_function_serves_sizes_that_it_was_not_called_with(tmp_path):
    class Module(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(tf.ones([3, 2]))

        @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        def run(self, x):
            return tf.reshape(tf.matmul(x, self.w), [tf.shape(x)[0] * 2])

    module = Module()
    for size in (2, 5):
        module.run(numbers(size, 3))
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    for size in (1, 4, 9):
        np.testing.assert_allclose(loaded.run(numbers(size, 3)).numpy(), module.run(numbers(size, 3)).numpy(), rtol=1e-5)


def test_what_a_function_runs_can_be_explained_for_each_size():
    f = tf.function(lambda x: tf.nn.relu(x) * 2.0, input_signature=[tf.TensorSpec([None, 3])])
    for size in (2, 7):
        f(numbers(size, 3))
        assert f"[{size}, 3]" in f.get_concrete_function(tf.TensorSpec([size, 3])).graph.to_string()
        assert tf.explain(f, tf.constant(numbers(size, 3)))
