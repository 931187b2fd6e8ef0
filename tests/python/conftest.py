import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PACKAGE_ROOT = Path(__import__("tandemflow").__file__).parent.parent


@pytest.fixture
def run_program(tmp_path):
    """Runs a program of tests/python/programs with only its import changed; returns what it printed."""

    def run(name):
        source = (HERE / "programs" / name).read_text()
        assert "import tensorflow as tf" in source
        program = tmp_path / name
        program.write_text(source.replace("import tensorflow as tf", "import tandemflow as tf"))
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT), "PYTHONIOENCODING": "utf-8", "TF_CPP_MIN_LOG_LEVEL": "2"}
        done = subprocess.run(
            [sys.executable, "-m", "tandemflow._run", str(program)],
            env=environment, capture_output=True, encoding="utf-8", timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run
