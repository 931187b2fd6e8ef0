"""Where the files come from, and how they are read: lists of arrays need pickle, of which only arrays are let in."""
import io
import os
import pickle
import zipfile

from ..utils.files import get_file, keras_home

STORE = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_ALLOWED = {"_reconstruct", "ndarray", "dtype", "encode", "scalar"}


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module, name):
        if module.split(".")[0] in ("numpy", "_codecs") and name in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"the file asks for {module}.{name}, which no array needs; it is not read")


def archive(path, origin):
    """The arrays of an .npz file by name; `path` is a name in the cache or the path of a file."""
    file = path if os.path.isabs(path) and os.path.exists(path) else get_file(path, origin=origin)
    with zipfile.ZipFile(file) as opened:
        return {name.removesuffix(".npy"): _array(opened.read(name)) for name in opened.namelist()}


def _array(data):
    import numpy as np

    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(stream)
    if not dtype.hasobject:
        return np.load(io.BytesIO(data), allow_pickle=False)
    return _ArraysOnly(stream, encoding="latin1").load().reshape(shape)


def folder_of_batches(name, origin):
    """The folder of a CIFAR archive, extracted; one that stands in the cache is used as it is."""
    ready = os.path.join(keras_home(), "datasets", name)
    if os.path.isdir(ready):
        return ready
    return os.path.join(get_file(f"{name}-target", origin=origin, extract=True), name)


def batch(path, label_key="labels"):
    """(images, labels) of a batch file of CIFAR."""
    import numpy as np

    with open(path, "rb") as file:
        entries = {key.decode("utf8"): value for key, value in _ArraysOnly(file, encoding="bytes").load().items()}
    images = np.asarray(entries["data"]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images, np.asarray(entries[label_key], "uint8").reshape(-1, 1)


def shuffled(arrays, random):
    """Arrays of the same length in the same random order."""
    import numpy as np

    order = np.arange(len(arrays[0]))
    random.shuffle(order)
    return [array[order] for array in arrays]


def shuffled_split(x, y, test_split, seed):
    """((x, y) to train, (x, y) to test) after a shuffle that the seed fixes."""
    import numpy as np

    if not 0 <= test_split < 1:
        raise ValueError(f"Invalid `test_split` argument: {test_split}. It must be between 0 and 1 (exclusive of 1).")
    x, y = shuffled([x, y], np.random.RandomState(seed))
    at = int(len(x) * (1 - test_split))
    return (np.array(x[:at]), np.array(y[:at])), (np.array(x[at:]), np.array(y[at:]))
