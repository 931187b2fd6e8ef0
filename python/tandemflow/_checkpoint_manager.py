"""tf.train.CheckpointManager, and the file "checkpoint" that says, as TensorFlow's does, which checkpoints a folder holds."""
import contextlib
import os
import re
import time

from . import _checkpoint_file, _tandem, _tensor_bundle
from ._atomic_file import write_atomically
from .errors import NotFoundError

_STATE = "checkpoint"


class CheckpointState:
    """The checkpoints that a folder holds."""

    def __init__(self, model_checkpoint_path, all_model_checkpoint_paths):
        self.model_checkpoint_path = model_checkpoint_path
        self.all_model_checkpoint_paths = all_model_checkpoint_paths


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None, **times):
    """Notes the latest checkpoint of a folder."""
    folder = os.path.abspath(os.fspath(save_dir))
    every = list(all_model_checkpoint_paths) if all_model_checkpoint_paths is not None else []
    if model_checkpoint_path not in every:
        every.append(model_checkpoint_path)
    inside = lambda path: os.path.relpath(os.path.abspath(path), folder)  # noqa: E731
    lines = [f'model_checkpoint_path: "{inside(model_checkpoint_path)}"']
    lines += [f'all_model_checkpoint_paths: "{inside(path)}"' for path in every]
    write_atomically(os.path.join(folder, latest_filename or _STATE), ["\n".join(lines).encode() + b"\n"])


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """What the folder's file says; None when there is none."""
    folder = os.fspath(checkpoint_dir)
    try:
        with open(os.path.join(folder, latest_filename or _STATE), encoding="utf-8") as file:
            entries = re.findall(r'^(\w+): "(.*)"$', file.read(), re.MULTILINE)
    except OSError:
        return None
    full = lambda path: path if os.path.isabs(path) else os.path.join(folder, path)  # noqa: E731
    latest = [full(path) for key, path in entries if key == "model_checkpoint_path"]
    return CheckpointState(latest[0], [full(path) for key, path in entries if key == "all_model_checkpoint_paths"]) if latest else None


def latest_checkpoint(checkpoint_dir, latest_filename=None):
    """The path to give to restore(); None when there is no checkpoint."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not os.path.exists(state.model_checkpoint_path + _checkpoint_file.SUFFIX):
        return None
    return state.model_checkpoint_path


def list_variables(ckpt_dir_or_file):
    """(name, shape) of what a checkpoint holds."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file, name):
    """One value of a checkpoint, as a NumPy array."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


class CheckpointReader:
    """The values of a checkpoint by name; TensorFlow's ending of the names of variables may be left out."""

    def __init__(self, saved):
        self._saved = saved

    def get_variable_to_shape_map(self):
        return {key: self._saved.shape(key) for key in self._saved.keys()}

    def get_variable_to_dtype_map(self):
        return {key: self._saved.dtype(key) for key in self._saved.keys()}

    def _key(self, name):
        name = name.decode() if isinstance(name, bytes) else name
        return next((key for key in (name, f"{name}/.ATTRIBUTES/VARIABLE_VALUE") if key in self._saved.keys()), None)

    def has_tensor(self, tensor_str):
        return self._key(tensor_str) is not None

    def get_tensor(self, tensor_str):
        """One value, as a NumPy array."""
        key = self._key(tensor_str)
        if key is None:
            raise NotFoundError(f"Key {tensor_str} not found in checkpoint; it has {', '.join(self._saved.keys())}")
        return self._saved.tensor(key).numpy()

    def debug_string(self):
        lines = (f"{key} ({self._saved.dtype(key).name}) {self._saved.shape(key)}" for key in self._saved.keys())
        return "\n".join(lines).encode()


def load_checkpoint(ckpt_dir_or_file):
    """A reader of a checkpoint's values."""
    path = _file_of(ckpt_dir_or_file)
    if path is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {os.fspath(ckpt_dir_or_file)}")
    return CheckpointReader(_checkpoint_file.load(path))


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """The latest checkpoint of a folder each time there is a new one; ends after `timeout` seconds without."""
    seen = None
    while True:
        begun = time.time()
        while (path := latest_checkpoint(checkpoint_dir)) in (None, seen):
            if timeout is not None and time.time() - begun > timeout:
                if timeout_fn is None or timeout_fn():
                    return
                begun = time.time()
            time.sleep(min(0.05, timeout or 0.05))
        seen = path
        yield path
        time.sleep(max(0.0, min_interval_secs - (time.time() - begun)))


def _file_of(path):
    path = os.fspath(path)
    return latest_checkpoint(path) if os.path.isdir(path) else path


class CheckpointManager:
    """Saves under rising numbers and keeps the last few."""

    def __init__(self, checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours=None, checkpoint_name="ckpt",
                 step_counter=None, checkpoint_interval=None, init_fn=None):  # fmt: skip
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"max_to_keep must be positive or None, got {max_to_keep}")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = os.fspath(directory)
        self._most = max_to_keep
        self._every_hours = keep_checkpoint_every_n_hours
        self._name = checkpoint_name
        self._step, self._interval, self._last_step = step_counter, checkpoint_interval, None
        self._init_fn = init_fn
        self._kept_at = time.time()
        state = get_checkpoint_state(self._directory)
        known = state.all_model_checkpoint_paths if state else []
        self._paths = [path for path in known if os.path.exists(path + _checkpoint_file.SUFFIX)]

    @property
    def checkpoint(self):
        return self._checkpoint

    @property
    def directory(self):
        return self._directory

    @property
    def checkpoints(self):
        """All that are kept, the oldest first."""
        return list(self._paths)

    @property
    def latest_checkpoint(self):
        return self._paths[-1] if self._paths else None

    @property
    def checkpoint_interval(self):
        return self._interval

    def save(self, checkpoint_number=None, check_interval=True, options=None):
        """Writes the next one and drops what is too many; None when the interval has not passed."""
        if check_interval and self._interval is not None:
            step = int(self._step.numpy() if hasattr(self._step, "numpy") else self._step)
            if self._last_step is not None and step - self._last_step < self._interval:
                return None
            self._last_step = step
        counted = self._checkpoint.save_counter.assign_add(_tandem.to_tensor(1, "int64"))
        number = int(counted.numpy()) if checkpoint_number is None else int(checkpoint_number)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"))
        self._paths = [old for old in self._paths if old != path] + [path]
        dropped = self._to_drop()
        self._paths = [old for old in self._paths if old not in dropped]
        update_checkpoint_state(self._directory, path, self._paths)
        for old in dropped:
            with contextlib.suppress(FileNotFoundError):  # somebody else was tidy
                _tensor_bundle.remove(old)
        return path

    def _to_drop(self):
        extra = self._paths[: -self._most] if self._most else []
        if self._every_hours and extra and time.time() - self._kept_at >= 3600 * self._every_hours:
            self._kept_at = time.time()
            extra = extra[1:]
        return extra

    def restore_or_initialize(self):
        """Restores the latest; the path, or None after init_fn() when there is none."""
        if self.latest_checkpoint is not None:
            self._checkpoint.restore(self.latest_checkpoint)
            return self.latest_checkpoint
        if self._init_fn is not None:
            self._init_fn()
        return None
