"""The Python programs in the guide pages run."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tandemflow

ROOT = Path(__file__).parent.parent.parent
PAGES = [page for page in sorted((ROOT / "docs").glob("*.md")) if "```python" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_programs_of_a_page_run_one_after_another(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    program = tmp_path / "page.py"
    program.write_text("import tandemflow as tf\n" + "\n".join(blocks))
    environment = {**os.environ, "PYTHONPATH": str(Path(tandemflow.__file__).parent.parent)}
    done = subprocess.run([sys.executable, program], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
