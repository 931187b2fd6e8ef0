"""Files from elsewhere, kept in a folder: ~/.keras, or where KERAS_HOME says."""
import hashlib
import os
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import warnings
import zipfile

from .messages import print_message
from .progbar import Progbar


def keras_home():
    return os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")


def get_file(fname=None, origin=None, untar=False, md5_hash=None, file_hash=None, cache_subdir="datasets",
             hash_algorithm="auto", extract=False, archive_format="auto", cache_dir=None, force_download=False):  # fmt: skip
    """The path of a file (or, extracted, of a folder) that was at `origin`; fetched the first time only."""
    if origin is None:
        raise ValueError('Please specify the "origin" argument (URL of the file to download).')
    if md5_hash is not None and file_hash is None:
        file_hash, hash_algorithm = md5_hash, "md5"
    folder = os.path.join(os.path.expanduser(cache_dir or keras_home()), cache_subdir)
    target, extracted = _names(folder, fname, origin, extract or untar)
    if force_download or not _is_there(target, file_hash, hash_algorithm):
        os.makedirs(folder, exist_ok=True)
        _fetch(origin, target)
        if file_hash is not None and not _has_hash(target, file_hash, hash_algorithm):
            raise ValueError(
                f"Incomplete or corrupted file detected. The {hash_algorithm} file hash does not match the provided value of "
                f"{file_hash}."
            )
    if extracted is None:
        return target
    if not _extract(target, extracted, "tar" if untar else archive_format):
        warnings.warn("Could not extract archive.", stacklevel=2)
    return extracted


def _names(folder, fname, origin, extract):
    """(where the file goes, where its contents go or None)."""
    name = os.fspath(fname) if fname else os.path.basename(urllib.parse.urlsplit(origin).path)
    if not name:
        raise ValueError(
            f"Can't parse the file name from the origin provided: '{origin}'. Please specify the `fname` argument."
        )
    if os.sep in name:
        raise ValueError(
            "Paths are no longer accepted as the `fname` argument. To specify the file's parent directory, use the "
            f"`cache_dir` argument. Received: fname={name}"
        )
    if not extract:
        return os.path.join(folder, name), None
    if fname and "." in name:
        return os.path.join(folder, name), os.path.join(folder, name[: name.find(".")] + "_extracted")
    return os.path.join(folder, name + "_archive"), os.path.join(folder, name)


def _is_there(target, file_hash, algorithm):
    if not os.path.exists(target):
        return False
    if file_hash is None or _has_hash(target, file_hash, algorithm):
        return True
    print_message(
        f"A local file was found, but it seems to be incomplete or outdated because the {algorithm} file hash does not match "
        f"the original value of {file_hash} so we will re-download the data."
    )
    return False


def _has_hash(path, wanted, algorithm):
    is_long = algorithm == "sha256" or algorithm == "auto" and len(str(wanted)) == 64
    digest = hashlib.sha256() if is_long else hashlib.md5()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest() == str(wanted)


def _fetch(origin, target):
    """Into a file beside the target first, so that an interruption leaves no half of it."""
    print_message(f"Downloading data from {origin}")
    partial = target + ".part"
    try:
        with urllib.request.urlopen(origin, timeout=30) as source, open(partial, "wb") as file:
            size = int(source.headers.get("Content-Length") or 0) or None
            bar, done = Progbar(size), 0
            for block in iter(lambda: source.read(1 << 16), b""):
                file.write(block)
                done += len(block)
                bar.update(done)
        os.replace(partial, target)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "msg", None) or error
        raise OSError(
            f"URL fetch failure on {origin}: {reason}. Without a network, put the file there yourself: {target}"
        ) from None
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def _extract(archive, folder, formats):
    kinds = {"auto": ("tar", "zip"), None: ()}.get(formats, (formats,) if isinstance(formats, str) else formats)
    for kind in kinds:
        if kind == "tar" and tarfile.is_tarfile(archive):
            with tarfile.open(archive) as opened:
                return _extract_to(folder, lambda to: _extract_tar(opened, to))
        if kind == "zip" and zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                return _extract_to(folder, opened.extractall)
    return False


def _extract_to(folder, extract):
    fresh = not os.path.exists(folder)
    try:
        extract(folder)
    except BaseException:
        if fresh and os.path.isdir(folder):
            shutil.rmtree(folder)
        raise
    return True


def _extract_tar(opened, folder):
    """Only what stays inside of the folder."""
    if hasattr(tarfile, "data_filter"):
        opened.extractall(folder, filter="data")
        return
    root = os.path.realpath(folder)
    for member in opened.getmembers():
        inside = os.path.realpath(os.path.join(root, member.name)).startswith(root + os.sep)
        if not inside or not (member.isfile() or member.isdir()):
            raise ValueError(f"The archive holds '{member.name}', which does not stay inside of its folder")
    opened.extractall(folder)
