"""Writes tests/data/keras/training.npz with real Keras: python tools/keras_training_reference.py (needs tensorflow-cpu)."""
import pathlib
import sys

root = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(root / "tests" / "python"))

import keras  # noqa: E402
import keras_models  # noqa: E402
import numpy as np  # noqa: E402

arrays = {}
for make in keras_models.MODELS:
    for name, value in keras_models.train(keras, make).items():
        arrays[f"{make.__name__}/{name}"] = value
np.savez_compressed(root / "tests" / "data" / "keras" / "training.npz", **arrays)
print(f"{len(arrays)} arrays, Keras {keras.__version__}")
