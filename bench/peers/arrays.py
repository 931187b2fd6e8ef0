"""Arrays handed from one process to another: plain bytes in files, described by name, dtype and shape.

The C++ worker reads the same descriptions, so the format has no header to parse.
"""
from pathlib import Path

import numpy as np


def save(arrays, folder):
    """Writes {name: array} into `folder`; returns [{"name", "file", "dtype", "shape"}], which JSON can carry."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    described = []
    for number, (name, array) in enumerate(arrays.items()):
        array = np.asarray(array)  # ascontiguousarray would give a scalar an axis
        file = folder / f"{number}.bin"
        file.write_bytes(array.tobytes())
        described.append({"name": name, "file": str(file), "dtype": str(array.dtype), "shape": list(array.shape)})
    return described


def load(described):
    """The inverse of save."""
    return {
        one["name"]: np.fromfile(one["file"], dtype=one["dtype"]).reshape(one["shape"])
        for one in described
    }
