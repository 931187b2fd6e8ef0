"""tf.data: input pipelines. See docs/input.md."""
from .. import _names
from . import experimental
from .._dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, DatasetIterator
from .._dataset_iterator import NumpyIterator
from .._dataset_options import Options, ThreadingOptions
from .._readers import FixedLengthRecordDataset, NpyDataset, NpzDataset, TextLineDataset, TFRecordDataset
from .._specs import DatasetSpec

Iterator = DatasetIterator


__getattr__, __dir__ = _names.lazy(__name__)
