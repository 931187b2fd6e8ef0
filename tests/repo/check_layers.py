"""Finds #includes that point up the layers of ARCHITECTURE.md, and includes of a backend outside the runtime."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Lowest first. A file includes only its own row or lower rows.
LAYERS = [
    {"base", "core"},
    {"op", "kernel", "expr", "files"},
    {"backend"},
    {"place", "graph", "memory"},
    {"exec"},
    {"autodiff", "runtime"},
    {"nn", "data", "dist", "profile"},
    {"python", "cli", "bench", "examples", "tandem.h"},
]
ROW = {module: row for row, modules in enumerate(LAYERS) for module in modules}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def module_of(path):
    """The module a path belongs to: "tandem/op/attrs.h" -> "op", "bench/matmul.cc" -> "bench"."""
    parts = path.split("/")
    return parts[1] if parts[0] == "tandem" else parts[0]


def check_text(path, text):
    """The complaints about one file, whose path is relative to the root."""
    module = module_of(path)
    if module not in ROW:
        return [f"{path}: the module {module} is in no layer"]
    complaints = []
    for included in INCLUDE.findall(text):
        if not included.startswith("tandem/"):
            continue
        target = module_of(included)
        if target not in ROW:
            complaints.append(f"{path}: includes {included}, whose module {target} is in no layer")
        elif ROW[target] > ROW[module]:
            complaints.append(f"{path}: includes {included}; {target} (row {ROW[target]}) is above {module} (row {ROW[module]})")
        elif target == "backend" and module not in ("backend", "runtime"):
            complaints.append(f"{path}: includes {included}; only the runtime includes a backend")
    return complaints


def check_tree(root=ROOT):
    complaints = []
    for folder in ("tandem", "bench", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                complaints += check_text(path.relative_to(root).as_posix(), path.read_text())
    return complaints


if __name__ == "__main__":
    found = check_tree()
    print("\n".join(found) or "every include points down")
    sys.exit(1 if found else 0)
