"""tf.train.Checkpoint and CheckpointManager: the values of variables, saved by the attributes that lead to them."""
import os
import re
import time

from . import _checkpoint_file, _tandem
from ._module import Module, children

_STATE = "checkpoint"


def _parts(value):
    """(name, part) of what is saved with an object."""
    if isinstance(value, (list, tuple, dict, Module)):
        return children(value)
    if isinstance(value, Checkpoint):
        return sorted(value._objects.items()) + [("save_counter", value.save_counter)]
    if hasattr(value, "_checkpoint_state"):
        return sorted(value._checkpoint_state().items())
    if hasattr(value, "variables"):  # a layer, model, optimizer or metric
        variables = value.variables() if callable(value.variables) else value.variables
        return [(str(i), variable) for i, variable in enumerate(variables)]
    return []


def _is_variable(value):
    return isinstance(value, _tandem.Variable) or (hasattr(value, "assign") and hasattr(value, "shape"))


def _walk(value, path, seen, out):
    if _is_variable(value):
        out["/".join(path)] = value
        return
    if isinstance(value, (list, tuple, dict, Module, Checkpoint)) or hasattr(value, "variables") or hasattr(value, "_checkpoint_state"):
        if id(value) in seen:
            return
        seen.add(id(value))
        for name, part in _parts(value):
            _walk(part, (*path, name), seen, out)


class _Status:
    """What a restore found."""

    def __init__(self, unused, missing):
        self._unused = unused  # values of the file that nothing took
        self._missing = missing  # variables that the file does not have

    def assert_consumed(self):
        """Raises unless every value of the file was taken and every variable got one."""
        if self._unused:
            raise AssertionError(f"Some Python objects were not bound to checkpointed values: no variable for {', '.join(self._unused)}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self):
        """Raises unless every variable got a value."""
        if self._missing:
            raise AssertionError(f"No checkpointed value for {', '.join(self._missing)}")
        return self

    assert_nontrivial_match = assert_existing_objects_matched

    def expect_partial(self):
        return self

    def initialize_or_restore(self, session=None):
        return None


class Checkpoint:
    """Checkpoint(model=model, step=step): save() writes their variables, restore() reads them back."""

    def __init__(self, root=None, **kwargs):
        for name, value in kwargs.items():
            if not (_is_variable(value) or isinstance(value, (list, tuple, dict, Module, Checkpoint)) or hasattr(value, "variables") or hasattr(value, "_checkpoint_state")):
                if not hasattr(value, "__next__"):  # iterators of datasets are taken and begin anew
                    raise ValueError(f"`Checkpoint` was expecting {name} to be a trackable object (an object with variables), got {value!r}")
        self._objects = dict(kwargs)
        if root is not None:
            self._objects["root"] = root
        for name, value in kwargs.items():
            setattr(self, name, value)
        self._counter = None

    @property
    def save_counter(self):
        """How often save() was called, a variable."""
        if self._counter is None:
            self._counter = _tandem.Variable(_tandem.to_tensor(0, "int64"), trainable=False, name="save_counter")
        return self._counter

    def _variables(self):
        out = {}
        _walk(self, (), set(), out)
        return out

    def write(self, file_prefix, options=None):
        """Writes the values to a file of this name; does not count."""
        path = os.fspath(file_prefix)
        _checkpoint_file.save(path, {name: _value(variable) for name, variable in self._variables().items()})
        return path

    def save(self, file_prefix, options=None):
        """Writes file_prefix-1, -2, … and notes it as the latest of its folder."""
        number = int(self.save_counter.assign_add(_tandem.to_tensor(1, "int64")).numpy())
        path = self.write(f"{os.fspath(file_prefix)}-{number}")
        update_checkpoint_state(os.path.dirname(path) or ".", path)
        return path

    def read(self, save_path, options=None):
        """Gives the variables the values of a file that write() made."""
        values = _checkpoint_file.load(os.fspath(save_path))
        variables = self._variables()
        for name, variable in variables.items():
            if name in values:
                _check(name, variable, values[name])
        for name, variable in variables.items():
            if name in values:
                variable.assign(values[name])
        return _Status([name for name in values if name not in variables], [name for name in variables if name not in values])

    def restore(self, save_path, options=None):
        """Gives the variables the values of a file that save() made; None restores nothing."""
        if save_path is None:
            return _Status([], [])
        return self.read(save_path)


def _value(variable):
    return variable.value if not isinstance(variable, _tandem.Variable) and hasattr(variable, "value") and not callable(variable.value) else _tandem.to_tensor(variable)


def _check(name, variable, value):
    if tuple(variable.shape) != tuple(value.shape):
        raise ValueError(f"checkpoint: {name} has shape {tuple(variable.shape)}, the file holds {tuple(value.shape)}")


# --- The file "checkpoint" of a folder, as TensorFlow writes it. ---


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
    _checkpoint_file.write_atomically(os.path.join(folder, latest_filename or _STATE), ["\n".join(lines).encode() + b"\n"])


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
    return [(name, tensor.shape.as_list()) for name, tensor in sorted(_checkpoint_file.load(_file_of(ckpt_dir_or_file)).items())]


def load_variable(ckpt_dir_or_file, name):
    """One value of a checkpoint, as a NumPy array."""
    values = _checkpoint_file.load(_file_of(ckpt_dir_or_file))
    if name not in values:
        raise KeyError(f"no {name!r} in the checkpoint; it has {', '.join(sorted(values))}")
    return values[name].numpy()


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
            os.unlink(old + _checkpoint_file.SUFFIX)
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
