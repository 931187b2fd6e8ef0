"""The programs of tests/python/programs are the Python blocks of five texts, in the order that texts.json says.

The texts are not part of this tree. Where the environment variable TANDEM_SEEDS names their folder, the blocks
are taken from there and must be, to the letter, what the tree has; elsewhere the tree's copies stand for them.
"""
import json
import os
import re
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"
ORDER = json.loads((PROGRAMS / "texts.json").read_text())

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def python_blocks(text):
    """What stands between ```python and ``` in a text, in order."""
    return _BLOCK.findall(text)


def texts():
    """Name and content of each text; empty without TANDEM_SEEDS."""
    folder = os.environ.get("TANDEM_SEEDS")
    return {file.name: file.read_text() for file in sorted(Path(folder).glob("*.txt"))} if folder else {}


def program(name):
    """The source of a program: from its text where that is at hand, else from this tree."""
    for text, names in ORDER.items():
        if name in names and (content := texts().get(text)) is not None:
            return python_blocks(content)[names.index(name)]
    return (PROGRAMS / name).read_text()
