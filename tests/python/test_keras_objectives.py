"""keras.losses and keras.metrics: masks, names, shapes, own classes; numbers are compared in test_keras_parts.py."""
import numpy as np
import pytest
import tandemflow as tf
from tandemflow.keras._engine.logits import remembered

keras = tf.keras
losses, metrics = keras.losses, keras.metrics
P = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]], np.float32)


def masked(values, mask):
    """A tensor with a mask, as layers give it."""
    tensor = tf.constant(values)
    tensor._keras_mask = tf.constant(mask)
    return tensor


# --- Losses ---


def test_strings_name_losses_and_unknown_ones_the_nearest():
    assert losses.get("mse") is losses.mean_squared_error is losses.get("MeanSquaredError").fn
    assert losses.get("sparse_categorical_crossentropy") is losses.sparse_categorical_crossentropy
    assert losses.get(None) is None
    with pytest.raises(ValueError, match="Could not interpret loss identifier: crossentrpy. Did you mean"):
        losses.get("crossentrpy")


@pytest.mark.parametrize(
    "y_true, y_pred, function",
    [
        ((4,), (4, 1), "binary_crossentropy"),
        ((4,), (4, 3), "sparse_categorical_crossentropy"),
        ((4, 1), (4, 3), "sparse_categorical_crossentropy"),
        ((4, 3), (4, 3), "categorical_crossentropy"),
        ((4, 5), (4, 5, 3), "sparse_categorical_crossentropy"),
    ],
)
def test_crossentropy_is_the_one_that_fits_the_shapes(y_true, y_pred, function):
    y_true, y_pred = np.zeros(y_true), np.zeros(y_pred)
    loss = losses.resolve("crossentropy", y_true, y_pred)
    assert loss.fn is getattr(losses, function) and loss.name == "crossentropy"
    labels, p = np.zeros(y_true.shape, np.int64), np.full(y_pred.shape, 1 / max(y_pred.shape[-1], 2), np.float32)
    unresolved = losses.LossFunctionWrapper(losses.get("ce"))  # told at the call
    assert float(unresolved(labels, p)) == float(loss(labels, p))
    metric = metrics.resolve("ce", y_true, y_pred)
    assert metric._fn is getattr(losses, function) and metric.name == "ce"
    accuracy = metrics.resolve("acc", y_true, y_pred)
    assert accuracy.name == "acc" and accuracy._fn is getattr(metrics, function.replace("crossentropy", "accuracy"))


def test_probabilities_of_this_step_are_traced_back_to_their_logits():
    logits = tf.constant([[0.0, 200.0], [0.0, -200.0]])
    with remembered():
        p = keras.activations.softmax(logits)
        assert float(losses.SparseCategoricalCrossentropy(reduction="sum")([0, 0], p)) == 200
        assert float(losses.CategoricalCrossentropy(reduction="sum")([[1, 0], [1, 0]], p)) == 200
        sigmoid = keras.activations.sigmoid(logits[:, 1:])
        assert float(losses.BinaryCrossentropy(reduction="sum")([[0], [0]], sigmoid)) == 200
        half = keras.activations.softmax(tf.cast(logits, tf.float16))
        assert float(losses.SparseCategoricalCrossentropy(reduction="sum")([0, 0], half)) == 200
    assert float(losses.SparseCategoricalCrossentropy(reduction="sum")([0, 0], p)) == pytest.approx(-np.log(1e-7), rel=1e-4)


@pytest.mark.parametrize("loss", [losses.binary_crossentropy, losses.kl_divergence])
def test_what_was_clipped_has_no_gradient(loss):
    labels, p = tf.constant([[0.3, 0.6, 0.2, 0.5]]), tf.constant([[float("nan"), 3e38, -3e38, 0.5]])
    with tf.GradientTape() as tape:
        tape.watch(p)
        value = loss(labels, p)
    found = tape.gradient(value, p).numpy()[0]
    assert found[:3].tolist() == [0, 0, 0] and np.isfinite(found[3])


def test_accuracy_does_not_need_the_softmax():
    metric = metrics.SparseCategoricalAccuracy()

    @tf.function
    def step(labels, logits):
        with remembered():
            metric.update_state(labels, keras.activations.softmax(logits))

    labels, logits = tf.constant([1, 0]), tf.constant(P)
    step(labels, logits)
    assert float(metric.result()) == 1 and "softmax" not in str(step.get_concrete_function(labels, logits).graph.optimized)


def test_a_mean_over_a_mask_is_over_what_it_lets_through():
    y_true, y_pred = np.zeros((2, 3, 1), np.float32), np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    mask = [[True, True, False], [False, True, False]]
    predicted = masked(y_pred, mask)
    counted = np.array([0, 1, 16])  # squares of 0, 1 and 4
    assert float(losses.MeanSquaredError()(y_true, predicted)) == pytest.approx(counted.mean(), rel=1e-6)
    assert float(losses.MeanSquaredError(reduction="sum")(y_true, predicted)) == counted.sum()
    weight = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    weighted = float(losses.MeanSquaredError()(y_true, predicted, sample_weight=weight))
    assert weighted == pytest.approx((counted * [1, 2, 5]).sum() / 3, rel=1e-6)
    metric = metrics.MeanSquaredError()
    metric.update_state(y_true, predicted)
    assert float(metric.result()) == pytest.approx((1 / 3 + 16 / 3) / (2 / 3 + 1 / 3), rel=1e-6)


def test_a_mask_that_lets_nothing_through_gives_zero():
    predicted = masked(np.ones((2, 3), np.float32), [False, False])
    assert float(losses.MeanAbsoluteError()(np.zeros((2, 3)), predicted)) == 0


def test_ranks_that_differ_by_a_last_axis_of_one_fit():
    column = np.arange(4, dtype=np.float32)[:, None]
    assert float(losses.MeanSquaredError()(column[:, 0], column)) == 0
    assert losses.mean_squared_error(np.zeros((2, 3)), np.ones((2, 3, 1), np.float32)).shape == (2,)
    assert losses.SparseCategoricalCrossentropy(reduction="none")([[1], [0]], P).shape == (2,)


@pytest.mark.parametrize("labels", [np.array([1, 0]), np.array([1.0, 0.0]), np.array([1, 0], np.uint8), [[1], [0]]])
def test_class_numbers_may_have_any_dtype(labels):
    got = losses.SparseCategoricalCrossentropy(reduction="none")(labels, P).numpy()
    np.testing.assert_allclose(got, -np.log([0.7, 0.5]), rtol=1e-5)
    assert float(metrics.SparseCategoricalAccuracy()(labels, P)) == 1


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"target.shape=\(3,\), output.shape=\(2, 3\)"):
        losses.sparse_categorical_crossentropy([0, 1, 2], P)
    with pytest.raises(ValueError, match=r"must have the same shape.*sparse_categorical_crossentropy"):
        losses.categorical_crossentropy([[1.0, 0.0]], P)
    with pytest.raises(ValueError, match="must be of type `int`"):
        losses.categorical_crossentropy(P, P, axis=True)


@pytest.mark.parametrize("cls", ["MeanSquaredError", "BinaryCrossentropy"])
def test_reductions_are_checked(cls):
    with pytest.raises(ValueError, match="Invalid value for argument `reduction`.*reduction=average"):
        getattr(losses, cls)(reduction="average")
    assert getattr(losses, cls)(reduction="auto").reduction == losses.Reduction.SUM_OVER_BATCH_SIZE


def test_losses_compute_in_their_dtype():
    loss = losses.MeanSquaredError(dtype="float64")
    assert loss(P, P).dtype == tf.float64 and losses.MeanSquaredError()(P.astype(np.float16), P).dtype == tf.float32


def test_own_losses_and_functions_are_reduced():
    class Cubes(losses.Loss):
        def call(self, y_true, y_pred):
            return tf.reduce_sum(tf.abs(y_true - y_pred) ** 3, -1)

    y = np.array([[1, 2], [3, 4]], np.float32)
    assert float(Cubes()(np.zeros((2, 2)), y)) == 50
    assert float(Cubes(reduction="sum")(np.zeros((2, 2)), y, sample_weight=[1, 0])) == 9
    function = losses.resolve(lambda y_true, y_pred: tf.reduce_max(y_pred - y_true, -1), y, y)
    assert float(function(np.zeros((2, 2)), y)) == 3


def test_losses_of_structures_are_given_structures():
    class Both(losses.Loss):
        def call(self, y_true, y_pred):
            return tf.abs(y_true["a"] - y_pred["a"]) + tf.abs(y_true["b"] - y_pred["b"])

    made = Both(reduction="sum")({"a": np.zeros(2), "b": np.ones(2)}, {"a": np.ones(2), "b": np.zeros(2)})
    assert float(made) == 4


def test_ctc_ignores_rows_after_the_end_of_a_label():
    logits = np.random.default_rng(1).standard_normal((1, 6, 4)).astype(np.float32)
    short = losses.CTC()([[1, 2]], logits).numpy()
    np.testing.assert_allclose(losses.CTC()([[1, 2, 0, 0]], logits).numpy(), short, rtol=1e-6)
    with pytest.raises(ValueError, match="Targets `y_true`"):
        losses.ctc([1, 2], logits)


# --- Metrics ---


def test_unknown_metrics_name_the_nearest():
    with pytest.raises(ValueError, match="Could not interpret metric identifier: recal. Did you mean 'recall'"):
        metrics.get("recal")
    assert metrics.resolve("mse", P, P).name == "mse" and isinstance(metrics.get("AUC"), metrics.AUC)
    with pytest.raises(ValueError, match="received `None`"):
        metrics.resolve(None, P, P)


def test_functions_become_metrics_with_their_name():
    def largest(y_true, y_pred):
        return tf.reduce_max(y_pred, -1)

    metric = metrics.resolve(largest, P, P)
    assert metric.name == "largest" and float(metric(P, P)) == pytest.approx(0.6)


@pytest.mark.parametrize("function", ["binary_accuracy", "mean_squared_error", "cosine_similarity"])
def test_wrapped_functions_survive_their_configuration(function):
    metric = metrics.MeanMetricWrapper(getattr(metrics, function), name="wrapped")
    again = metrics.deserialize(metrics.serialize(metric))
    assert again._fn is getattr(metrics, function) and again.name == "wrapped"


def test_means_and_sums_take_any_shape():
    mean, total = metrics.Mean(), metrics.Sum()
    for values in (3.0, [1.0, 2.0], np.ones((2, 2))):
        mean.update_state(values)
        total.update_state(values)
    assert float(total.result()) == 10 and float(mean.result()) == pytest.approx(8 / 5)  # 3, 1, 2 and two rows of 1
    mean.reset_state()
    assert float(mean.result()) == 0
    mean.update_state([1.0, 3.0], sample_weight=[3, 1])
    mean.update_state(5.0, sample_weight=4)
    assert float(mean.result()) == pytest.approx((6 + 20) / 8)


def test_calling_a_metric_updates_it_and_gives_the_result():
    metric = metrics.BinaryAccuracy(threshold=0.6)
    assert float(metric([[1], [0]], [[0.7], [0.7]])) == 0.5
    assert float(metric([[1], [0]], [[0.7], [0.5]])) == 0.75


def test_own_metrics_find_their_state():
    class Range(metrics.Metric):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.low = self.add_weight(name="low", initializer="zeros")
            self.high = self.add_variable((), "zeros", name="high")
            self.mean = metrics.Mean()

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.low.assign(tf.minimum(self.low, tf.reduce_min(y_pred)))
            self.high.assign(tf.maximum(self.high, tf.reduce_max(y_pred)))
            self.mean.update_state(y_pred)

        def result(self):
            return {"range": self.high - self.low, "mean": self.mean.result()}

    metric = Range(name="range")
    assert [v.path.split("/")[-1] for v in metric.variables] == ["low", "high", "total", "count"]
    assert float(metric(None, tf.constant([-1.0, 3.0]))["range"]) == 4
    metric.reset_state()
    assert float(metric.result()["range"]) == 0 and float(metric.mean.count) == 0


def test_state_made_at_the_first_update_may_be_made_in_a_trace():
    metric = metrics.F1Score(average="macro")
    update = tf.function(lambda y, p: metric.update_state(y, p))
    for _ in range(2):
        update(tf.constant(np.eye(3, dtype=np.float32)), tf.constant(np.eye(3, dtype=np.float32)))
    assert float(metric.result()) == pytest.approx(1) and metric.true_positives.numpy().tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: metrics.AUC(num_thresholds=1), "num_thresholds=1"),
        (lambda: metrics.AUC(curve="KOC"), 'Invalid AUC curve value: "KOC"'),
        (lambda: metrics.AUC(num_labels=3), "`num_labels` is needed only"),
        (lambda: metrics.Precision(thresholds=[0.5, 2.0]), r"Received: \[2.0\]"),
        (lambda: metrics.RecallAtPrecision(1.5), "precision=1.5"),
        (lambda: metrics.F1Score(average="all"), "average=all"),
        (lambda: metrics.FBetaScore(beta=-1.0), "beta=-1.0"),
        (lambda: metrics.R2Score(class_aggregation="best"), "class_aggregation=best"),
        (lambda: metrics.IoU(2, [2]), "Target class id 2 is out of range"),
        (lambda: metrics.F1Score()([1.0], [1.0]), "2D inputs"),
        (lambda: metrics.Recall(class_id=1)([1.0], [1.0]), "class_id"),
    ],
)
def test_bad_arguments_of_metrics_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()


def test_classes_out_of_range_are_not_counted_by_iou():
    metric = metrics.MeanIoU(2)
    assert float(metric([0, 1, 7], [0, 1, 1])) == pytest.approx(1, abs=1e-6)


# --- Activations, initializers, regularizers, constraints ---


@pytest.mark.parametrize(
    "module, name, near",
    [
        ("activations", "rel", "relu"),
        ("initializers", "he_normel", "he_normal"),
        ("regularizers", "l1_l3", "l1_l2"),
        ("constraints", "nonneg_", "nonneg"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_one(module, name, near):
    with pytest.raises(ValueError, match=f"identifier: {name}. Did you mean '{near}'"):
        getattr(keras, module).get(name)


def test_none_is_linear_and_functions_are_taken_as_they_are():
    assert keras.activations.get(None) is keras.activations.linear
    assert keras.activations.get(tf.abs) is tf.abs and keras.activations.get("swish") is keras.activations.silu
    assert keras.activations.serialize(keras.activations.relu) == "relu"


def test_activations_draw_functional_models():
    x = keras.Input((4,))
    y = keras.activations.softmax(keras.activations.relu(x, negative_slope=0.5), axis=-1)
    model = keras.Model(x, keras.activations.tanh(y))
    values = np.array([[-1.0, 0.0, 1.0, 2.0]], np.float32)
    raw = np.exp(np.where(values > 0, values, values / 2))
    np.testing.assert_allclose(model(values).numpy(), np.tanh(raw / raw.sum()), rtol=1e-5)
    with pytest.raises(ValueError, match="Lambda or a custom layer"):
        keras.activations.gelu(x, approximate=True)


def test_seeds_fix_initial_values():
    first, second = (keras.initializers.GlorotUniform(seed=3)((4, 5)).numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, keras.initializers.GlorotUniform(seed=4)((4, 5)).numpy())
    drawn = []
    for _ in range(2):
        tf.random.set_seed(7)
        drawn.append([keras.initializers.HeNormal()((3, 3)).numpy() for _ in range(2)])
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0][0], drawn[0][1])
    one = keras.initializers.RandomNormal()
    np.testing.assert_array_equal(one((3,)).numpy(), one((3,)).numpy())  # as in Keras 3


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (2, 2, 3, 8)])
def test_orthogonal_matrices_are_orthogonal(shape):
    values = keras.initializers.Orthogonal(gain=2.0, seed=1)(shape).numpy().reshape(-1, shape[-1])
    product = values @ values.T if values.shape[0] < values.shape[1] else values.T @ values
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_initializers_take_tensors_and_dtypes():
    given = keras.initializers.get(np.array([1.0, 2.0], np.float32))
    assert given((2,), "float16").dtype == tf.float16
    with pytest.raises(ValueError, match="Expected `shape`"):
        given((3,))
    for name in ("zeros", "glorot_uniform", "he_normal", "constant", "orthogonal"):
        assert keras.initializers.get(name)((4, 4), "bfloat16").dtype == tf.bfloat16


@pytest.mark.parametrize(
    "make, complaint",
    [
        (lambda: keras.initializers.VarianceScaling(scale=0), "scale=0"),
        (lambda: keras.initializers.VarianceScaling(mode="fan"), "Invalid `mode` argument: fan"),
        (lambda: keras.initializers.RandomNormal(seed="x"), "seed=x"),
        (lambda: keras.initializers.Identity()((2, 3, 4)), "2D matrices"),
        (lambda: keras.initializers.Orthogonal()((3,)), "at least two-dimensional"),
        (lambda: keras.regularizers.L1(-1), "l1=-1"),
        (lambda: keras.regularizers.OrthogonalRegularizer(mode="all"), "mode=all"),
        (lambda: keras.regularizers.OrthogonalRegularizer()(tf.zeros([3])), "rank 2"),
    ],
)
def test_bad_arguments_are_refused(make, complaint):
    with pytest.raises(ValueError, match=complaint):
        make()
