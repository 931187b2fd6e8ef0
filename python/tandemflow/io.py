"""Files: NumPy's .npy and .npz."""
import os

from . import _tandem


def load_npy(path):
    """The tensor of a .npy file."""
    return _tandem.load_npy(os.fspath(path))


def save_npy(path, tensor):
    """Writes a .npy file, byte for byte as numpy.save does."""
    _tandem.save_npy(os.fspath(path), tensor)


def load_npz(path):
    """The tensors of a .npz archive, by name."""
    return _tandem.load_npz(os.fspath(path))


def save_npz(path, tensors, compressed=False):
    """Writes a .npz archive of named tensors."""
    _tandem.save_npz(os.fspath(path), dict(tensors), compressed)
