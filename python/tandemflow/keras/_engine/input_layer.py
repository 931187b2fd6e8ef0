"""Where a model begins."""
from .keras_tensor import KerasTensor, Node
from .layer import Layer


class InputLayer(Layer):
    """Holds the shape and dtype of an input."""

    def __init__(self, shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None,
                 input_tensor=None, optional=False, name=None, **kwargs):  # fmt: skip
        batch_shape = kwargs.pop("batch_input_shape", batch_shape)
        shape = kwargs.pop("input_shape", shape)
        super().__init__(name=name, dtype=dtype, **kwargs)
        if shape is not None and batch_shape is not None:
            raise ValueError("You cannot pass both `shape` and `batch_shape` at the same time.")
        if shape is None and batch_shape is None and input_tensor is None:
            raise ValueError("You must pass a `shape` argument.")
        if input_tensor is not None:
            batch_shape = input_tensor.shape
        elif batch_shape is None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            batch_shape = (batch_size, *shape)
        if any(size is not None and (not isinstance(size, int) or size < 0) for size in batch_shape):
            raise ValueError(f"Cannot convert '{batch_shape}' to a shape: sizes are positive integers or None.")
        self.batch_shape = tuple(batch_shape)
        self._dtype = self.dtype_policy.compute_dtype if dtype is None else str(getattr(dtype, "name", dtype))
        self.optional = optional
        self.built = True
        output = input_tensor if input_tensor is not None else KerasTensor(self.batch_shape, self._dtype, name=name)
        Node(self, (), {}, output)

    def call(self):
        raise NotImplementedError

    @property
    def dtype(self):
        return self._dtype

    def get_config(self):
        return {"batch_shape": self.batch_shape, "dtype": self._dtype, "sparse": False, "ragged": False, "optional": self.optional,
                "name": self.name}  # fmt: skip


def Input(shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None, name=None, tensor=None,
          optional=False):  # fmt: skip
    """A KerasTensor to begin a functional model with; `shape` is that of one sample."""
    layer = InputLayer(shape=shape, batch_size=batch_size, dtype=dtype, batch_shape=batch_shape, name=name,
                       input_tensor=tensor, optional=optional)  # fmt: skip
    return layer.output
