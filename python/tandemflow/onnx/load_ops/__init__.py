"""The ONNX ops by family; importing the package registers them."""
from . import arrays, attention, control, elementwise, linear, normalization, recurrent, reductions, shapes, windows  # noqa: F401
