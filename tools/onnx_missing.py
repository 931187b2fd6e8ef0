"""Writes tests/python/onnx_missing.json: the ONNX node tests that do not pass, by the reason.

    PYTHONPATH=build/python .venv/bin/python tools/onnx_missing.py
"""
import collections
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

import onnx_nodes  # noqa: E402

if __name__ == "__main__":
    missing = collections.defaultdict(list)
    for name, *case in onnx_nodes.cases():
        reason = onnx_nodes.run(name, *case)
        if reason:
            missing[reason].append(name)
    total = len(onnx_nodes.cases())
    path = ROOT / "tests" / "python" / "onnx_missing.json"
    path.write_text(json.dumps(dict(sorted(missing.items())), indent=1) + "\n")
    print(f"{total - sum(map(len, missing.values()))} of {total} pass; the others, with {len(missing)} reasons, are in {path.name}")
