"""Kernel texts the C++ tests made also compile as CUDA C, for sm_80 and sm_90: the way to CUDA stays open. Every eighth
of them in each run; all with `scripts/test --cuda`.

The texts are those of the last run of tandem_tests (tests/run.py keeps them in build/kernels). NVRTC comes from PyPI
into an environment of its own, once.
"""
import ctypes
import hashlib
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
KERNELS = Path(os.environ.get("TANDEM_DUMP_KERNELS", ROOT / "build" / "kernels"))
ENVIRONMENT = ROOT / ".venv-cuda"
HEADER = (Path(__file__).parent / "opencl_as_cuda.h").read_text()
ARCHITECTURES = ("sm_80", "sm_90")


@pytest.fixture(scope="module")
def nvrtc():
    """libnvrtc; the test is skipped where it cannot be had."""
    if not (ENVIRONMENT / "made").exists():
        for step in (["/usr/bin/python3", "-m", "venv", "--clear", ENVIRONMENT],
                     [ENVIRONMENT / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "nvidia-cuda-nvrtc-cu12"]):
            done = subprocess.run(step, capture_output=True, text=True)
            if done.returncode:
                pytest.skip("NVRTC could not be installed: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1])
        (ENVIRONMENT / "made").touch()
    folder = next(ENVIRONMENT.glob("lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"))
    ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "libnvrtc.so.12"))


def log_of(nvrtc, text, architecture):
    """None when `text` compiles, else what the compiler said."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={architecture}", "--std=c++17", "--fmad=false", "-DLOCAL=64", "-w"]
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


def test_a_text_that_is_no_cuda_is_refused(nvrtc):
    assert log_of(nvrtc, HEADER + "KERNEL k(__global float* x) { float8 v = vload8(0, x); x[0] = v ? 1 : 2; }", "sm_80")


def test_every_kernel_compiles_for_cuda(nvrtc):
    texts = sorted(KERNELS.glob("*.cl"))
    if not os.environ.get("TANDEM_CUDA_ALL"):  # scripts/test --cuda compiles all
        texts = texts[::8]
    if not texts:
        pytest.skip("no kernel texts: run the C++ tests first")

    def failure(job):
        path, architecture = job
        text = HEADER + path.read_text()
        known = ENVIRONMENT / "compiled" / hashlib.sha256((architecture + text).encode()).hexdigest()
        if known.exists():  # by an earlier run
            return None
        log = log_of(nvrtc, text, architecture)
        if log is None:
            known.touch()
        return log and f"{path.name} for {architecture}:\n{log[:1500]}"

    (ENVIRONMENT / "compiled").mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [f for f in pool.map(failure, [(p, a) for p in texts for a in ARCHITECTURES]) if f]
    assert not failures, f"{len(failures)} of {2 * len(texts)} do not compile; the first ones:\n" + "\n".join(failures[:3])
