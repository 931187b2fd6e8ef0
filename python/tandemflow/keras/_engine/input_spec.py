"""What a layer accepts."""


class InputSpec:
    """Rank, dtype and sizes of an input; what is None may be anything."""

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None,
                 allow_last_axis_squeeze=False, name=None, optional=False):  # fmt: skip
        self.dtype = dtype
        self.shape = None if shape is None else tuple(shape)
        self.ndim = len(self.shape) if self.shape is not None else ndim
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        self.allow_last_axis_squeeze, self.name, self.optional = allow_last_axis_squeeze, name, optional

    def __repr__(self):
        parts = {"dtype": self.dtype, "shape": self.shape, "ndim": self.ndim, "max_ndim": self.max_ndim,
                 "min_ndim": self.min_ndim, "axes": self.axes or None}  # fmt: skip
        return f"InputSpec({', '.join(f'{k}={v}' for k, v in parts.items() if v)})"

    def get_config(self):
        return {"dtype": self.dtype, "shape": self.shape, "ndim": self.ndim, "max_ndim": self.max_ndim,
                "min_ndim": self.min_ndim, "axes": self.axes}  # fmt: skip


def check(specs, shapes, layer_name):
    """Raises ValueError, in Keras' words, where a shape does not fit its spec."""
    if len(shapes) != len(specs):
        raise ValueError(
            f"Layer '{layer_name}' expects {len(specs)} input(s), but it received {len(shapes)} input tensors. Inputs received: "
            f"shapes {[tuple(s) for s in shapes]}"
        )
    for i, (spec, shape) in enumerate(zip(specs, shapes)):
        if spec is not None:
            _check_one(spec, tuple(shape), i, layer_name)


def _check_one(spec, shape, index, layer_name):
    def refuse(text):
        raise ValueError(f"Input {index} with name '{spec.name}' of layer '{layer_name}' is incompatible with the layer: expected {text}")

    if spec.allow_last_axis_squeeze and spec.shape is not None and len(shape) == len(spec.shape) + 1 and shape[-1] == 1:
        shape = shape[:-1]
    rank = len(shape)
    if spec.ndim is not None and rank != spec.ndim:
        refuse(f"ndim={spec.ndim}, found ndim={rank}. Full shape received: {shape}")
    if spec.max_ndim is not None and rank > spec.max_ndim:
        refuse(f"max_ndim={spec.max_ndim}, found ndim={rank}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        refuse(f"min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {shape}")
    for axis, size in spec.axes.items():
        got = shape[axis] if -rank <= axis < rank else None
        if size is not None and got not in (size, None):
            refuse(f"axis {axis} of input shape to have value {size}, but received input with shape {shape}")
    for wanted, got in zip(spec.shape or (), shape):
        if wanted is not None and got is not None and wanted != got:
            refuse(f"shape={spec.shape}, found shape={shape}")
