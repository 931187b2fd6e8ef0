"""Clothes in the format of the digits."""
import gzip

from ..utils.files import get_file
from ._files import STORE


def load_data():
    """((x_train, y_train), (x_test, y_test)), bytes."""
    import numpy as np

    def read(name, header):
        path = get_file(name, origin=STORE + name, cache_subdir="datasets/fashion-mnist")
        with gzip.open(path, "rb") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    out = []
    for part in ("train", "t10k"):
        labels = read(f"{part}-labels-idx1-ubyte.gz", 8)
        images = read(f"{part}-images-idx3-ubyte.gz", 16).reshape(len(labels), 28, 28)
        out.append((images, labels))
    return tuple(out)
