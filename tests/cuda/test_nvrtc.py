"""Kernel texts the C++ tests made also compile as CUDA C, for sm_80 and sm_90: the way to CUDA stays open. Every eighth
of them in each run; all with `scripts/test --cuda`.

The texts are those of the last run of tandem_tests (tests/run.py keeps them in build/kernels). NVRTC comes from PyPI
into an environment of its own, once.
"""
import multiprocessing
import os
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nvrtc
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
KERNELS = Path(os.environ.get("TANDEM_DUMP_KERNELS", ROOT / "build" / "kernels"))
ARCHITECTURES = ("sm_80", "sm_90")


@pytest.fixture(scope="module", autouse=True)
def installed():
    """The tests are skipped where NVRTC cannot be had."""
    made = nvrtc.ENVIRONMENT / "made"
    if made.exists():
        return
    for step in (["/usr/bin/python3", "-m", "venv", "--clear", nvrtc.ENVIRONMENT],
                 [nvrtc.ENVIRONMENT / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "nvidia-cuda-nvrtc-cu12"]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            pytest.skip("NVRTC could not be installed: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1])
    made.touch()


def test_a_text_that_is_no_cuda_is_refused():
    assert nvrtc.log_of(nvrtc.HEADER + "KERNEL k(__global float* x) { float8 v = vload8(0, x); x[0] = v ? 1 : 2; }", "sm_80")


def test_every_kernel_compiles_for_cuda():
    texts = sorted(KERNELS.glob("*.cl"))
    if not os.environ.get("TANDEM_CUDA_ALL"):  # scripts/test --cuda compiles all
        texts = texts[::8]
    if not texts:
        pytest.skip("no kernel texts: run the C++ tests first")
    (nvrtc.ENVIRONMENT / "compiled").mkdir(exist_ok=True)
    jobs = [(path, architecture) for path in texts for architecture in ARCHITECTURES]
    # Processes: NVRTC compiles one text at a time, however many threads ask.
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        failures = [f for f in pool.map(nvrtc.failure, jobs, chunksize=8) if f]
    assert not failures, f"{len(failures)} of {len(jobs)} do not compile; the first ones:\n" + "\n".join(failures[:3])
