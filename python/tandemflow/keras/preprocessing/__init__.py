"""keras.preprocessing: older names of parts of keras.utils."""
from ..utils.directories import image_dataset_from_directory, text_dataset_from_directory
from ..utils.timeseries import timeseries_dataset_from_array
from . import image, sequence, text

__all__ = ["image", "image_dataset_from_directory", "sequence", "text", "text_dataset_from_directory", "timeseries_dataset_from_array"]
