"""ONNX nodes for our ops, by family; importing the package registers them."""
from . import arrays, elementwise, networks  # noqa: F401
