"""tf.onnx: models as ONNX files, read and written without the onnx package.

    model = tf.onnx.load("model.onnx")        # a function of tensors, traced as tf.function traces
    y = model(x)                              # several inputs in order, or by name
    tf.onnx.export(keras_model, "model.onnx")
"""
from .export import export
from .model import OnnxModel, load
from .support import known_ops

__all__ = ["OnnxModel", "export", "known_ops", "load"]
