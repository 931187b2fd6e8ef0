"""TensorFlow's ops by family."""
from . import arrays, control, elementwise, networks, reductions, state, tables, text  # noqa: F401
