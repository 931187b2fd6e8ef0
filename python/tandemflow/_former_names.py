"""What to write today for names of TensorFlow 1, and for parts of TensorFlow that are not here: by module, then name."""

_A_FUNCTION = "a tf.function, or eager execution"
_AN_OPTIMIZER = "tf.keras.optimizers.{}"
_AT_ONCE = "nothing: a tf.Variable has its value at once"
_ONE_MACHINE = "tf.distribute.MirroredStrategy, on one machine"

USE = {
    "tandemflow": {
        "placeholder": "arguments of a tf.function, or tf.compat.v1.placeholder",
        **{name: f"{_A_FUNCTION}, or tf.compat.v1.{name}" for name in ("Session", "InteractiveSession", "get_default_graph", "reset_default_graph")},
        **dict.fromkeys(["global_variables_initializer", "local_variables_initializer", "initialize_all_variables", "tables_initializer"], _AT_ONCE),
        "ConfigProto": "tf.config", "GPUOptions": "tf.config.experimental.set_memory_growth",
        "get_variable": "tf.Variable", "variable_scope": "tf.name_scope, and a tf.Module that holds variables",
        "trainable_variables": "the trainable_variables of a tf.Module or model", "global_variables": "the variables of a tf.Module or model",
        "assign": "variable.assign", "assign_add": "variable.assign_add", "assign_sub": "variable.assign_sub",
        "scatter_update": "variable.scatter_update", "scatter_nd_update": "variable.scatter_nd_update",
        "app": "absl.app, or a plain main()", "flags": "absl.flags, or argparse", "gfile": "tf.io.gfile", "logging": "tf.get_logger()",
        "layers": "tf.keras.layers", "contrib": "tf.keras", "estimator": "tf.keras.Model: fit, evaluate and predict", "python_io": "tf.io",
        "set_random_seed": "tf.random.set_seed", "Print": "tf.print", "py_func": "tf.py_function or tf.numpy_function",
        "to_float": "tf.cast(x, tf.float32)", "to_int32": "tf.cast(x, tf.int32)", "to_int64": "tf.cast(x, tf.int64)", "to_double": "tf.cast(x, tf.float64)",
        "div": "tf.math.divide", "sparse_placeholder": "arguments of a tf.function", "sparse_tensor_to_dense": "tf.sparse.to_dense",
        "sparse_tensor_dense_matmul": "tf.sparse.sparse_dense_matmul", "random_crop": "tf.image.random_crop", "random_shuffle": "tf.random.shuffle",
        "batch_matmul": "tf.matmul", "matrix_solve": "tf.linalg.solve", "matrix_diag": "tf.linalg.diag", "matrix_diag_part": "tf.linalg.diag_part",
        "cholesky": "tf.linalg.cholesky", "self_adjoint_eig": "tf.linalg.eigh", "svd": "tf.linalg.svd", "qr": "tf.linalg.qr",
        "lite": "tf.keras.Model.save or export(format='onnx'), whose files other programs read",
        "feature_column": "the preprocessing layers of tf.keras.layers: Normalization, CategoryEncoding, StringLookup, Discretization",
        "tpu": "tf.distribute.MirroredStrategy, over the devices there are",
    },
    "tandemflow.train": {
        **{f"{name}Optimizer": _AN_OPTIMIZER.format(name) for name in ("Adam", "Adagrad", "Adadelta", "Ftrl")},
        "RMSPropOptimizer": _AN_OPTIMIZER.format("RMSprop"),
        "GradientDescentOptimizer": _AN_OPTIMIZER.format("SGD"), "MomentumOptimizer": _AN_OPTIMIZER.format("SGD(momentum=…)"),
        "Saver": "tf.train.Checkpoint", "exponential_decay": "tf.keras.optimizers.schedules.ExponentialDecay",
        "get_or_create_global_step": "a tf.Variable, or optimizer.iterations", "get_global_step": "a tf.Variable, or optimizer.iterations",
        "MonitoredTrainingSession": _A_FUNCTION, "batch": "tf.data.Dataset.batch", "shuffle_batch": "tf.data.Dataset.shuffle and batch",
        "string_input_producer": "tf.data.Dataset.list_files",
    },
    "tandemflow.image": {"resize_images": "tf.image.resize", "resize_bilinear": "tf.image.resize", "resize_nearest_neighbor": "tf.image.resize(method='nearest')"},
    "tandemflow.summary": {"FileWriter": "tf.summary.create_file_writer", "merge_all": "nothing: a writer takes every summary as it is written"},
    "tandemflow.nn": {
        "rnn_cell": "tf.keras.layers.LSTMCell and GRUCell", "dynamic_rnn": "tf.keras.layers.RNN", "static_rnn": "tf.keras.layers.RNN",
        "bidirectional_dynamic_rnn": "tf.keras.layers.Bidirectional", "softmax_cross_entropy_with_logits_v2": "tf.nn.softmax_cross_entropy_with_logits",
    },
    "tandemflow.distribute": {
        "TPUStrategy": "tf.distribute.MirroredStrategy, over the devices there are", "ParameterServerStrategy": _ONE_MACHINE,
        "cluster_resolver": "tf.distribute.MirroredStrategy, which needs none", "coordinator": "tf.distribute.MirroredStrategy, which needs none",
    },
}  # fmt: skip


def use_instead(module, name):
    """What to write for a name that `module`, tandemflow or one of its modules, does not have; None when nothing is known."""
    inside = "tandemflow" if module == "tandemflow.compat.v1" else module.replace("tandemflow.compat.v1.", "tandemflow.", 1)
    known = USE.get(inside, {}).get(name)
    if known is None and inside == "tandemflow":
        from .compat.v1 import MOVED

        moved = MOVED.get(name)
        known = moved and f"tf.{moved}"
    return known
