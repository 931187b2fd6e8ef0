"""tf.experimental.extension_type."""
from .._extension_type import as_dict  # noqa: F401
