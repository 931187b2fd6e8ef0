"""Which names of TensorFlow are there, weighted by how many public guides and examples use them.

scripts/python tools/name_coverage.py [--missing]
"""
import json
import sys
from pathlib import Path

import tandemflow as tf

NAMES = Path(__file__).resolve().parent.parent / "tests" / "data" / "tf-names.json"


def resolves(name):
    """Whether tf.some.name can be reached from the package."""
    value = tf
    for word in name.split(".")[1:]:
        try:
            value = getattr(value, word)
        except (AttributeError, ImportError):
            return False
    return True


def coverage(prefix="tf.", without=()):
    """(uses that resolve, all uses, missing names with their uses) of the names under a prefix."""
    entries = [(n, c) for n, c in json.loads(NAMES.read_text())["symbols"] if n.startswith(prefix) and not n.startswith(tuple(without))]
    missing = [(n, c) for n, c in entries if not resolves(n)]
    total = sum(c for _, c in entries)
    return total - sum(c for _, c in missing), total, missing


def main(arguments):
    for title, prefix, without in [("all", "tf.", ()), ("without Keras", "tf.", ("tf.keras.",)), ("Keras", "tf.keras.", ())]:
        there, total, missing = coverage(prefix, without)
        print(f"{title}: {there} of {total} uses resolve, {100 * there / total:.1f} %; {len(missing)} names are missing")
        if "--missing" in arguments and title != "all":
            print("  " + ", ".join(f"{name} {count}" for name, count in missing))


if __name__ == "__main__":
    main(sys.argv[1:])
