"""NVRTC, NVIDIA's compiler as a library: says whether a kernel's text compiles as CUDA C. A module of its own, so that the
processes of test_nvrtc.py can import it.
"""
import ctypes
import functools
import hashlib
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parent.parent.parent / ".venv-cuda"
HEADER = (Path(__file__).parent / "opencl_as_cuda.h").read_text()
# What compiles is the same at any effort, and the least takes less time for most texts.
OPTIONS = ("--std=c++17", "--fmad=false", "-DLOCAL=64", "-w", "--Ofast-compile=max", "--ptxas-options=-O0")


@functools.cache
def library():
    folder = next(ENVIRONMENT.glob("lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"))
    ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "libnvrtc.so.12"))


def log_of(text, architecture):
    """None when `text` compiles, else what the compiler said."""
    nvrtc = library()
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}", *OPTIONS]
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*[o.encode() for o in options]))
    log = None
    if status:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, buffer)
        log = buffer.value.decode(errors="replace")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return log


def failure(job):
    """Of a kernel's file for an architecture: None when it compiles. What compiled in an earlier run is not compiled again."""
    path, architecture = job
    text = HEADER + path.read_text()
    known = ENVIRONMENT / "compiled" / hashlib.sha256((architecture + text).encode()).hexdigest()
    if known.exists():
        return None
    log = log_of(text, architecture)
    if log is None:
        known.touch()
    return log and f"{path.name} for {architecture}:\n{log[:1500]}"
