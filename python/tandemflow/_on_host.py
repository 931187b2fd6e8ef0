"""Functions of NumPy arrays as functions of tensors: now, or each time a traced function runs."""
from . import _dtypes, _tandem
from ._shape import TensorShape


def called_when_run(run, tensors, specs, gradient=None):
    """run(tensors), each time a traced function runs; without a gradient none is asked for."""
    results = _tandem.python_call(run, tensors, specs, gradient)
    stop = _tandem.ops()["stop_gradient"]
    return [stop(result) for result in results] if gradient is None else results


def computed(function, tensors, *results):
    """function(*arrays), whose results are announced as (sizes, dtype); one tensor, or a list of them. Has no gradient of its own."""
    specs = [(TensorShape(sizes), _dtypes.as_dtype(dtype)) for sizes, dtype in results]

    def run(values):
        arrays = function(*(value.numpy() for value in values))
        return [_tandem.to_tensor(array.astype(dtype.as_numpy_dtype)) for array, (_, dtype) in zip(arrays if len(specs) > 1 else [arrays], specs)]

    out = run(tensors) if _tandem.executing_eagerly() else called_when_run(run, tensors, specs)
    return out if len(specs) > 1 else out[0]
