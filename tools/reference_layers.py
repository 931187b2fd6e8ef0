"""Writes tests/data/layers_*.npz, layer_signatures.json and keras_ops.npz: what Keras' layers and keras.ops answer, for
tests/python/test_layers.py and test_keras_ops.py.

Needs the pip packages tensorflow-cpu and keras, which the tests do not: python tools/reference_layers.py [FAMILY…], the
family `ops` being keras.ops.
"""
import inspect
import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))

import layer_cases  # noqa: E402
import ops_cases  # noqa: E402

# TensorFlow's CPU kernels differentiate no dilated and no grouped convolution.
NO_GRADIENT = {"random_rotation", "random_rotation_constant", "random_zoom", "random_zoom_in", "random_translation"}
NO_GRADIENT |= {"conv2d_dilated", "conv2d_groups", "conv1d_causal"}


def floats(values):
    return [v for v in values if v.dtype.is_floating]


def run(name, case):
    """Outputs, gradients of their weighted sum, changed variables and the configuration."""
    keras.utils.clear_session()
    layer = case.make(keras)
    tensors = [tf.constant(x) for x in case.inputs(name)]
    call = case.arguments(tensors)
    layer(*call, **case.call)  # builds it
    layer.set_weights(layer_cases.weight_values(layer))
    watched = floats(tensors)
    with tf.GradientTape() as tape:
        tape.watch(watched)
        outputs = tf.nest.flatten(layer(*call, **case.call))
        total = tf.add_n([tf.reduce_sum(o * layer_cases.output_weights(o.shape)) for o in floats(outputs)] or [0.0])
        total += tf.add_n([tf.cast(loss, tf.float32) for loss in layer.losses] or [0.0])
    arrays = {f"out{i}": o.numpy() for i, o in enumerate(outputs)}
    if name not in NO_GRADIENT:
        sources = watched + [v.value for v in layer.trainable_variables]
        grads = tape.gradient(total, sources)
        for i, grad in enumerate(grads):
            if grad is not None:
                arrays[f"grad{i}"] = tf.convert_to_tensor(grad).numpy()
    for i, variable in enumerate(v for v in layer.non_trainable_variables if "seed" not in v.name):
        arrays[f"state{i}"] = variable.numpy()
    config = keras.saving.serialize_keras_object(layer)["config"]
    arrays["config"] = np.array(json.dumps(config))
    return arrays


def signatures():
    out = {}
    for name in dir(keras.layers):
        thing = getattr(keras.layers, name)
        if inspect.isclass(thing):
            out[name] = [[p.name, p.default if p.default is not p.empty else "REQUIRED"]
                         for p in inspect.signature(thing.__init__).parameters.values() if p.name not in ("self", "kwargs", "args")]  # fmt: skip
    return out


def write_ops(folder):
    arrays = {}
    for name, case in ops_cases.CASES.items():
        for i, result in enumerate(tf.nest.flatten(case(keras.ops))):
            arrays[f"{name}/{i}"] = keras.ops.convert_to_numpy(result)
    np.savez_compressed(folder / "keras_ops.npz", **arrays)
    print("ops", len(arrays))


def main():
    folder = ROOT / "tests/data"
    for family in sys.argv[1:] or [*layer_cases.FAMILIES, "ops"]:
        if family == "ops":
            write_ops(folder)
            continue
        arrays = {}
        for name, case in layer_cases.FAMILIES[family].items():
            arrays.update({f"{name}/{key}": value for key, value in run(name, case).items()})
        np.savez_compressed(folder / f"layers_{family}.npz", **arrays)
        print(family, len(arrays))
    (folder / "layer_signatures.json").write_text(json.dumps(signatures(), sort_keys=True) + "\n")


main()
