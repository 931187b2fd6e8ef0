"""Writes tests/data/special.npz: what TensorFlow answers to tests/python/special_cases.py. Needs the pip package tensorflow-cpu.

With --new what the file has stays: a few answers depend on the processor TensorFlow ran on. Each result is named op/dtype/number; where TensorFlow refuses, op/dtype/error holds the name of the error.
"""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
import special_cases  # noqa: E402


def main():
    path = ROOT / "tests/data/special.npz"
    arrays = dict(np.load(path)) if "--new" in sys.argv else {}
    known = {name.rpartition("/")[0] for name in arrays}
    for name, function in special_cases.cases().items():
        if name in known:
            continue
        try:
            results = function(tf)
        except Exception as error:  # noqa: BLE001 - TensorFlow's answer, whatever it is
            arrays[f"{name}/error"] = np.array(type(error).__name__)
            continue
        for i, result in enumerate(results if isinstance(results, list) else [results]):
            result = tf.cast(result, tf.float32) if result.dtype == tf.bfloat16 else result
            arrays[f"{name}/{i}"] = result.numpy()
    np.savez_compressed(path, **arrays)
    print(f"{len(arrays)} arrays, {sum(name.endswith('/error') for name in arrays)} of them errors")


main()
