"""ONNX files: what is no model is refused with ValueError, what is not supported with NotImplementedError."""
import sys

import atheris

with atheris.instrument_imports(include=["tandemflow._protobuf", "tandemflow.onnx"]):
    import tandemflow as tf
    import tandemflow.onnx


def read(data):
    try:
        tf.onnx.load(data)
    except (ValueError, NotImplementedError):
        pass


atheris.Setup(sys.argv, read)
atheris.Fuzz()
