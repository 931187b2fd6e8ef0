"""Names of files: what may be written and read, and what is said when a file cannot be understood."""
import contextlib
import os

# The version of Keras whose files are written here.
KERAS_VERSION = "3.15.1"


def to_write(filepath, overwrite):
    """The path as a string, or None where the user says no."""
    path = os.fspath(filepath)
    if not overwrite and os.path.exists(path):
        answer = ""
        while answer not in ("y", "n"):
            answer = input(f"[WARNING] {path} already exists - overwrite? [y/n]").strip().lower()
        if answer == "n":
            return None
    return path


def to_read(filepath, what, missing=ValueError):
    """The path of a file that is there; `missing` is what is raised where it is not."""
    path = os.fspath(filepath)
    if not os.path.exists(path):
        raise missing(f"File not found: filepath={path}. Please ensure the file is an accessible {what}.")
    return path


def check_version(version, path):
    """Files of a later major version may mean other things by the same names."""
    major = str(version or "").split(".")[0]
    if major.isdigit() and int(major) > 3:
        raise ValueError(f"{path} was written by Keras {version}; files of Keras 2 and 3 can be read here")


@contextlib.contextmanager
def making_a_model_of(path):
    """A configuration that makes no sense ends in an error that names the file."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, RecursionError) as error:
        raise ValueError(f"{path}: no model can be made of its configuration: {type(error).__name__}: {error}") from error
