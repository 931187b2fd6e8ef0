"""Digits: 60,000 images of 28 by 28 to train, 10,000 to test."""
from ._files import STORE, archive


def load_data(path="mnist.npz"):
    """((x_train, y_train), (x_test, y_test)), bytes."""
    arrays = archive(path, STORE + "mnist.npz")
    return (arrays["x_train"], arrays["y_train"]), (arrays["x_test"], arrays["y_test"])
