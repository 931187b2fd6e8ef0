"""Writes tests/data/keras/parts_inputs.safetensors: what the cases of tests/python/keras_parts.py for losses, metrics and
optimizers are given, for tests/nn/keras_parts_test.cc. The answers are Keras' own, in parts.npy (keras_parts_values.py).

Needs NumPy alone: python tools/keras_parts_inputs.py.
"""
import json
import struct
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
import keras_parts as parts  # noqa: E402

DTYPES = {"float32": "F32", "int32": "I32", "int64": "I64"}


def loss_inputs(case):
    random = parts.draw(case)
    y_true, y_pred = parts.targets(parts.LOSSES[case][2], random)
    return {"y_true": y_true, "y_pred": y_pred, "weight": parts.uniform(random, 6) + np.float32(0.1)}


def metric_inputs(case):
    name, _, kind = parts.METRICS[case]
    random, arrays = parts.draw(case), {}
    for batch in range(3):
        y_true, y_pred = parts.watched(kind, random)
        weight = random.integers(1, 4, 6) if "IoU" in name else parts.uniform(random, 6) + np.float32(0.1)
        arrays |= {f"y_true_{batch}": y_true, f"y_pred_{batch}": y_pred, f"weight_{batch}": weight}
    return arrays


def optimizer_inputs():
    random = parts.draw("optimizer")
    arrays = {"variable_0": parts.normal(random, 3, 4), "variable_1": parts.normal(random, 4)}
    for step in range(parts.STEPS):
        arrays |= {f"gradient_{step}_0": parts.normal(random, 3, 4), f"gradient_{step}_1": parts.normal(random, 4)}
    return arrays


def write_safetensors(path, arrays):
    head, data = {}, b""
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        head[name] = {"dtype": DTYPES[str(array.dtype)], "shape": array.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    arrays = {f"optimizer/{name}": value for name, value in optimizer_inputs().items()}
    for case in parts.LOSSES:
        arrays |= {f"loss/{case}/{name}": value for name, value in loss_inputs(case).items()}
    for case in parts.METRICS:
        arrays |= {f"metric/{case}/{name}": value for name, value in metric_inputs(case).items()}
    write_safetensors(ROOT / "tests/data/keras/parts_inputs.safetensors", arrays)
    print(f"{len(arrays)} arrays")


if __name__ == "__main__":
    main()
