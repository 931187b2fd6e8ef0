"""The file of a checkpoint: a line of JSON that lists the tensors, their bytes, and a checksum over both.

Written beside its name, flushed to the disk, then renamed: a reader finds the old file or the whole new one.
"""
import hashlib
import json
import os
import tempfile

from . import _dtypes, _tandem
from .errors import DataLossError, NotFoundError

MAGIC = b"tandemflow checkpoint 1\n"
SUFFIX = ".index"  # TensorFlow's: programs look for it


def write_atomically(path, pieces):
    """Writes a file so that it is there whole or not at all, even when the machine stops."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
    folder_descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(folder_descriptor)
    finally:
        os.close(folder_descriptor)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _bytes_of(array, dtype):
    if dtype == "string":
        return json.dumps([item.hex() for item in array.ravel().tolist()]).encode()
    return array.tobytes()


def save(path, tensors):
    """Writes {name: tensor}."""
    import numpy

    entries, blobs, offset = [], [], 0
    for name, tensor in tensors.items():
        tensor = _tandem.to_tensor(tensor)
        dtype = tensor.dtype.name
        plain = tensor.numpy() if dtype != "bfloat16" else _widened(tensor)
        blob = _bytes_of(numpy.asarray(plain), dtype)
        entries.append({"name": name, "dtype": dtype, "shape": tensor.shape.as_list(), "offset": offset, "bytes": len(blob)})
        blobs.append(blob)
        offset += len(blob)
    header = json.dumps(entries).encode() + b"\n"
    digest = hashlib.sha256()
    for piece in (header, *blobs):
        digest.update(piece)
    write_atomically(path + SUFFIX, [MAGIC, digest.hexdigest().encode() + b"\n", header, *blobs])


def _widened(tensor):
    """bfloat16 as float32, which NumPy has."""
    from . import _ops

    return _ops.cast(tensor, _dtypes.float32).numpy()


def load(path):
    """{name: tensor} of a checkpoint; DataLossError when it is damaged."""
    file_name = path + SUFFIX
    try:
        with open(file_name, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise NotFoundError(f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {path}") from None
    if not data.startswith(MAGIC):
        raise DataLossError(f"{file_name} is no checkpoint of TandemFlow (its first line must be {MAGIC.decode().strip()!r})")
    digest, _, rest = data[len(MAGIC) :].partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode() != digest:
        raise DataLossError(f"{file_name} is damaged: its checksum does not fit its content; take an older checkpoint")
    header, _, blobs = rest.partition(b"\n")
    return {entry["name"]: _tensor(entry, blobs[entry["offset"] : entry["offset"] + entry["bytes"]]) for entry in json.loads(header)}


def _tensor(entry, blob):
    import numpy

    from . import _ops

    dtype = entry["dtype"]
    if dtype == "string":
        flat = _tandem.to_tensor([bytes.fromhex(item) for item in json.loads(blob)], _dtypes.string)
        return _ops.reshape(flat, entry["shape"])
    plain = "float32" if dtype == "bfloat16" else dtype
    array = numpy.frombuffer(blob, numpy.dtype(plain)).reshape(entry["shape"])
    tensor = _tandem.to_tensor(array.copy())
    return _ops.cast(tensor, dtype) if dtype == "bfloat16" else tensor
