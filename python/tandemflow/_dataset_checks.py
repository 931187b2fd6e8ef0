"""What the arguments of datasets may be, said as TensorFlow says it."""
import operator
import os

from ._specs import TensorSpec, TypeSpec


def whole(number, role):
    """A number of elements: an int, NumPy's, or a tensor of one."""
    if number is None:
        from .errors import DTypeError  # TensorFlow says ValueError here, and TypeError to all else

        raise DTypeError(f"{role} must be a whole number, got None")
    number = number.numpy() if hasattr(number, "numpy") else number
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{role} must be a whole number, got {number!r}") from None


def calls(num_parallel_calls):
    """0 where nothing was said."""
    if num_parallel_calls is None:
        return 0
    count = whole(num_parallel_calls, "num_parallel_calls")
    if count < 1 and count != -1:
        from .errors import InvalidArgumentError

        raise InvalidArgumentError(f"num_parallel_calls must be greater than zero, or AUTOTUNE, got {count}")
    return count


def names(given):
    """One or several names of files, or patterns of them, as strings."""
    if hasattr(given, "element_spec"):
        raise ValueError(f"names of files, or patterns of them, are needed, got {given!r}")
    given = given.numpy() if hasattr(given, "numpy") else given
    if isinstance(given, (str, bytes, os.PathLike)):
        given = [given]
    return [os.fsdecode(name.numpy() if hasattr(name, "numpy") else name) for name in given]


def function(func):
    """Something that can be called."""
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func!r} (of type {type(func)})")
    return func


def limits(args):
    """The numbers of Dataset.range, as a range."""
    if not 1 <= len(args) <= 3:
        raise ValueError(f"Invalid `args`. The length of `args` should be between 1 and 3 but was {len(args)}.")
    numbers = [whole(number, "Dataset.range: a limit") for number in args]
    if len(numbers) == 3 and numbers[2] == 0:
        from .errors import InvalidArgumentError

        raise InvalidArgumentError("Dataset.range: step must be a non-zero integer.")
    return range(*numbers)


def generator_signature(generator, output_types, output_shapes, output_signature):
    """The specs of what a generator yields."""
    from ._dataset_structure import flatten, signature

    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if output_signature is None:
        if output_types is None:
            raise TypeError("To specify the output signature you need to provide either the `output_signature` argument or the `output_types` argument.")
        return signature(output_types, output_shapes)
    for name, given in (("output_types", output_types), ("output_shapes", output_shapes)):
        if given is not None:
            raise TypeError(f"The `{name}` argument can not be used together with the `output_signature` argument.")
    for spec in flatten(output_signature):
        if spec is not None and not isinstance(spec, TypeSpec):
            raise TypeError(f"`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found {type(spec)} which is not.")
    return output_signature


def zipped(args, datasets, kind):
    """The structure of datasets that zip was given in one of its two ways."""
    if args and datasets is not None:
        raise TypeError("Both `*args` and `datasets` cannot be set.")
    if not args and datasets is None:
        raise TypeError("Must pass at least one dataset to `zip`.")
    structure = datasets if datasets is not None else args[0] if len(args) == 1 else args
    _only_datasets(structure, kind)
    return structure


def _only_datasets(structure, kind):
    expected = "Invalid input to `zip`. Inputs are expected to be (nested) structures of `tf.data.Dataset` objects"
    if isinstance(structure, list):
        raise TypeError(f"{expected}. Python `list` is not supported and you should use `tuple` instead.")
    if isinstance(structure, (tuple, dict)):
        for item in structure.values() if isinstance(structure, dict) else structure:
            _only_datasets(item, kind)
    elif not isinstance(structure, kind):
        raise TypeError(f"{expected} but encountered object of type {type(structure)}.")


def alternatives(datasets):
    """Datasets of which one is chosen again and again: there are some, and their elements look alike."""
    datasets = list(datasets)
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    return datasets


def same_elements(first, second):
    """For concatenate: elements of the same structure and dtypes."""
    a, b = first.element_spec, second.element_spec
    if not _alike(a, b):
        raise TypeError(f"Incompatible dataset elements:\n  {a} vs.   {b}")


def _alike(a, b):
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(_alike, a, b))
    if isinstance(a, dict) or isinstance(b, dict):
        return isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[key], b[key]) for key in a)
    return getattr(a, "dtype", None) == getattr(b, "dtype", None)


def padded(spec, padded_shapes):
    """padded_batch pads tensors whose rank is known, or given."""
    from ._dataset_structure import flatten

    for number, leaf in enumerate(flatten(spec)):
        if getattr(leaf, "ragged_rank", 0) or type(leaf).__name__ == "SparseTensorSpec":
            raise TypeError(f"padded_batch: only tensors can be padded, got {leaf!r}; map(lambda x: x.to_tensor()) or tf.sparse.to_dense first, or use batch()")
        if padded_shapes is None and isinstance(leaf, TensorSpec) and leaf.shape.rank is None:
            raise ValueError(f"You must provide `padded_shapes` argument because component {number} has unknown rank.")
    if isinstance(spec, (tuple, dict)) and isinstance(padded_shapes, list):
        raise TypeError(f"padded_batch: `padded_shapes` must be nested as the elements are, {spec!r}, got the list {padded_shapes}")


def batched(spec):
    """rebatch needs batches."""
    from ._dataset_structure import flatten

    if any(getattr(leaf, "shape", None) is not None and leaf.shape.rank == 0 for leaf in flatten(spec)):
        raise ValueError(
            "Invalid `batch_sizes`. Expected dataset with rank of >= 1 but found a dataset with scalar elements. Fix the issue by adding the `batch` "
            "transformation to the dataset."
        )
