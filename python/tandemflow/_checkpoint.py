"""tf.train.Checkpoint and CheckpointManager: the values of variables, saved by the attributes that lead to them."""
import os

from . import _checkpoint_file, _deferred, _tandem
from ._function import Function
from ._module import Module, children


def _parts(value):
    """(name, part) of what is saved with an object."""
    if isinstance(value, (list, tuple, dict, Module)):
        return children(value)
    if isinstance(value, Checkpoint):
        return sorted(value._objects.items())
    if hasattr(value, "_checkpoint_state"):
        return sorted(value._checkpoint_state().items())
    if hasattr(value, "variables"):  # a layer, model, optimizer or metric
        variables = value.variables() if callable(value.variables) else value.variables
        return [(str(i), variable) for i, variable in enumerate(variables)]
    return []


def _is_variable(value):
    return isinstance(value, _tandem.Variable) or (hasattr(value, "assign") and hasattr(value, "shape"))


def _is_trackable(value):
    holds = isinstance(value, (list, tuple, dict, Module, Checkpoint)) or hasattr(value, "variables") or hasattr(value, "_checkpoint_state")
    return holds or _is_variable(value)


def _is_ordered(value):
    return not isinstance(value, (list, tuple, dict, Module, Checkpoint)) and not hasattr(value, "_checkpoint_state") and hasattr(value, "variables")


def _walk(value, path, seen, out, ordered=None):
    """Adds the variables by name to `out`, and the objects that name theirs by order to `ordered`."""
    if _is_variable(value):
        out["/".join(path)] = value
        return
    if ordered is not None and _is_ordered(value):
        ordered["/".join(path) + "/"] = value
    if _is_trackable(value):
        if id(value) in seen:
            return
        seen.add(id(value))
        for name, part in _parts(value):
            _walk(part, (*path, name), seen, out, ordered)


class _Status:
    """What a restore found, and what it has found since."""

    def __init__(self, restoration=None):
        self._restoration = restoration

    def assert_consumed(self):
        """Raises unless every value of the file was taken and every variable got one."""
        unused = self._restoration.unused() if self._restoration else []
        if unused:
            raise AssertionError(f"Some Python objects were not bound to checkpointed values: no variable for {', '.join(unused)}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self):
        """Raises unless every variable got a value."""
        missing = self._restoration.missing() if self._restoration else []
        if missing:
            raise AssertionError(f"No checkpointed value for {', '.join(missing)}")
        return self

    assert_nontrivial_match = assert_existing_objects_matched

    def expect_partial(self):
        return self

    def initialize_or_restore(self, session=None):
        return None


class _Restoration:
    """The values of a file on their way into the variables of a checkpoint, some of which may not exist yet."""

    def __init__(self, checkpoint, values):
        self.checkpoint = checkpoint
        self._values = values
        self._taken = set()

    def apply(self):
        """Gives the variables that exist, and have no value of the file yet, theirs."""
        found = {name: v for name, v in self._ready().items() if name in self._values and name not in self._taken}
        for name, variable in found.items():
            _check(name, variable, self._values[name])
        for name, variable in found.items():
            variable.assign(self._values[name])
        self._taken.update(found)

    def _ready(self):
        """Variables whose names are final. Those of Keras' objects are named by their order, which changes while layers are built."""
        ready = self.checkpoint._variables()
        for prefix, value in self._ordered():
            if _count_below(prefix, self._values) > _count_below(prefix, ready) and not hasattr(value, "iterations"):
                ready = {name: v for name, v in ready.items() if not name.startswith(prefix)}
        return ready

    def _ordered(self):
        """(prefix, object) of the objects whose variables are named by their order."""
        out = {}
        _walk(self.checkpoint, (), set(), {}, out)
        return out.items()

    def unused(self):
        return [name for name in self._values if name not in self._taken]

    def missing(self):
        return [name for name in self.checkpoint._variables() if name not in self._values]

    def may_go_on(self):
        """Whether some of the values left belong to objects that are there, or nothing is there yet: they may find a variable later."""
        holders = [f"{name}/" for name, value in self.checkpoint._objects.items() if not _is_variable(value)]
        return any(name.startswith(tuple(holders)) for name in self.unused()) or not self.checkpoint._objects


def _count_below(prefix, names):
    return sum(name.startswith(prefix) for name in names)


class Checkpoint:
    """Checkpoint(model=model, step=step): save() writes their variables, restore() reads them back."""

    def __init__(self, root=None, **kwargs):
        self._objects = {}
        self._counter = None
        for name, value in kwargs.items():
            if not _is_trackable(value) and not isinstance(value, Function):  # which has nothing to save
                raise ValueError(f"`Checkpoint` was expecting {name} to be a trackable object (an object with variables), got {value!r}")
            setattr(self, name, value)
        if root is not None:
            self._objects["root"] = root

    def __setattr__(self, name, value):
        """Objects that are set later are saved too, and get values of the file that was restored before."""
        super().__setattr__(name, value)
        if not name.startswith("_") and _is_trackable(value):
            self._objects[name] = value
            _deferred.variables_made()

    @property
    def save_counter(self):
        """How often save() was called, a variable."""
        if self._counter is None:
            self._counter = _tandem.Variable(_tandem.to_tensor(0, "int64"), trainable=False, name="save_counter")
        return self._counter

    def _variables(self):
        out = {}
        _walk(self, (), set(), out)
        return {**out, "save_counter": self.save_counter}

    def write(self, file_prefix, options=None):
        """Writes the values to a file of this name; does not count."""
        path = os.fspath(file_prefix)
        _checkpoint_file.save(path, {name: _value(variable) for name, variable in self._variables().items()})
        return path

    def save(self, file_prefix, options=None):
        """Writes file_prefix-1, -2, … and notes it as the latest of its folder."""
        number = int(self.save_counter.assign_add(_tandem.to_tensor(1, "int64")).numpy())
        path = self.write(f"{os.fspath(file_prefix)}-{number}")
        from ._checkpoint_manager import update_checkpoint_state

        update_checkpoint_state(os.path.dirname(path) or ".", path)
        return path

    def read(self, save_path, options=None):
        """Gives the variables the values of a file that write() made; those that are made later get theirs when they are made."""
        restoration = _Restoration(self, _checkpoint_file.load(os.fspath(save_path)))
        restoration.apply()
        if restoration.may_go_on():
            _deferred.wait(restoration)
        else:
            _deferred.forget(self)
        return _Status(restoration)

    def restore(self, save_path, options=None):
        """Gives the variables the values of a file that save() made; None restores nothing."""
        if save_path is None:
            return _Status()
        return self.read(save_path)


def _value(variable):
    return variable.value if not isinstance(variable, _tandem.Variable) and hasattr(variable, "value") and not callable(variable.value) else _tandem.to_tensor(variable)


def _check(name, variable, value):
    if tuple(variable.shape) != tuple(value.shape):
        raise ValueError(f"checkpoint: {name} has shape {tuple(variable.shape)}, the file holds {tuple(value.shape)}")
