"""fit, evaluate and predict: what they take and what they refuse."""
import numpy as np
import pytest

import tandemflow as tf

keras = tf.keras


def clusters(rows=600, classes=3, features=8, seed=0):
    random = np.random.RandomState(seed)
    centres = random.randn(classes, features) * 3
    y = random.randint(0, classes, rows)
    return (centres[y] + random.randn(rows, features) * 0.3).astype("float32"), y


def classifier(features=8, classes=3, **compile_arguments):
    model = keras.Sequential([
        keras.layers.Dense(16, activation="relu", input_shape=(features,)),
        keras.layers.Dense(classes, activation="softmax"),
    ])  # fmt: skip
    arguments = {"optimizer": "adam", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    model.compile(**{**arguments, **compile_arguments})
    return model


def test_a_classifier_learns_to_tell_clusters_apart():
    keras.utils.set_random_seed(1)
    x, y = clusters()
    model = classifier(optimizer=keras.optimizers.Adam(0.01))
    history = model.fit(x, y, epochs=15, verbose=0, validation_split=0.2)
    assert sorted(history.history) == ["accuracy", "loss", "val_accuracy", "val_loss"]
    assert history.epoch == list(range(15)) and history.params == {"verbose": 0, "epochs": 15, "steps": 15}
    assert model.evaluate(x, y, verbose=0)[1] >= 0.99
    predictions = model.predict(x, verbose=0)
    assert predictions.shape == (600, 3) and (predictions.argmax(-1) == y).mean() >= 0.99


def digits(rows, seed):
    """Seven-segment figures, moved about, with noise."""
    segments = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
    lines = {"a": (0, slice(0, 5)), "g": (4, slice(0, 5)), "d": (8, slice(0, 5)), "f": (slice(0, 5), 0),
             "b": (slice(0, 5), 4), "e": (slice(4, 9), 0), "c": (slice(4, 9), 4)}  # fmt: skip
    random = np.random.RandomState(seed)
    x = random.rand(rows, 14, 12, 1).astype("float32") * 0.4
    y = random.randint(0, 10, rows)
    for image, figure in zip(x, y):
        top, left = random.randint(0, 5), random.randint(0, 7)
        drawn = image[top : top + 9, left : left + 5, 0]
        for name in segments[figure]:
            drawn[lines[name]] = 1
    return x, y


def test_a_small_convolutional_network_reads_drawn_digits():
    keras.utils.set_random_seed(2)
    x, y = digits(1500, 0)
    model = keras.Sequential([
        keras.Input((14, 12, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(24, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dropout(0.1),
        keras.layers.Dense(10),
    ])  # fmt: skip
    model.compile(keras.optimizers.Adam(3e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.fit(x, y, epochs=8, batch_size=32, verbose=0)
    assert model.evaluate(*digits(400, 1), verbose=0, return_dict=True)["accuracy"] >= 0.97


def test_every_kind_of_data_gives_the_same_training():
    x, y = clusters(96)

    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return x[32 * i : 32 * i + 32], y[32 * i : 32 * i + 32]

    def generator():
        while True:
            for i in range(3):
                yield x[32 * i : 32 * i + 32], y[32 * i : 32 * i + 32]

    given = {
        "arrays": dict(x=x, y=y),
        "float64 arrays": dict(x=x.astype("float64"), y=y),
        "tensors": dict(x=tf.constant(x), y=tf.constant(y)),
        "dataset": dict(x=tf.data.Dataset.from_tensor_slices((x, y)).batch(32)),
        "PyDataset": dict(x=Batches()),
        "PyDataset with workers": dict(x=Batches(workers=2)),
        "generator": dict(x=generator(), steps_per_epoch=3),
        "lists": dict(x=x.tolist(), y=y.tolist()),
    }
    losses = {}
    for kind, data in given.items():
        keras.utils.set_random_seed(3)
        losses[kind] = classifier().fit(**data, epochs=2, shuffle=False, verbose=0).history["loss"]
    for kind, loss in losses.items():
        np.testing.assert_allclose(loss, losses["arrays"], rtol=1e-6, err_msg=kind)


def test_a_seed_fixes_weights_order_and_dropout():
    x, y = clusters(100)

    def train():
        keras.utils.set_random_seed(5)
        model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.5), keras.layers.Dense(3)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(x, y, epochs=2, verbose=0)
        return model.get_weights()

    for a, b in zip(train(), train()):
        np.testing.assert_array_equal(a, b)


def test_class_weights_and_sample_weights_say_the_same():
    x, y = clusters(64)
    weights = {0: 1.0, 1: 3.0, 2: 0.5}
    losses = []
    for data in (dict(class_weight=weights), dict(sample_weight=np.array([weights[c] for c in y]))):
        keras.utils.set_random_seed(3)
        losses.append(classifier().fit(x, y, **data, epochs=2, shuffle=False, verbose=0).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)


def test_a_step_of_ones_own_is_trained_with():
    class Doubled(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)
            self.tracker = keras.metrics.Mean(name="my_loss")

        def call(self, x):
            return self.dense(x)

        @property
        def metrics(self):
            return [self.tracker]

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y)) * 2.0
            variables = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            self.tracker.update_state(loss)
            return {"my_loss": self.tracker.result()}

    x = np.random.RandomState(0).rand(64, 4).astype("float32")
    y = x.sum(1, keepdims=True)
    model = Doubled()
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    losses = model.fit(x, y, epochs=20, verbose=0).history["my_loss"]
    assert losses[-1] < 0.05 * losses[0]


def test_a_step_of_ones_own_may_update_the_metrics_of_compile():
    class Usual(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred)
            self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics}

    inputs = keras.Input((4,))
    model = Usual(inputs, keras.layers.Dense(1)(inputs))
    model.compile("adam", "mse", metrics=["mae"])
    assert sorted(model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0).history) == ["loss", "mae"]


def test_a_loop_of_ones_own_learns():
    x, y = clusters(200)
    model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(3)])
    loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer, accuracy = keras.optimizers.Adam(0.02), keras.metrics.SparseCategoricalAccuracy()

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_object(y, logits)
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
        accuracy.update_state(y, logits)
        return loss

    for _ in range(15):
        accuracy.reset_state()
        for batch_x, batch_y in tf.data.Dataset.from_tensor_slices((x, y)).batch(50):
            step(batch_x, batch_y)
    assert float(accuracy.result()) >= 0.99
    assert int(optimizer.iterations) == 60


@pytest.mark.parametrize("eagerly", [False, True])
def test_added_losses_and_regularizers_count(eagerly):
    class Penalised(keras.layers.Layer):
        def call(self, x):
            self.add_loss(0.5 * tf.reduce_mean(tf.square(x)))
            return x

    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, kernel_regularizer="l2"), Penalised()])
    model.compile("sgd", "mse", run_eagerly=eagerly)
    x, y = np.ones((4, 3), "float32"), np.zeros((4, 2), "float32")
    output = model.predict(x, verbose=0)
    kernel = model.get_weights()[0]
    expected = np.mean(output**2) * 1.5 + 0.01 * np.sum(kernel**2)
    np.testing.assert_allclose(model.evaluate(x, y, verbose=0), expected, rtol=1e-5)
    before = model.test_on_batch(x, y)
    for _ in range(30):
        model.train_on_batch(x, y)
    assert model.test_on_batch(x, y) < before


def test_nothing_trains_while_it_is_frozen():
    x, y = clusters(64)
    model = classifier()
    model.layers[0].trainable = False
    model.compile("sgd", "sparse_categorical_crossentropy")
    before = model.get_weights()
    model.fit(x, y, verbose=0)
    after = model.get_weights()
    np.testing.assert_array_equal(before[0], after[0])
    assert np.abs(before[2] - after[2]).max() > 0
    assert len(model.trainable_weights) == 2 and len(model.non_trainable_weights) == 2


def test_callbacks_see_every_batch_and_may_stop():
    x, y = clusters(96)
    seen = []

    class Watch(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append((batch, sorted(logs)))
            if batch == 1:
                self.model.stop_training = True

    history = classifier().fit(x, y, epochs=5, verbose=0, callbacks=[Watch()])
    assert seen == [(0, ["accuracy", "loss"]), (1, ["accuracy", "loss"])]
    assert len(history.history["loss"]) == 1


# --- What is refused ---


def refused(error, text, call):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value), str(caught.value)


def test_mistakes_are_told_clearly():
    x, y = clusters(32)
    refused(ValueError, "compile()", lambda: keras.Sequential([keras.layers.Dense(1)]).fit(x, y))
    refused(ValueError, "Did you mean 'adam'?", lambda: classifier(optimizer="adan"))
    refused(ValueError, "Did you mean", lambda: classifier(loss="sparse_categorical_crossentropi"))
    refused(ValueError, "Did you mean", lambda: classifier(metrics=["presicion"]))
    refused(ValueError, "'x' sizes: 32\n'y' sizes: 31", lambda: classifier().fit(x, y[:-1], verbose=0))
    refused(ValueError, "no samples", lambda: classifier().fit(x[:0], y[:0], verbose=0))
    refused(ValueError, "expected axis -1 of input shape to have value 8, but received input with shape (2, 9)", lambda: classifier()(np.ones((2, 9), "float32")))
    refused(ValueError, "shape", lambda: classifier().fit(np.ones((32, 9)), y, verbose=0))
    refused(tf.errors.InvalidArgumentError, "batch_size", lambda: classifier().fit(x, y, batch_size=0, verbose=0))
    refused(ValueError, "infinitely", lambda: classifier().fit(tf.data.Dataset.from_tensors((x, y)).repeat(), verbose=0))
    refused(ValueError, "y", lambda: classifier().fit(x, verbose=0))


def test_labels_out_of_range_are_refused():
    x, y = clusters(32)
    refused(tf.errors.InvalidArgumentError, "3", lambda: classifier().fit(x, y + 3, verbose=0))


def test_control_flow_over_tensors_in_a_layer_is_part_of_the_step():
    class Clipped(keras.layers.Layer):
        def call(self, x):
            total = tf.reduce_sum(x)
            if total > 1000.0:
                x = x * 0.0
            turns = tf.constant(0)
            while turns < 3:
                x = x + 1.0
                turns += 1
            return x

    model = keras.Sequential([keras.Input((2,)), Clipped()])
    assert model.predict(np.ones((1, 2)), verbose=0).tolist() == [[4, 4]]
    assert model.predict(np.full((1, 2), 1e4), verbose=0).tolist() == [[3, 3]]


def test_a_model_says_where_its_step_runs_and_why():
    model = classifier()
    of_a_call = [op["op"] for op in tf.explain(model, verbose=False).ops]
    assert any("matmul" in op for op in of_a_call) and "softmax" in of_a_call
    model.fit(*clusters(64), verbose=0)
    step = tf.explain(model, verbose=False)
    assert "apply_adam" in {op["op"] for op in step.ops}
    assert all(op["chosen"] == "/CPU:0" and op["reason"] and op["text"] for op in step.ops)
    refused(ValueError, "tf.explain(model, x)", lambda: tf.explain(keras.Sequential([keras.layers.Dense(1)]), verbose=False))


def test_sizes_may_be_numbers_of_numpy():
    dense = keras.layers.Dense(np.int64(3), input_shape=(np.int32(2),))
    assert dense(np.ones((1, 2))).shape == (1, 3) and type(dense.units) is int
    assert keras.layers.Reshape((np.prod((2, 2)),))(np.ones((1, 2, 2))).shape == (1, 4)


def test_a_model_of_strings_predicts_and_trains():
    words = keras.layers.TextVectorization(max_tokens=20, output_sequence_length=4)
    words.adapt(["good film", "bad film"])
    model = keras.Sequential([
        keras.Input((1,), dtype="string"), words, keras.layers.Embedding(20, 4), keras.layers.GlobalAveragePooling1D(),
        keras.layers.Dense(1, activation="sigmoid"),
    ])  # fmt: skip
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    x, y = np.array([["good film"], ["bad film"]] * 8), np.array([1, 0] * 8)
    assert model.fit(x, y, epochs=10, verbose=0).history["accuracy"][-1] == 1
    assert (model.predict(tf.constant(x), verbose=0)[:, 0].round() == y).all()


def weighted_sum(steps=None, **compile_arguments):
    """A model whose loss is the mean of what it is given: it shows which batches an epoch saw."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.0), lambda y, p: p, **compile_arguments)
    return model


def test_epochs_shorter_than_the_data_go_on_where_the_last_one_stopped():
    x = np.arange(10, dtype="float32")[:, None]
    history = weighted_sum().fit(x, x, batch_size=1, steps_per_epoch=4, epochs=4, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], [1.5, 5.5, 8.5, 1.5])


def test_a_batch_of_its_own_has_metrics_of_its_own():
    model = weighted_sum()
    x = np.ones((4, 1), "float32")
    assert [float(model.train_on_batch(x * k, x)) for k in (1, 3)] == [1, 3]
    assert [float(model.test_on_batch(x * k, x)) for k in (5, 2)] == [5, 2]


def test_callbacks_are_told_of_several_steps_together():
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(batch), on_train_batch_end=lambda batch, logs: seen.append(-batch)
    )
    x = np.ones((10, 1), "float32")
    weighted_sum(steps_per_execution=4).fit(x, x, batch_size=1, callbacks=[callback], verbose=0)
    assert seen == [0, -3, 4, -7, 8, -11]


def test_a_py_dataset_without_an_end_gives_as_many_batches_as_are_asked_for():
    class Endless(keras.utils.PyDataset):
        num_batches = None

        def __getitem__(self, index):
            return np.full((2, 1), index, "float32"), np.ones((2, 1), "float32")

    history = weighted_sum().fit(Endless(), steps_per_epoch=3, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(history.history["loss"], [1, 4])
    with pytest.raises(ValueError, match="steps_per_epoch"):
        weighted_sum().fit(Endless(), verbose=0)
