"""tf.experimental: what is there of it."""
from .. import _names

__getattr__, __dir__ = _names.lazy(
    __name__, _names.places_of(_optional="Optional", _extension_type="BatchableExtensionType ExtensionType ExtensionTypeSpec"), ["dlpack", "extension_type", "numpy"]
)
