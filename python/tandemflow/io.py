"""tf.io: files of records, examples and arrays."""
import os

from . import _dtypes, _names, _tandem

# --- NumPy's files, and MNIST's. ---


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


def load_idx(path):
    """The tensor of an IDX file, the format of MNIST; .gz files are unpacked."""
    return _tandem.load_idx(os.fspath(path))


# --- Whole files. ---


def _path(filename):
    if hasattr(filename, "numpy"):
        filename = filename.numpy()
    return os.fsdecode(filename)


def read_file(filename, name=None):
    """The bytes of a file as a string tensor."""
    path = _path(filename)
    try:
        with open(path, "rb") as file:
            return _tandem.to_tensor(file.read())
    except OSError as error:
        from .errors import NotFoundError

        raise NotFoundError(f"{path}; {error.strerror}") from None


def write_file(filename, contents, name=None):
    """Writes a string tensor's bytes; missing folders are made."""
    path = _path(filename)
    value = contents.numpy() if hasattr(contents, "numpy") else contents
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(value.encode() if isinstance(value, str) else value)


def matching_files(pattern, name=None):
    """The names of the files that match a pattern, sorted."""
    from ._gfile import glob

    return _tandem.to_tensor(glob(pattern), _dtypes.string)


# --- TFRecord. ---


class TFRecordOptions:
    """How TFRecord files are packed: compression_type None, "", "GZIP" or "ZLIB"."""

    def __init__(self, compression_type=None, **tuning):
        self.compression_type = compression_type or ""
        if self.compression_type not in ("", "GZIP", "ZLIB"):
            raise ValueError(f'Not a valid compression_type: "{compression_type}"')

    @classmethod
    def get_compression_type_string(cls, options):
        return options.compression_type if isinstance(options, TFRecordOptions) else (options or "")


class TFRecordWriter:
    """Writes records to a TFRecord file."""

    def __init__(self, path, options=None):
        self._writer = _tandem.RecordWriter(_path(path), TFRecordOptions.get_compression_type_string(options))

    def write(self, record):
        value = record.numpy() if hasattr(record, "numpy") else record
        value = value.encode() if isinstance(value, str) else value
        if not isinstance(value, bytes):
            raise TypeError(f"a record is bytes, such as example.SerializeToString(); got {type(value).__name__}")
        self._writer.write(value)

    def flush(self):
        self._writer.flush()

    def close(self):
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


# --- Lines of text. ---


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", select_cols=None, name=None):
    """The columns of lines of text, a tensor each; record_defaults say their dtypes and what stands where a field is empty."""
    import csv

    import numpy

    records, defaults = _tandem.to_tensor(records), [_tandem.to_tensor(value) for value in record_defaults]
    lines = [line.decode() for line in numpy.asarray(records.numpy()).reshape(-1)]
    quoting = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    if use_quote_delim:
        _check_quotes(lines, field_delim)
    rows = list(csv.reader(lines, delimiter=field_delim, quoting=quoting))
    wanted = range(len(defaults)) if select_cols is None else select_cols
    for row in rows:
        if len(row) <= max(wanted, default=-1) or select_cols is None and len(row) != len(defaults):
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"decode_csv: expected {len(defaults)} fields but have {len(row)} in record {row}")
    columns = []
    for at, default in zip(wanted, defaults):
        given = numpy.asarray(default.numpy(), object).reshape(-1)[0] if default.shape.num_elements() else None
        values = [_field(row[at], given, na_value, default.dtype, at) for row in rows]
        columns.append(_tandem.to_tensor(numpy.asarray(values, object if default.dtype == _dtypes.string else None).reshape(records.shape.as_list()), default.dtype))
    return columns


def _check_quotes(lines, delimiter):
    """Quotes stand around whole fields, and inside those twice."""
    import re

    between = re.escape(delimiter)
    quoted = re.compile(f'(?:^|(?<={between}))"(?:[^"]|"")*"(?=$|{between})')
    for line in lines:
        if '"' in line and '"' in quoted.sub("", line):
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"decode_csv: Unquoted fields cannot have quotes inside, and quoted fields must end with one: {line!r}")


def _field(text, default, na_value, dtype, column):
    from .errors import InvalidArgumentError

    if text in ("", na_value):
        if default is None:
            raise InvalidArgumentError(f"decode_csv: field {column} is required but missing")
        return default
    if dtype == _dtypes.string:
        return text.encode()
    try:
        return float(text) if dtype.is_floating else int(text)
    except ValueError:
        raise InvalidArgumentError(f"decode_csv: field {column} is not a valid {dtype.name}: {text!r}") from None


__getattr__, __dir__ = _names.lazy(
    __name__,
    {
        "gfile": "_gfile:",
        **_names.places_of(
            _examples="FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature parse_example parse_sequence_example "
            "parse_single_example parse_single_sequence_example",
            _event_files="tf_record_iterator",
            _extras="decode_base64 decode_compressed decode_raw encode_base64",
            _tensor_message="parse_tensor serialize_tensor",
            _pictures="decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png extract_jpeg_shape is_jpeg",
        ),
    },
)
