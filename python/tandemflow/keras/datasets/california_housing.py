"""Prices of houses by 8 properties of their block."""
from ._files import STORE, archive, shuffled_split


def load_data(version="large", path="california_housing.npz", test_split=0.2, seed=113):
    """((x_train, y_train), (x_test, y_test)) of 20,640 samples; version="small": of the first 600."""
    if version not in ("large", "small"):
        raise ValueError(f"Argument `version` must be one of 'small', 'large'. Received: version={version}")
    arrays = archive(path, STORE + "california_housing.npz")
    count = 600 if version == "small" else None
    return shuffled_split(arrays["x"][:count], arrays["y"][:count], test_split, seed)
