"""Finds documents that are missing or point nowhere, and files that have grown beyond their measure."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

MOST_LINES = {".h": 250, ".cc": 700}
CODE_FOLDERS = ("tandem", "tests", "bench", "examples")
# A path in backticks: `tandem/op/attrs.h`. One with <…> or * in it is a pattern, not a file.
PATH = re.compile(r"`((?:\.ci|bench|cmake|docs|examples|scripts|tandem|tests)/[\w./-]*)`")

# A file of examples/ named in a line of its own, then its text in a code block.
PROGRAM = re.compile(r"`(examples/[\w.]+)`[^\n]*\n\n```\w+\n(.*?)```", re.DOTALL)


def error_codes(root=ROOT):
    """Every ErrorCode of error.h as "E0101"."""
    text = (root / "tandem/base/error.h").read_text()
    body = re.search(r"enum class ErrorCode[^{]*\{(.*?)\}", text, re.DOTALL)[1]
    return {f"E{int(number):04d}": name for name, number in re.findall(r"(\w+)\s*=\s*(\d+)", body)}


def check_error_pages(root=ROOT):
    codes, pages = error_codes(root), {path.stem for path in (root / "docs/errors").glob("E*.md")}
    complaints = [f"docs/errors/{code}.md is missing ({name})" for code, name in codes.items() if code not in pages]
    complaints += [f"docs/errors/{page}.md describes a code that does not exist" for page in sorted(pages - set(codes))]
    for code in sorted(pages & set(codes)):
        if codes[code] not in (root / f"docs/errors/{code}.md").read_text():
            complaints.append(f"docs/errors/{code}.md does not name {codes[code]}")
    return complaints


def check_module_readmes(root=ROOT):
    """Every folder that holds code directly has a README."""
    folders = {path.parent for path in (root / "tandem").rglob("*") if path.suffix in (".h", ".cc")}
    folders |= {root / name for name in ("tests", "bench", "examples") if (root / name).exists()}
    folders.discard(root / "tandem")
    return [f"{folder.relative_to(root)}/README.md is missing" for folder in sorted(folders) if not (folder / "README.md").exists()]


def check_mentioned_files(root=ROOT, documents=("ARCHITECTURE.md", "README.md", "CONTRIBUTING.md")):
    complaints = []
    for document in documents:
        for mentioned in PATH.findall((root / document).read_text()):
            if not (root / mentioned).exists():
                complaints.append(f"{document} mentions {mentioned}, which does not exist")
    return complaints


def check_readme_programs(root=ROOT):
    """The programs in the README are the files in examples/, so that they are known to run."""
    return [
        f"README.md shows {name} with another text than the file"
        for name, text in PROGRAM.findall((root / "README.md").read_text())
        if not (root / name).exists() or (root / name).read_text() != text
    ]


def check_lengths(root=ROOT):
    complaints = []
    for folder in CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            most = MOST_LINES.get(path.suffix)
            if most is None:
                continue
            lines = len(path.read_text().splitlines())
            if lines > most:
                complaints.append(f"{path.relative_to(root)} has {lines} lines; at most {most}")
    return complaints


def check_tree(root=ROOT):
    checks = (check_error_pages, check_module_readmes, check_mentioned_files, check_readme_programs, check_lengths)
    return [complaint for check in checks for complaint in check(root)]


if __name__ == "__main__":
    found = check_tree()
    print("\n".join(found) or "the documents are complete")
    sys.exit(1 if found else 0)
