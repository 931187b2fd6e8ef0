"""keras.applications.imagenet_utils: how pictures are prepared for networks trained on ImageNet, and their answers read."""
import numpy as np

from ... import _tandem
from ..._dtypes import as_dtype
from .._engine.data_format import image_data_format

_MEAN, _DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]  # of ImageNet's pictures, red, green, blue, 0 to 1
_CAFFE_MEAN = [103.939, 116.779, 123.68]  # the same of blue, green, red, 0 to 255
_CLASSES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"


def preprocess_input(x, data_format=None, mode="caffe"):
    """Pictures of 0 to 255 as a network expects them.

    mode "tf": from -1 to 1; "torch": by ImageNet's mean and deviation; "caffe": blue, green, red, less the mean.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: mode={mode}")
    data_format = data_format or image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Expected data_format to be one of `channels_first` or `channels_last`. Received: data_format={data_format}")
    is_array = _tandem.is_numpy(x)
    if is_array and not np.issubdtype(x.dtype, np.floating):
        x = x.astype("float32")
    elif not is_array and not as_dtype(x.dtype).is_floating:
        from .. import ops

        x = ops.cast(x, "float32")
    if mode == "tf":
        return x / 127.5 - 1.0
    channels = (-1, 1, 1) if data_format == "channels_first" else (-1,)
    if mode == "torch":
        return (x / 255.0 - _like(x, _MEAN, channels)) / _like(x, _DEVIATION, channels)
    backwards = x[..., ::-1, :, :] if data_format == "channels_first" else x[..., ::-1]
    return backwards - _like(x, _CAFFE_MEAN, channels)


def _like(x, numbers, shape):
    """A number for each channel, in the dtype of x."""
    numbers = np.array(numbers, "float64").reshape(shape)
    return numbers.astype(x.dtype) if _tandem.is_numpy(x) else _tandem.to_tensor(numbers, x.dtype)


def decode_predictions(preds, top=5):
    """For each picture the likeliest classes: [(WordNet's id, name, probability), …]."""
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(f"`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). Received array with shape: {preds.shape}")
    import json

    from ..utils import get_file

    with open(get_file("imagenet_class_index.json", _CLASSES, cache_subdir="models"), encoding="utf-8") as file:
        names = json.load(file)
    return [[(*names[str(i)], row[i]) for i in row.argsort()[-top:][::-1]] for row in np.asarray(preds)]
