"""Prices of houses by 13 properties of their district."""
from ._files import STORE, archive, shuffled_split


def load_data(path="boston_housing.npz", test_split=0.2, seed=113):
    """((x_train, y_train), (x_test, y_test)) of 506 samples."""
    arrays = archive(path, STORE + "boston_housing.npz")
    return shuffled_split(arrays["x"], arrays["y"], test_split, seed)
