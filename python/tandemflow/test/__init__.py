"""tf.test: what tests of programs ask about devices, and assertions about tensors."""
from .. import _names
from .. import config
from . import experimental

__all__ = [
    "experimental", "gpu_device_name", "is_built_with_cuda", "is_built_with_gpu_support", "is_built_with_rocm",
    "is_built_with_xla", "is_gpu_available", "TestCase", "main",
]  # fmt: skip


def is_gpu_available(cuda_only=False, min_cuda_compute_capability=None):
    """Whether there is a GPU to compute on. All are reached through OpenCL, so none counts when CUDA is insisted on."""
    if cuda_only or min_cuda_compute_capability is not None:
        return False
    return bool(config.list_logical_devices("GPU"))


def gpu_device_name():
    """'/device:GPU:0', or '' when there is no GPU."""
    gpus = config.list_logical_devices("GPU")
    return gpus[0].name if gpus else ""


def is_built_with_gpu_support():
    """GPUs are supported, through OpenCL."""
    return True


def is_built_with_cuda():
    """No: GPUs of every maker are reached through OpenCL."""
    return False


def is_built_with_rocm():
    """No: GPUs of every maker are reached through OpenCL."""
    return False


def is_built_with_xla():
    """No: graphs are compiled by TandemFlow itself."""
    return False


__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(**{"test._test_case": "TestCase main"}))
