"""tf.ragged: rows of different lengths."""
from . import _names
from ._ragged import RaggedTensor, boolean_mask, map_flat_values, row_splits_to_segment_ids, segment_ids_to_row_splits  # noqa: F401
from ._ragged import ragged_constant as constant  # noqa: F401
from ._ragged import ragged_range as range  # noqa: F401
from ._ragged import ragged_stack as stack  # noqa: F401


__getattr__, __dir__ = _names.lazy(__name__)
