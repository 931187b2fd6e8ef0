"""The programs of the README run."""
import os
import subprocess
import sys

from check_docs import ROOT


def test_the_cpp_program_of_the_readme_runs():
    result = subprocess.run([ROOT / "build" / "hello"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "tf.Tensor(" in result.stdout


def test_the_python_program_of_the_readme_runs():
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "build" / "python"))
    command = [sys.executable, "-m", "tandemflow._run", str(ROOT / "examples" / "hello.py")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "tf.Tensor(" in result.stdout
