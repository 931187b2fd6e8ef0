"""Datasets over files: records, lines, CSV."""
import os

from . import _dataset_checks as check
from . import _dtypes, _tandem
from ._dataset import AUTOTUNE, Dataset
from ._specs import TensorSpec
from .errors import InvalidArgumentError, NotFoundError


def _files(filenames):
    if isinstance(filenames, Dataset):
        return [os.fsdecode(name) for name in filenames.as_numpy_iterator()]
    return check.names(filenames)


def _read(make, filenames, num_parallel_reads):
    """One dataset over the files in order, or several at a time in turn."""
    files = _files(filenames)
    if not num_parallel_reads or len(files) < 2:
        return make(files)
    cycle = None if num_parallel_reads == AUTOTUNE else num_parallel_reads
    names = Dataset.from_tensor_slices(files)
    return names.interleave(lambda name: Dataset(make([os.fsdecode(name.numpy())])), cycle_length=cycle, num_parallel_calls=num_parallel_reads)._handle


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as string tensors."""

    _kind = "TFRecordDatasetV2"

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        kind = compression_type or ""
        super().__init__(_read(lambda files: _tandem.tfrecord_dataset(files, kind), filenames, num_parallel_reads))


class TextLineDataset(Dataset):
    """The lines of text files, without their ends."""

    _kind = "TextLineDatasetV2"

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        kind = compression_type or ""
        super().__init__(_read(lambda files: _tandem.text_line_dataset(files, kind), filenames, num_parallel_reads))


class FixedLengthRecordDataset(Dataset):
    """The records of binary files, record_bytes each, as string tensors; headers and footers of the files are left out."""

    _kind = "FixedLengthRecordDatasetV2"

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None, compression_type=None,
                 num_parallel_reads=None, name=None):  # fmt: skip
        size, header, footer = int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0)
        if size < 1:
            raise InvalidArgumentError(f"FixedLengthRecordDataset: record_bytes must be at least 1, got {size}")

        def records():
            for file in _files(filenames):
                yield from _records(file, compression_type, size, header, footer)

        super().__init__(_tandem.dataset_from_generator(records, TensorSpec([], _dtypes.string)))


def _records(file, compression_type, size, header, footer):
    import gzip
    import zlib

    try:
        with gzip.open(file) if compression_type == "GZIP" else open(file, "rb") as stream:
            data = stream.read()
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}; {error.strerror}") from None
    data = zlib.decompress(data) if compression_type == "ZLIB" else data
    body = data[header : len(data) - footer]
    if len(body) % size:
        raise InvalidArgumentError(f"Excess bytes in input file {file}: {len(body)} bytes after header and before footer are no multiple of {size}")
    yield from (body[at : at + size] for at in range(0, len(body), size))


class NpyDataset(Dataset):
    """The rows of the array in a .npy file, read from the mapped file as they are needed."""

    def __init__(self, filename):
        super().__init__(_tandem.npy_dataset(os.fspath(filename)))


class NpzDataset(Dataset):
    """Rows of the arrays in a .npz file: dicts by name, or with `names` tuples of these. What is not packed is mapped."""

    def __init__(self, filename, names=()):
        super().__init__(_tandem.npz_dataset(os.fspath(filename), list(names)))


def _column(default, name=""):
    """A dtype: the field must be there. A value: it stands for a missing field."""
    try:
        return _dtypes.as_dtype(default), None, name
    except (TypeError, ValueError):
        tensor = _tandem.to_tensor(default)
        if tensor.shape.num_elements() == 0:
            return tensor.dtype, None, name
        return tensor.dtype, tensor, name


class CsvDataset(Dataset):
    """The rows of CSV files as tuples; record_defaults gives a dtype (required) or a default (optional) a column."""

    def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",",
                 use_quote_delim=True, na_value="", select_cols=None, exclude_cols=None):  # fmt: skip
        if exclude_cols is not None:
            if select_cols is not None:
                raise InvalidArgumentError("CsvDataset: give select_cols or exclude_cols, not both")
            everything = range(len(record_defaults) + len(exclude_cols))
            select_cols = [column for column in everything if column not in set(exclude_cols)]
        columns = [_column(default) for default in record_defaults]
        super().__init__(_tandem.csv_dataset(
            _files(filenames), columns, [int(c) for c in select_cols or []], field_delim, header, use_quote_delim, na_value,
            compression_type or "",
        ))  # fmt: skip


def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None, label_name=None,
                     select_columns=None, field_delim=",", use_quote_delim=True, na_value="", header=True,
                     num_epochs=None, shuffle=True, shuffle_buffer_size=10000, shuffle_seed=None,
                     prefetch_buffer_size=None, num_parallel_reads=None, sloppy=False, num_rows_for_inference=100,
                     compression_type=None, ignore_errors=False, encoding="utf-8"):  # fmt: skip
    """Batches of columns by name, and of the label if one is named; dtypes are inferred where they are not given."""
    patterns = [file_pattern] if isinstance(file_pattern, (str, os.PathLike)) else file_pattern
    files = [os.fsdecode(f) for f in Dataset.list_files(patterns, shuffle=False).as_numpy_iterator()]
    if column_names is None and not header:
        raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
    kind = compression_type or ""
    inferred = _tandem.infer_csv(files[0], field_delim, header, use_quote_delim, na_value, kind, num_rows_for_inference or 2**40)
    names = list(column_names) if column_names is not None else [name for _, _, name in inferred]
    if len(names) != len(inferred):
        raise InvalidArgumentError(f"make_csv_dataset: {len(names)} column_names for {len(inferred)} columns in {files[0]}")
    chosen = [names.index(c) if isinstance(c, str) else int(c) for c in select_columns] if select_columns else list(range(len(names)))
    if column_defaults is not None and len(column_defaults) != len(chosen):
        raise InvalidArgumentError(f"make_csv_dataset: {len(column_defaults)} column_defaults for {len(chosen)} columns")
    order = sorted(range(len(chosen)), key=lambda i: chosen[i])
    columns = []
    for i in order:
        dtype, default, _ = inferred[chosen[i]]
        given = None if column_defaults is None else column_defaults[i]
        columns.append((dtype, default, names[chosen[i]]) if given is None else _column(given, names[chosen[i]]))
    chosen = [chosen[i] for i in order]
    if label_name is not None and label_name not in [name for _, _, name in columns]:
        raise ValueError(f"`label_name` provided must be one of the columns: {names}, got {label_name!r}")

    dataset = Dataset(_tandem.csv_dataset(files, columns, chosen if select_columns else [], field_delim, header,
                                          use_quote_delim, na_value, kind))  # fmt: skip
    if ignore_errors:
        dataset = dataset.ignore_errors()
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None)
    if label_name is not None:
        dataset = dataset.map(lambda row: ({name: value for name, value in row.items() if name != label_name}, row[label_name]))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)
