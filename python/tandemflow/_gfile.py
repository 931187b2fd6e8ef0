"""tf.io.gfile: files and folders."""
import collections
import glob as _glob
import os
import shutil

from .errors import AlreadyExistsError, NotFoundError


def _path(path):
    path = path.numpy() if hasattr(path, "numpy") else path
    path = os.fsdecode(path)
    return path[len("file://") :] if path.startswith("file://") else path


def _found(function):
    """Raises TensorFlow's error where Python finds no file."""
    def call(path, *args):
        try:
            return function(_path(path), *args)
        except FileNotFoundError as error:
            raise NotFoundError(f"{_path(path)}; No such file or directory") from error

    call.__doc__ = function.__doc__
    return call


def exists(path):
    """Whether there is a file or folder of that name."""
    return os.path.exists(_path(path))


def isdir(path):
    """Whether it is a folder."""
    return os.path.isdir(_path(path))


def glob(pattern):
    """The files that match one or several patterns, sorted; of a pattern without a folder they begin with "./", as in TensorFlow."""
    patterns = [_path(one) for one in (pattern if isinstance(pattern, (list, tuple)) else [pattern])]
    return sorted({name for one in patterns for name in _glob.glob(one if os.path.dirname(one) else os.path.join(".", one))})


def join(path, *paths):
    """The parts of a path joined."""
    return os.path.join(_path(path), *map(_path, paths))


def makedirs(path):
    """Makes a folder and those it lies in."""
    os.makedirs(_path(path), exist_ok=True)


def mkdir(path):
    """Makes a folder."""
    try:
        os.mkdir(_path(path))
    except FileExistsError as error:
        raise AlreadyExistsError(f"{_path(path)}; File exists") from error
    except FileNotFoundError as error:
        raise NotFoundError(f"{_path(path)}; No such file or directory") from error


@_found
def _listdir(path):
    """The names in a folder; those of folders end in /."""
    return [name + "/" if os.path.isdir(os.path.join(path, name)) else name for name in sorted(os.listdir(path))]


@_found
def _remove(path):
    """Deletes a file."""
    os.unlink(path)


@_found
def _rmtree(path):
    """Deletes a folder with all that is in it."""
    shutil.rmtree(path)


FileStatistics = collections.namedtuple("FileStatistics", ["length", "mtime_nsec", "is_directory"])


@_found
def _stat(path):
    """Length, time of the last change and whether it is a folder."""
    found = os.stat(path)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path))


listdir, remove, rmtree, stat = _listdir, _remove, _rmtree, _stat


def _free(target, overwrite):
    if os.path.exists(target) and not overwrite:
        raise AlreadyExistsError(f"{target}; file already exists")


def copy(src, dst, overwrite=False):
    """Copies a file."""
    _free(_path(dst), overwrite)
    _found(shutil.copyfile)(src, _path(dst))


def rename(src, dst, overwrite=False):
    """Renames a file or folder."""
    _free(_path(dst), overwrite)
    _found(os.replace)(src, _path(dst))


def walk(top, topdown=True, onerror=None):
    """(folder, folders in it, files in it), down the tree."""
    return os.walk(_path(top), topdown, onerror)


class GFile:
    """A file, opened when it is first used: 'r' gives text, 'rb' bytes."""

    def __init__(self, name, mode="r"):
        self._name = _path(name)
        self._mode = mode
        self._file = None

    def _opened(self):
        if self._file is None:
            try:
                self._file = open(self._name, self._mode, encoding=None if "b" in self._mode else "utf-8")
            except FileNotFoundError as error:
                raise NotFoundError(f"{self._name}; No such file or directory") from error
        return self._file

    @property
    def name(self):
        return self._name

    @property
    def mode(self):
        return self._mode

    def read(self, n=-1):
        return self._opened().read(n)

    def write(self, data):
        self._opened().write(data)

    def readline(self):
        return self._opened().readline()

    def readlines(self):
        return self._opened().readlines()

    def seek(self, offset=0, whence=0):
        return self._opened().seek(offset, whence)

    def tell(self):
        return self._opened().tell()

    def size(self):
        return os.stat(self._name).st_size

    def flush(self):
        self._opened().flush()

    def close(self):
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def __iter__(self):
        return iter(self._opened())
