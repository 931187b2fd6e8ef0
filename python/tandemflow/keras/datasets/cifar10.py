"""50,000 colour images of 32 by 32 to train, 10,000 to test, in 10 classes."""
import os

from ._files import batch, folder_of_batches


def load_data():
    """((x_train, y_train), (x_test, y_test)), bytes; labels have shape (n, 1)."""
    import numpy as np

    folder = folder_of_batches("cifar-10-batches-py", "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz")
    parts = [batch(os.path.join(folder, f"data_batch_{i}")) for i in range(1, 6)]
    train = tuple(np.concatenate(arrays) for arrays in zip(*parts))
    return train, batch(os.path.join(folder, "test_batch"))
