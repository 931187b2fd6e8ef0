"""Ops of ours as TensorFlow's nodes."""
from . import arrays, elementwise, networks  # noqa: F401
