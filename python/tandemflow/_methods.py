"""Methods of tensors and variables that are used seldom; what they need is loaded when they are called."""
from . import _tandem
from ._shape import TensorShape


def set_shape(self, shape):
    """Says what is known of the shape: an error where it is not so."""
    wanted = TensorShape(shape)
    if not wanted.is_compatible_with(self.shape):
        raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {wanted}.")


def cpu(self):
    """The same values, on the host."""
    from ._device import device
    from ._ops import identity

    with device("/CPU:0"):
        return identity(self)


def gpu(self, gpu_index=0):
    """The same values, on a GPU."""
    from ._device import device
    from ._ops import identity

    with device(f"/GPU:{gpu_index}"):
        return identity(self)


def get_shape(self):
    """The sizes of the axes."""
    return self.shape


def is_initialized(self, name=None):
    """True: a variable has its value at once."""
    return True


def gather_nd(self, indices, name=None):
    """The parts of the value at `indices`."""
    from ._ops import gather_nd

    return gather_nd(self, indices)


def sparse_read(self, indices, name=None):
    """The rows of the value at `indices`."""
    from ._ops import gather

    return gather(self, indices)


def _scattered(name, what):
    def method(self, indices, updates, name=None):
        from ._ops import records

        self.assign(records[record](self, indices, updates))
        return self

    record = f"tensor_scatter_nd_{name}"
    method.__name__ = method.__qualname__ = f"scatter_nd_{name}"
    method.__doc__ = f"{what} at `indices`."
    return method


def _rows_scattered(name, what):
    def method(self, sparse_delta, use_locking=False, name=None):
        rows = getattr(self, f"scatter_nd_{kind}")
        return rows([[int(row)] for row in _tandem.as_ints(sparse_delta.indices)], _tandem.to_tensor_beside(sparse_delta.values, self.dtype))

    kind = name
    method.__name__ = method.__qualname__ = f"scatter_{name}"
    method.__doc__ = f"{what} of the rows that a tf.IndexedSlices names."
    return method


def _rows_changed(name, what, change):
    """For what no scatter op does: the rows are read, changed and written; of a row that is named twice both changes count."""

    def method(self, sparse_delta, use_locking=False, name=None):
        from ._ops import gather

        for row, value in zip(_tandem.as_ints(sparse_delta.indices), _tandem.to_tensor_beside(sparse_delta.values, self.dtype)):
            self.scatter_nd_update([[row]], [change(gather(self, row), value)])
        return self

    method.__name__ = method.__qualname__ = f"scatter_{name}"
    method.__doc__ = f"{what} of the rows that a tf.IndexedSlices names."
    return method


def batch_scatter_update(self, sparse_delta, use_locking=False, name=None):
    """Replaces rows of each batch: indices [b..., i] name rows of the axis behind those of the batch."""
    from ._arrays import _with_batch
    from ._ops import expand_dims

    indices = _tandem.to_tensor(sparse_delta.indices)
    places = _with_batch(expand_dims(indices, -1), indices.ndim - 1)
    return self.scatter_nd_update(places, _tandem.to_tensor_beside(sparse_delta.values, self.dtype))


def made_again(value, trainable, name, shape, attributes):
    """The variable that pickled() took apart."""
    variable = _tandem.Variable(value, trainable=trainable, name=name, shape=shape)
    vars(variable).update(attributes)
    return variable


def pickled(self):
    """For pickle: value, name and settings."""
    return made_again, (_tandem.to_tensor(self), self.trainable, self.name.removesuffix(":0"), self.shape, dict(vars(self)))


def copied(self, memo=None):
    """A variable of its own with the same value, name and settings."""
    copy = made_again(*pickled(self)[1])
    if memo is not None:
        memo[id(self)] = copy
    return copy


def assignable(part, variable, key):
    """variable[key], which can be assigned to: what is read stays as it is."""
    part.assign = lambda value, name=None: _assign_part(variable, key, value)
    return part


def _assign_part(variable, key, value):
    from . import _ops

    whole = _tandem.to_tensor(variable)
    places = _ops.reshape(_ops.range(whole.shape.num_elements()), whole.shape)[key]
    values = _ops.broadcast_to(_tandem.to_tensor_beside(value, whole.dtype), places.shape)
    flat = _ops.tensor_scatter_nd_update(_ops.reshape(whole, [-1]), _ops.reshape(places, [-1, 1]), _ops.reshape(values, [-1]))
    variable.assign(_ops.reshape(flat, whole.shape))
    return variable


_SCATTERS = {
    "update": "Replaces the values", "add": "Adds to the values", "sub": "Subtracts from the values",
    "max": "Keeps the larger values", "min": "Keeps the smaller values",
}  # fmt: skip
_tandem.add_methods(_tandem.Tensor, {"set_shape": set_shape, "cpu": cpu, "gpu": gpu})
_tandem.add_methods(
    _tandem.Variable,
    {
        "constraint": None,  # of those made without one
        "get_shape": get_shape, "set_shape": set_shape, "is_initialized": is_initialized, "gather_nd": gather_nd, "sparse_read": sparse_read,
        **{f"scatter_nd_{name}": _scattered(name, what) for name, what in _SCATTERS.items()},
        **{f"scatter_{name}": _rows_scattered(name, what) for name, what in _SCATTERS.items()},
        "scatter_mul": _rows_changed("mul", "Multiplies the values", lambda a, b: a * b),
        "scatter_div": _rows_changed("div", "Divides the values", lambda a, b: a / b),
        "batch_scatter_update": batch_scatter_update, "__copy__": copied, "__deepcopy__": copied, "__reduce__": pickled,
    },
)  # fmt: skip
