"""The ONNX ops by family; importing the package registers them."""
from . import (  # noqa: F401
    arrays, attention, control, elementwise, linear, memories, normalization, pictures, quantized, random, recurrent, reductions, resize, sampling, sequences, shapes, signal, text, trees, windows,
)  # fmt: skip
