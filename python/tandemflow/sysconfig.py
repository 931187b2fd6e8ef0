"""tf.sysconfig: where the package lies and how it was built."""
import os

from . import _names

_HERE = os.path.dirname(os.path.abspath(__file__))


def get_lib():
    """The folder of the library."""
    return _HERE


def get_include():
    """The folder of the headers, where they are installed."""
    return os.path.join(_HERE, "include")


def get_compile_flags():
    """Options for a compiler."""
    return [f"-I{get_include()}", "-std=c++20"]


def get_link_flags():
    """Options for a linker."""
    return [f"-L{get_lib()}", "-ltandem"]


def get_build_info():
    """What it was built with: GPUs are reached through OpenCL."""
    return {"is_cuda_build": False, "is_rocm_build": False, "is_tensorrt_build": False}


__getattr__, __dir__ = _names.lazy(__name__)
