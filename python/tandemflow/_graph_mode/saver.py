"""tf.compat.v1.train.Saver: the variables of a graph in TensorFlow's files, by their names."""
import os

from .. import _tensor_bundle
from ..errors import NotFoundError
from ..train import load_checkpoint
from .variables import global_variables


class Saver:
    """save(session, path) writes the variables, restore(session, path) reads them."""

    def __init__(self, var_list=None, max_to_keep=5, **options):
        given = global_variables() if var_list is None else var_list
        self._variables = dict(given) if isinstance(given, dict) else {variable.name.removesuffix(":0"): variable for variable in given}
        if not self._variables:
            raise ValueError("No variables to save")

    def save(self, sess, save_path, global_step=None, **options):
        """Writes the values; returns what restore() takes."""
        prefix = os.fspath(save_path) if global_step is None else f"{os.fspath(save_path)}-{int(_number(sess, global_step))}"
        _tensor_bundle.write(prefix, {name: variable.cell.read_value() for name, variable in self._variables.items()})
        return prefix

    def restore(self, sess, save_path):
        """Gives the variables the values of a file."""
        stored = load_checkpoint(os.fspath(save_path))
        for name, variable in self._variables.items():
            if not stored.has_tensor(name):
                raise NotFoundError(f"Key {name} not found in checkpoint {save_path}")
            variable.load(stored.get_tensor(name))


def _number(sess, step):
    return sess.run(step) if hasattr(step, "graph") else step
