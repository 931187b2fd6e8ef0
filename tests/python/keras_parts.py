"""What activations, losses, metrics, optimizers and so on do, for two Kerases to answer: tools/keras_parts_values.py asks
the real one and writes down its answers, test_keras_parts.py asks ours. Each case is a function of (tf, keras)."""
import zlib

import numpy as np

STEPS = 5


def draw(name):
    """Numbers that depend on the name only."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def uniform(random, *shape):
    return random.random(shape, dtype=np.float32)


def probabilities(random, *shape):
    raw = uniform(random, *shape) + 0.05
    return raw / raw.sum(-1, keepdims=True)


def one_hot(random, rows, classes):
    return np.eye(classes, dtype=np.float32)[random.integers(0, classes, rows)]


def array(value):
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


# --- Activations: values and gradients ---

ACTIVATIONS = {
    name: (name, {})
    for name in (
        "relu", "leaky_relu", "relu6", "softmax", "celu", "elu", "selu", "softplus", "softsign", "squareplus", "soft_shrink",
        "sparse_plus", "silu", "gelu", "glu", "tanh", "tanh_shrink", "sigmoid", "sparse_sigmoid", "exponential",
        "hard_sigmoid", "hard_silu", "hard_tanh", "hard_shrink", "linear", "mish", "log_softmax", "log_sigmoid",
    )
}  # fmt: skip
ACTIVATIONS |= {
    "relu_capped": ("relu", {"max_value": 2.0}),
    "relu_six": ("relu", {"max_value": 6}),
    "relu_leaky": ("relu", {"negative_slope": 0.1}),
    "relu_all": ("relu", {"negative_slope": 0.1, "max_value": 1.5, "threshold": 0.3}),
    "relu_threshold": ("relu", {"threshold": 0.5}),
    "elu_alpha": ("elu", {"alpha": 0.5}),
    "celu_alpha": ("celu", {"alpha": 2.0}),
    "gelu_tanh": ("gelu", {"approximate": True}),
    "softmax_axis": ("softmax", {"axis": 0}),
    "glu_axis": ("glu", {"axis": 0}),
    "threshold": ("threshold", {"threshold": 0.2, "default_value": -1.0}),
}


def activation(case, tf, keras):
    name, options = ACTIVATIONS[case]
    x = tf.constant(normal(draw(case), 4, 6) * 2)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = getattr(keras.activations, name)(x, **options)
        total = tf.reduce_sum(y * (1 + np.arange(array(y).size, dtype=np.float32) % 7).reshape(y.shape))
    return {"value": array(y), "gradient": array(tape.gradient(total, x))}


# --- Losses: all reductions, with weights, and the gradient ---

LOSSES = {
    name: (name, {}, "numbers")
    for name in (
        "MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "CosineSimilarity", "Huber", "LogCosh",
    )
}  # fmt: skip
LOSSES |= {name: (name, {}, "signs") for name in ("Hinge", "SquaredHinge")}
LOSSES |= {
    "MeanSquaredLogarithmicError": ("MeanSquaredLogarithmicError", {}, "positive"),
    "Poisson": ("Poisson", {}, "positive"),
    "Huber_delta": ("Huber", {"delta": 0.3}, "numbers"),
    "CosineSimilarity_axis": ("CosineSimilarity", {"axis": 1}, "numbers"),
    "Hinge_zero_one": ("Hinge", {}, "bits"),
    "CategoricalHinge": ("CategoricalHinge", {}, "classes"),
    "KLDivergence": ("KLDivergence", {}, "distributions"),
    "BinaryCrossentropy": ("BinaryCrossentropy", {}, "bits"),
    "BinaryCrossentropy_logits": ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, "bit_logits"),
    "BinaryFocalCrossentropy": ("BinaryFocalCrossentropy", {}, "bits"),
    "BinaryFocalCrossentropy_balanced": (
        "BinaryFocalCrossentropy",
        {"apply_class_balancing": True, "alpha": 0.3, "gamma": 1.5, "from_logits": True},
        "bit_logits",
    ),
    "CategoricalCrossentropy": ("CategoricalCrossentropy", {"label_smoothing": 0.2}, "classes"),
    "CategoricalCrossentropy_logits": ("CategoricalCrossentropy", {"from_logits": True}, "class_logits"),
    "CategoricalFocalCrossentropy": ("CategoricalFocalCrossentropy", {"alpha": 0.4, "gamma": 3.0}, "classes"),
    "CategoricalFocalCrossentropy_logits": ("CategoricalFocalCrossentropy", {"from_logits": True}, "class_logits"),
    "SparseCategoricalCrossentropy": ("SparseCategoricalCrossentropy", {}, "numbered"),
    "SparseCategoricalCrossentropy_logits": ("SparseCategoricalCrossentropy", {"from_logits": True}, "numbered_logits"),
    "SparseCategoricalCrossentropy_ignore": (
        "SparseCategoricalCrossentropy",
        {"from_logits": True, "ignore_class": 1},
        "numbered_logits",
    ),
    "CategoricalGeneralizedCrossEntropy": ("CategoricalGeneralizedCrossEntropy", {"q": 0.7}, "numbered"),
    "Dice": ("Dice", {"axis": (1,)}, "bits"),
    "Tversky": ("Tversky", {"alpha": 0.3, "beta": 0.7, "axis": (1,)}, "bits"),
    "Circle": ("Circle", {"gamma": 2.0}, "embeddings"),
    "CTC": ("CTC", {}, "sequences"),
}
REDUCTIONS = ("sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none")


def targets(kind, random):
    """y_true and y_pred, six rows."""
    rows, classes = 6, 4
    if kind == "numbers":
        return normal(random, rows, classes), normal(random, rows, classes)
    if kind == "positive":
        return uniform(random, rows, classes) * 3, uniform(random, rows, classes) * 3
    if kind == "signs":
        return np.where(uniform(random, rows, classes) > 0.5, 1, -1).astype(np.float32), normal(random, rows, classes)
    if kind == "distributions":
        return probabilities(random, rows, classes), probabilities(random, rows, classes)
    if kind.startswith("bit"):
        bits = (uniform(random, rows, classes) > 0.5).astype(np.float32)
        return bits, normal(random, rows, classes) if "logits" in kind else uniform(random, rows, classes)
    if kind.startswith("class"):
        made = normal if "logits" in kind else probabilities
        return one_hot(random, rows, classes), made(random, rows, classes)
    if kind.startswith("numbered"):
        made = normal if "logits" in kind else probabilities
        return random.integers(0, classes, rows).astype(np.int32), made(random, rows, classes)
    if kind == "embeddings":
        raw = normal(random, rows, classes)
        return np.array([0, 1, 0, 2, 1, 0], np.int32), raw / np.linalg.norm(raw, axis=1, keepdims=True)
    assert kind == "sequences"
    labels = np.array([[1, 2, 2], [3, 0, 0], [2, 1, 0], [1, 1, 1], [2, 3, 0], [3, 1, 2]], np.int32)
    return labels, normal(random, rows, 7, classes)


def loss(case, tf, keras):
    name, options, kind = LOSSES[case]
    random = draw(case)
    y_true, y_pred = targets(kind, random)
    weight = uniform(random, 6) + 0.1
    cls, answers = getattr(keras.losses, name), {}
    for reduction in REDUCTIONS:
        made = cls(reduction=reduction, **options)
        answers[reduction] = array(made(y_true, y_pred))
        answers[f"{reduction}_weighted"] = array(made(y_true, y_pred, sample_weight=weight))
    predicted = tf.constant(y_pred)
    with tf.GradientTape() as tape:
        tape.watch(predicted)
        value = cls(**options)(y_true, predicted)
    answers["gradient"] = array(tape.gradient(value, predicted))
    return answers


# --- Metrics: three batches, the second with weights ---

METRICS = {
    name: (name, {}, "numbers")
    for name in (
        "MeanSquaredError", "RootMeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "LogCoshError",
        "CosineSimilarity", "R2Score", "PearsonCorrelation", "ConcordanceCorrelation",
    )
}  # fmt: skip
METRICS |= {
    name: (name, {}, "bits")
    for name in (
        "AUC", "FalseNegatives", "FalsePositives", "TrueNegatives", "TruePositives", "Precision", "Recall", "BinaryAccuracy",
        "BinaryCrossentropy", "Hinge",
    )
}  # fmt: skip
METRICS |= {
    "MeanSquaredLogarithmicError": ("MeanSquaredLogarithmicError", {}, "positive"),
    "R2Score_weighted": ("R2Score", {"class_aggregation": "variance_weighted_average"}, "numbers"),
    "R2Score_each": ("R2Score", {"class_aggregation": None, "num_regressors": 2}, "numbers"),
    "CosineSimilarity_axis": ("CosineSimilarity", {"axis": 1}, "numbers"),
    "Poisson": ("Poisson", {}, "positive"),
    "SquaredHinge": ("SquaredHinge", {}, "signs"),
    "CategoricalHinge": ("CategoricalHinge", {}, "classes"),
    "KLDivergence": ("KLDivergence", {}, "distributions"),
    "Accuracy": ("Accuracy", {}, "equal"),
    "BinaryAccuracy_threshold": ("BinaryAccuracy", {"threshold": 0.3}, "bits"),
    "CategoricalAccuracy": ("CategoricalAccuracy", {}, "classes"),
    "SparseCategoricalAccuracy": ("SparseCategoricalAccuracy", {}, "numbered"),
    "TopKCategoricalAccuracy": ("TopKCategoricalAccuracy", {"k": 2}, "classes"),
    "SparseTopKCategoricalAccuracy": ("SparseTopKCategoricalAccuracy", {"k": 2}, "numbered"),
    "CategoricalCrossentropy": ("CategoricalCrossentropy", {"label_smoothing": 0.1}, "classes"),
    "SparseCategoricalCrossentropy": ("SparseCategoricalCrossentropy", {"from_logits": True}, "numbered_logits"),
    "AUC_pr": ("AUC", {"curve": "PR", "num_thresholds": 20}, "bits"),
    "AUC_pr_minoring": ("AUC", {"curve": "PR", "summation_method": "minoring"}, "bits"),
    "AUC_prgain": ("AUC", {"curve": "PRGAIN"}, "bits"),
    "AUC_majoring": ("AUC", {"summation_method": "majoring"}, "bits"),
    "AUC_thresholds": ("AUC", {"thresholds": [0.1, 0.4, 0.45, 0.9]}, "bits"),
    "AUC_labels": ("AUC", {"multi_label": True, "num_labels": 4}, "bits"),
    "AUC_label_weights": ("AUC", {"multi_label": True, "label_weights": [0.1, 0.4, 0.3, 0.2]}, "bits"),
    "AUC_flat_label_weights": ("AUC", {"label_weights": [0.1, 0.4, 0.3, 0.2]}, "bits"),
    "AUC_labels_thresholds": ("AUC", {"multi_label": True, "thresholds": [0.2, 0.7]}, "bits"),
    "AUC_logits": ("AUC", {"from_logits": True}, "bit_logits"),
    "TruePositives_thresholds": ("TruePositives", {"thresholds": [0.2, 0.5, 0.6]}, "bits"),
    "Precision_thresholds": ("Precision", {"thresholds": [0.0, 0.5, 1.0]}, "bits"),
    "Precision_top_k": ("Precision", {"top_k": 2}, "bits"),
    "Recall_class": ("Recall", {"class_id": 1}, "bits"),
    "Recall_top_k_class": ("Recall", {"top_k": 2, "class_id": 0}, "bits"),
    "PrecisionAtRecall": ("PrecisionAtRecall", {"recall": 0.6}, "bits"),
    "RecallAtPrecision": ("RecallAtPrecision", {"precision": 0.6}, "bits"),
    "SensitivityAtSpecificity": ("SensitivityAtSpecificity", {"specificity": 0.5}, "bits"),
    "SpecificityAtSensitivity": ("SpecificityAtSensitivity", {"sensitivity": 0.5, "num_thresholds": 30}, "bits"),
    "F1Score": ("F1Score", {}, "classes"),
    "F1Score_weighted": ("F1Score", {"average": "weighted"}, "classes"),
    "FBetaScore": ("FBetaScore", {"average": "macro", "beta": 2.0, "threshold": 0.3}, "bits"),
    "FBetaScore_micro": ("FBetaScore", {"average": "micro", "beta": 0.5, "threshold": 0.3}, "bits"),
    "IoU": ("IoU", {"num_classes": 4, "target_class_ids": [0, 2]}, "labels"),
    "MeanIoU": ("MeanIoU", {"num_classes": 4}, "labels"),
    "MeanIoU_ignore": ("MeanIoU", {"num_classes": 4, "ignore_class": 2}, "labels"),
    "BinaryIoU": ("BinaryIoU", {"threshold": 0.3}, "bit_rows"),
    "OneHotIoU": ("OneHotIoU", {"num_classes": 4, "target_class_ids": [1, 3]}, "classes"),
    "OneHotMeanIoU": ("OneHotMeanIoU", {"num_classes": 4}, "classes"),
}


def watched(kind, random):
    if kind == "equal":
        return random.integers(0, 2, (6, 4)).astype(np.float32), random.integers(0, 2, (6, 4)).astype(np.float32)
    if kind == "labels":
        return random.integers(0, 4, 6).astype(np.int32), random.integers(0, 4, 6).astype(np.int32)
    if kind == "bit_rows":
        return random.integers(0, 2, 6).astype(np.int32), uniform(random, 6)
    return targets(kind, random)


def metric(case, tf, keras):
    name, options, kind = METRICS[case]
    random, answers = draw(case), {}
    made = getattr(keras.metrics, name)(**options)
    for batch in range(3):
        y_true, y_pred = watched(kind, random)
        weight = random.integers(1, 4, 6) if "IoU" in name else uniform(random, 6) + 0.1
        made.update_state(y_true, y_pred, sample_weight=weight if batch == 1 else None)
        answers[f"after_{batch + 1}"] = array(made.result())
    made.reset_state()
    made.update_state(y_true, y_pred)
    answers["after_reset"] = array(made.result())
    return answers


# --- Optimizers: five steps; the variables and the state ---

OPTIMIZERS = {
    name: (name, {"learning_rate": 0.01})
    for name in (
        "SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "Lion", "Ftrl", "Lamb", "Adafactor",
        "Muon",
    )
}  # fmt: skip
OPTIMIZERS |= {
    "MultiOptimizer": (
        "MultiOptimizer",
        {"bias": ("Adam", {"learning_rate": 0.02}), "": ("SGD", {"learning_rate": 0.1, "momentum": 0.5})},
    ),
    "Muon_plain": ("Muon", {"learning_rate": 0.1, "nesterov": False, "rms_rate": None, "adam_lr_ratio": 0.5, "ns_steps": 3}),
    "SGD_momentum": ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    "SGD_nesterov": ("SGD", {"learning_rate": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.02}),
    "SGD_clipnorm": ("SGD", {"learning_rate": 0.1, "clipnorm": 0.7}),
    "SGD_global_clipnorm": ("SGD", {"learning_rate": 0.1, "global_clipnorm": 0.9}),
    "SGD_clipvalue": ("SGD", {"learning_rate": 0.1, "clipvalue": 0.4}),
    "SGD_accumulated": ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "gradient_accumulation_steps": 2}),
    "SGD_scaled": ("SGD", {"learning_rate": 0.1, "loss_scale_factor": 8.0}),
    "RMSprop_momentum": ("RMSprop", {"learning_rate": 0.01, "momentum": 0.5}),
    "RMSprop_centered": ("RMSprop", {"learning_rate": 0.01, "momentum": 0.3, "centered": True, "rho": 0.8}),
    "Adam_amsgrad": ("Adam", {"learning_rate": 0.02, "amsgrad": True, "weight_decay": 0.1}),
    "Adam_decay": ("Adam", {"learning_rate": 0.02, "weight_decay": 0.1, "beta_1": 0.8, "beta_2": 0.95}),
    "Adam_average": ("Adam", {"learning_rate": 0.02, "use_ema": True, "ema_momentum": 0.9}),
    "Adam_average_written": (
        "Adam",
        {"learning_rate": 0.02, "use_ema": True, "ema_momentum": 0.8, "ema_overwrite_frequency": 2},
    ),
    "Adam_accumulated": ("Adam", {"learning_rate": 0.02, "gradient_accumulation_steps": 2, "global_clipnorm": 1.0}),
    "AdamW_decay": ("AdamW", {"learning_rate": 0.02, "weight_decay": 0.3, "clipnorm": 1.0}),
    "Adagrad_start": ("Adagrad", {"learning_rate": 0.1, "initial_accumulator_value": 0.5}),
    "Adadelta_rho": ("Adadelta", {"learning_rate": 1.0, "rho": 0.8}),
    "Nadam_decay": ("Nadam", {"learning_rate": 0.02, "weight_decay": 0.1}),
    "Lion_decay": ("Lion", {"learning_rate": 0.01, "weight_decay": 0.1}),
    "Ftrl_all": (
        "Ftrl",
        {
            "learning_rate": 0.1, "learning_rate_power": -0.6, "l1_regularization_strength": 0.05,
            "l2_regularization_strength": 0.02, "l2_shrinkage_regularization_strength": 0.03, "beta": 0.1,
        },
    ),
    "Adafactor_large": ("Adafactor", {"learning_rate": 0.5, "relative_step": False, "clip_threshold": 0.7}),
    "Adam_schedule": (
        "Adam",
        {"learning_rate": ("ExponentialDecay", {"initial_learning_rate": 0.05, "decay_steps": 2, "decay_rate": 0.5})},
    ),
    "LossScaleOptimizer": (
        "LossScaleOptimizer",
        {"inner_optimizer": ("Adam", {"learning_rate": 0.02}), "dynamic_growth_steps": 2},
    ),
}  # fmt: skip


def make_optimizer(case, keras):
    name, options = OPTIMIZERS[case]
    if name == "MultiOptimizer":
        made = {pattern: getattr(keras.optimizers, cls)(**arguments) for pattern, (cls, arguments) in options.items()}
        by_path = keras.optimizers.OptimizerMap(made.pop(""), {f".*{part}.*": inner for part, inner in made.items()})
        return keras.optimizers.MultiOptimizer(by_path)
    options = dict(options)
    if isinstance(options.get("learning_rate"), tuple):
        schedule, arguments = options["learning_rate"]
        options["learning_rate"] = getattr(keras.optimizers.schedules, schedule)(**arguments)
    if "inner_optimizer" in options:
        inner, arguments = options["inner_optimizer"]
        options["inner_optimizer"] = getattr(keras.optimizers, inner)(**arguments)
    return getattr(keras.optimizers, name)(**options)


def optimizer(case, tf, keras, variable, apply=None):
    """`variable(array, name)` makes one; `apply(optimizer, gradients, variables)` makes a step."""
    random = draw("optimizer")  # the same for all
    made = make_optimizer(case, keras)
    variables = [variable(normal(random, 3, 4), "kernel"), variable(normal(random, 4), "bias")]
    for step in range(STEPS):
        gradients = [tf.constant(normal(random, *v.shape)) for v in variables]
        if case == "LossScaleOptimizer" and step == 2:
            gradients[0] = gradients[0] * np.float32("inf")
        if apply is None:
            made.apply_gradients(zip(gradients, variables))
        else:
            apply(made, gradients, variables)
    answers = {f"variable_{i}": array(v) for i, v in enumerate(variables)}
    answers |= {f"state_{i}": array(v) for i, v in enumerate(made.variables)}
    if made.use_ema:
        made.finalize_variable_values(variables)
        answers |= {f"final_{i}": array(v) for i, v in enumerate(variables)}
    return answers


# --- Schedules ---

SCHEDULES = {
    "ExponentialDecay": ("ExponentialDecay", {"initial_learning_rate": 0.1, "decay_steps": 7, "decay_rate": 0.6}),
    "ExponentialDecay_stairs": (
        "ExponentialDecay",
        {"initial_learning_rate": 0.1, "decay_steps": 7, "decay_rate": 0.6, "staircase": True},
    ),
    "InverseTimeDecay": ("InverseTimeDecay", {"initial_learning_rate": 0.1, "decay_steps": 5, "decay_rate": 0.5}),
    "InverseTimeDecay_stairs": (
        "InverseTimeDecay",
        {"initial_learning_rate": 0.1, "decay_steps": 5, "decay_rate": 0.5, "staircase": True},
    ),
    "PiecewiseConstantDecay": ("PiecewiseConstantDecay", {"boundaries": [2, 10, 25], "values": [1.0, 0.5, 0.25, 0.1]}),
    "PolynomialDecay": ("PolynomialDecay", {"initial_learning_rate": 0.1, "decay_steps": 20, "power": 0.5}),
    "PolynomialDecay_cycle": (
        "PolynomialDecay",
        {"initial_learning_rate": 0.1, "decay_steps": 8, "end_learning_rate": 0.01, "power": 2.0, "cycle": True},
    ),
    "CosineDecay": ("CosineDecay", {"initial_learning_rate": 0.1, "decay_steps": 30, "alpha": 0.1}),
    "CosineDecay_warmup": (
        "CosineDecay",
        {"initial_learning_rate": 0.0, "decay_steps": 20, "warmup_target": 0.1, "warmup_steps": 10},
    ),
    "CosineDecayRestarts": ("CosineDecayRestarts", {"initial_learning_rate": 0.1, "first_decay_steps": 6}),
    "CosineDecayRestarts_same": (
        "CosineDecayRestarts",
        {"initial_learning_rate": 0.1, "first_decay_steps": 6, "t_mul": 1.0, "m_mul": 0.8, "alpha": 0.05},
    ),
}
SCHEDULE_STEPS = (0, 1, 2, 3, 5, 7, 10, 11, 17, 25, 26, 40, 100)


def schedule(case, tf, keras):
    name, options = SCHEDULES[case]
    made = getattr(keras.optimizers.schedules, name)(**options)
    return {"rates": np.array([float(made(step)) for step in SCHEDULE_STEPS], np.float32)}


# --- Regularizers, constraints and the initializers that draw nothing ---

REGULARIZERS = {
    "L1": ("L1", {"l1": 0.3}),
    "L2": ("L2", {"l2": 0.2}),
    "L1L2": ("L1L2", {"l1": 0.1, "l2": 0.2}),
    "L1L2_l1": ("L1L2", {"l1": 0.1}),
    "L1L2_l2": ("L1L2", {"l2": 0.1}),
    "OrthogonalRegularizer": ("OrthogonalRegularizer", {"factor": 0.3}),
    "OrthogonalRegularizer_columns": ("OrthogonalRegularizer", {"factor": 0.3, "mode": "columns"}),
}
CONSTRAINTS = {
    "MaxNorm": ("MaxNorm", {"max_value": 1.2}),
    "MaxNorm_axes": ("MaxNorm", {"max_value": 1.2, "axis": [0, 1]}),
    "NonNeg": ("NonNeg", {}),
    "UnitNorm": ("UnitNorm", {"axis": 1}),
    "MinMaxNorm": ("MinMaxNorm", {"min_value": 1.0, "max_value": 2.0, "rate": 0.7}),
}


def regularizer(case, tf, keras):
    name, options = REGULARIZERS[case]
    return {"value": array(getattr(keras.regularizers, name)(**options)(tf.constant(normal(draw(case), 4, 3))))}


def constraint(case, tf, keras):
    name, options = CONSTRAINTS[case]
    return {"value": array(getattr(keras.constraints, name)(**options)(tf.constant(normal(draw(case), 4, 3))))}


INITIALIZERS = {
    "Zeros": ("Zeros", {}), "Ones": ("Ones", {}), "Constant": ("Constant", {"value": 0.7}),
    "Identity": ("Identity", {"gain": 2.0}), "RandomNormal": ("RandomNormal", {"mean": 1.0, "stddev": 0.2}),
    "RandomUniform": ("RandomUniform", {"minval": -1.0, "maxval": 3.0}), "TruncatedNormal": ("TruncatedNormal", {}),
    "GlorotNormal": ("GlorotNormal", {}), "GlorotUniform": ("GlorotUniform", {}), "HeNormal": ("HeNormal", {}),
    "HeUniform": ("HeUniform", {}), "LecunNormal": ("LecunNormal", {}), "LecunUniform": ("LecunUniform", {}),
    "Orthogonal": ("Orthogonal", {"gain": 1.5}),
    "VarianceScaling": ("VarianceScaling", {"scale": 3.0, "mode": "fan_out", "distribution": "untruncated_normal"}),
}  # fmt: skip
INITIALIZERS |= {
    "STFT": ("STFT", {}),
    "STFT_imag": ("STFT", {"side": "imag", "window": "hamming", "scaling": "spectrum", "periodic": True}),
    "STFT_bare": ("STFT", {"window": None}),
}
DRAWN_SHAPES = {"matrix": (150, 200), "kernel": (3, 5, 20, 30)}


def initializer(case, tf, keras):
    """Mean, deviation and extremes: what does not depend on the generator of random numbers."""
    name, options = INITIALIZERS[case]
    if name == "STFT":
        return {"kernel": array(keras.initializers.STFT(**options)((8, 1, 5)))}
    options = dict(options) if name in ("Zeros", "Ones", "Constant", "Identity") else {**options, "seed": 3}
    answers = {}
    for kind, shape in DRAWN_SHAPES.items():
        if name == "Identity" and len(shape) != 2:
            continue
        values = array(getattr(keras.initializers, name)(**options)(shape)).astype(np.float64)
        answers[kind] = np.array([values.mean(), values.std(), values.min(), values.max()])
    return answers


FAMILIES = {
    "activation": (activation, ACTIVATIONS),
    "loss": (loss, LOSSES),
    "metric": (metric, METRICS),
    "optimizer": (optimizer, OPTIMIZERS),
    "schedule": (schedule, SCHEDULES),
    "regularizer": (regularizer, REGULARIZERS),
    "constraint": (constraint, CONSTRAINTS),
    "initializer": (initializer, INITIALIZERS),
}


def module_of(family, keras):
    if family == "schedule":
        return keras.optimizers.schedules
    return getattr(keras, {"loss": "losses"}.get(family, f"{family}s"))


def configuration(family, case, keras):
    """The object as files hold it."""
    module = module_of(family, keras)
    if family == "optimizer":
        return module.serialize(make_optimizer(case, keras))
    name, options = FAMILIES[family][1][case][:2]
    made = getattr(module, name)
    return module.serialize(made if family == "activation" else made(**options))
