"""tf.train.Checkpoint: the values of variables, saved by the attributes that lead to them."""
import os

from . import _checkpoint_file, _deferred, _tandem
from ._checkpoint_manager import latest_checkpoint, update_checkpoint_state
from ._function import Function
from ._object_graph import is_trackable, parts
from ._restoration import Restoration
from .errors import NotFoundError


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

    def assert_nontrivial_match(self):
        """Raises unless something was found for some variable."""
        if self._restoration and not self._restoration.took_any():
            raise AssertionError("Nothing in the checkpoint has a name that leads to an object here")
        return self

    def expect_partial(self):
        return self

    def initialize_or_restore(self, session=None):
        return None


class Checkpoint:
    """Checkpoint(model=model, step=step): save() writes their variables, restore() reads them back."""

    def __init__(self, root=None, **kwargs):
        self._objects, self._root, self._counter = {}, root, None
        if root is not None and not is_trackable(root):
            raise ValueError(f"`Checkpoint` was expecting root to be a trackable object (an object with variables), got {root!r}")
        for name, value in kwargs.items():
            if not is_trackable(value) and not isinstance(value, Function):  # which has nothing to save
                raise ValueError(f"`Checkpoint` was expecting {name} to be a trackable object (an object with variables), got {value!r}")
            setattr(self, name, value)

    def __setattr__(self, name, value):
        """Objects that are set later are saved too, and get values of the file that was restored before."""
        super().__setattr__(name, value)
        if not name.startswith("_") and (is_trackable(value) or isinstance(value, Function)):
            self._objects[name] = value
            _deferred.variables_made()

    @property
    def save_counter(self):
        """How often save() was called, a variable."""
        if self._counter is None:
            self._counter = _tandem.Variable(_tandem.to_tensor(0, "int64"), trainable=False, name="save_counter")
        return self._counter

    def _checkpoint_children(self):
        inner = dict(parts(self._root)) if self._root is not None else {}
        counter = {"save_counter": self._counter} if self._counter is not None else {}
        return list({**inner, **self._objects, **counter}.items())

    def _may_grow(self):
        """Whether it is more than a list of objects, which only new attributes make longer."""
        return self._root is not None or not self._objects

    def write(self, file_prefix, options=None):
        """Writes the values to a file of this name; does not count."""
        path = os.fspath(file_prefix)
        _checkpoint_file.save(path, self)
        return path

    def save(self, file_prefix, options=None):
        """Writes file_prefix-1, -2, … and notes it as the latest of its folder."""
        number = int(self.save_counter.assign_add(_tandem.to_tensor(1, "int64")).numpy())
        path = self.write(f"{os.fspath(file_prefix)}-{number}")
        update_checkpoint_state(os.path.dirname(path) or ".", path)
        return path

    def read(self, save_path, options=None):
        """Gives the variables the values of a file that write() made; those that are made later get theirs when they are made."""
        restoration = Restoration(self, _checkpoint_file.load(os.fspath(save_path)))
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
        path = os.fspath(save_path)
        path = latest_checkpoint(path) or path if os.path.isdir(path) else path
        self.save_counter  # noqa: B018  it is restored with the others
        try:
            return self.read(path)
        except NotFoundError as error:
            raise NotFoundError(
                f"Error when restoring from checkpoint or SavedModel at {path}: {error}\nPlease double-check that the path is correct. "
                "You may be missing the checkpoint suffix (e.g. the '-1' in 'path/to/ckpt-1')."
            ) from None
