"""Finds classes that exist twice under one name: the linker would take the functions of one for those of the other."""
import re
from collections import defaultdict

from check_layers import ROOT

NAMESPACE = re.compile(r"^namespace\s*([\w:]*)\s*\{")
END = re.compile(r"^\}\s*//\s*namespace")
CLASS = re.compile(r"^(?:struct|class)\s+(\w+)(?!\w*::)(?:\s+final)?\s*(?::(?!:)[^;]*)?\{")


def classes(text):
    """The classes that a file defines for others to see, with their namespaces."""
    spaces = []
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            spaces.append(opened[1])
        elif END.match(line) and spaces:
            spaces.pop()
        elif (found := CLASS.match(line)) and "" not in spaces:
            yield "::".join([*spaces, found[1]])


def check_texts(texts):
    """Complaints about `texts`, by path."""
    where = defaultdict(list)
    for path, text in texts.items():
        for name in classes(text):
            where[name].append(path)
    return [f"{name} is defined in {' and '.join(paths)}" for name, paths in where.items() if len(paths) > 1]


def check_tree(root=ROOT):
    paths = [path for kind in ("h", "cc") for path in sorted((root / "tandem").rglob(f"*.{kind}"))]
    return check_texts({str(path.relative_to(root)): path.read_text() for path in paths})
