"""Colour images of 32 by 32 in 100 classes ("fine") or 20 ("coarse")."""
import os

from ._files import batch, folder_of_batches


def load_data(label_mode="fine"):
    """((x_train, y_train), (x_test, y_test)), bytes; labels have shape (n, 1)."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f'`label_mode` must be one of `"fine"`, `"coarse"`. Received: label_mode={label_mode}.')
    folder = folder_of_batches("cifar-100-python", "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz")
    return tuple(batch(os.path.join(folder, part), f"{label_mode}_labels") for part in ("train", "test"))
