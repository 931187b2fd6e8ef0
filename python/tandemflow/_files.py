"""Files that hold models and weights. Sizes and places in them are checked; a hostile file raises, and nothing else happens.

An HDF5 group is ``{"attrs": {name: value}, "items": {name: group or array}}``. Arrays are tensors; attributes are text,
lists of text, numbers or tensors.
"""
from . import _tandem


def read_hdf5(path_or_bytes):
    """The root group of an HDF5 file."""
    return _tandem.hdf5_read(path_or_bytes)


def write_hdf5(root):
    """The bytes of an HDF5 file with this root group; arrays may be tensors, variables or NumPy arrays."""
    return _tandem.hdf5_write(root)


def read_safetensors(path_or_bytes):
    """(tensors by name, metadata) of a safetensors file."""
    return _tandem.safetensors_read(path_or_bytes)


def write_safetensors(tensors, metadata=None):
    """The bytes of a safetensors file."""
    return _tandem.safetensors_write(tensors, metadata or {})


def read_zip(path_or_bytes):
    """The bytes of every entry by name. An archive that unpacks to more than 256 MiB and 64 times its size is refused."""
    return _tandem.zip_read(path_or_bytes)


def write_zip(entries, compressed=False):
    """The bytes of an archive with these entries."""
    return _tandem.zip_write(entries, compressed)


def write_file_atomically(path, data):
    """Writes beside `path`, waits for the disk and takes the name over: a kill leaves the old file or the new one."""
    _tandem.write_file_atomically(path, data)
