"""Writes tests/data/hdf5_{earliest,latest}.h5 with h5py: every kind of array and attribute that the reader knows.

Run with a Python that has h5py and NumPy: python tools/hdf5_samples.py
"""
from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data"


def write(path, libver):
    grid = np.arange(7 * 5, dtype="float32").reshape(7, 5)
    with h5py.File(path, "w", libver=libver) as file:
        file.attrs["text"] = "grüße"
        file.attrs["fixed"] = np.array([b"ab", b"cde"])
        file.attrs["number"] = np.float32(0.5)
        file.attrs["none"] = h5py.Empty("f")
        contiguous = file.create_group("contiguous")
        for dtype in (">f4", ">i2", "u2", "u4"):
            contiguous[dtype] = np.array([1, 2, 300], dtype=dtype)
        contiguous["bool"] = np.array([True, False])
        contiguous["text"] = np.array(["a", "", "ccc"], dtype=object)
        contiguous["unwritten"] = file.create_dataset("contiguous/late", (3,), "f8")
        chunked = file.create_group("chunked")
        # One chunk: the index that "latest" uses for more is refused.
        rows = (3, 2) if libver == "earliest" else (7, 5)
        chunked.create_dataset("plain", data=grid, chunks=rows)
        chunked.create_dataset("packed", data=grid, chunks=rows, compression="gzip", shuffle=True, fletcher32=True)
        sparse = chunked.create_dataset("sparse", (7, 5), "i4", chunks=rows, fillvalue=-1)
        if libver == "earliest":
            sparse[0, 0] = 9


if __name__ == "__main__":
    for version in ("earliest", "latest"):
        write(FOLDER / f"hdf5_{version}.h5", version)
