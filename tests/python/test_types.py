"""The types that come with the package, generated from it, as a type checker sees them."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tandemflow as tf

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/python/typed_program.py"
PACKAGE = Path(tf.__file__).parent


def mypy(*files):
    """Complaints and notes of mypy about programs that use the package."""
    options = ["--follow-imports=silent", "--no-error-summary", "--hide-error-context", f"--cache-dir={ROOT / 'build/mypy'}"]
    # The package lies in a folder of its own, as in an environment; mypy reads MYPYPATH.
    done = subprocess.run([sys.executable, "-m", "mypy", *options, *map(str, files)], env={"MYPYPATH": str(PACKAGE.parent), "PATH": "/usr/bin"},
                          cwd=ROOT / "tests", capture_output=True, text=True, timeout=600)  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def findings():
    lines = {}
    for number, kind, text in re.findall(r"typed_program\.py:(\d+): (note|error): (.*)", mypy(PROGRAM)):
        lines.setdefault(int(number), []).append(f"{kind}: {text}")
    return lines


def test_expressions_have_the_types_and_mistakes_the_complaints_of_the_comments(findings):
    expected = {}
    for number, line in enumerate(PROGRAM.read_text().split("\n"), 1):
        if match := re.search(r"# (note|error): (.*)$", line):
            expected[number] = match.groups()
    assert expected.keys() <= findings.keys(), expected.keys() - findings.keys()
    for number, (kind, text) in expected.items():
        assert any(found.startswith(kind) and text in found for found in findings[number]), (number, text, findings[number])
    surprises = {n: found for n, found in findings.items() if n not in expected and any(f.startswith("error") for f in found)}
    assert surprises == {}


def test_the_examples_have_no_mistakes_that_types_show():
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert len(examples) >= 7
    assert "error" not in mypy(*examples)


def test_every_name_of_the_records_is_in_the_types():
    text = (PACKAGE / "__init__.pyi").read_text() + (PACKAGE / "math.pyi").read_text()
    for name, value in vars(tf).items():
        if type(value).__name__ == "OpFunction":
            assert re.search(rf"^def {name}\(", text, re.M), name
    assert (PACKAGE / "py.typed").exists()
