import os
import subprocess
import sys
from pathlib import Path

import program_texts
import pytest

PACKAGE_ROOT = Path(__import__("tandemflow").__file__).parent.parent


IMPORT = "import tensorflow as tf"


@pytest.fixture
def run_program(tmp_path):
    """Runs a program of tests/python/programs (program_texts.py) with only its import changed; returns what it printed.

    `before` goes behind the import: what the program leaves out. `instead` replaces its placeholders.
    """

    def run(name, before="", instead=None, gpus=0, timeout=120):
        source = program_texts.program(name)
        assert IMPORT in source
        for placeholder, text in (instead or {}).items():
            assert placeholder in source
            source = source.replace(placeholder, text)
        program = tmp_path / name
        program.write_text(source.replace(IMPORT, f"import tandemflow as tf\n{before}"))
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "PYTHONIOENCODING": "utf-8", "TF_CPP_MIN_LOG_LEVEL": "2"}
        if gpus:
            environment["TANDEM_OPENCL_CPU_AS_GPU"] = str(gpus)
        done = subprocess.run(
            [sys.executable, "-m", "tandemflow._run", str(program)],
            env=environment, capture_output=True, encoding="utf-8", timeout=timeout,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run
