"""Writes tests/data/keras/parts.npy and parts.json: what Keras answers to the cases of tests/python/keras_parts.py.

Needs the pip packages tensorflow-cpu and keras, which the tests do not: python tools/keras_parts_values.py.
"""
import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))
import keras_parts  # noqa: E402


def variable(value, name):
    return keras.Variable(value, name=name)


def main():
    values, shapes, configurations = [], {}, {}
    for family, (answer, cases) in keras_parts.FAMILIES.items():
        extra = (variable,) if family == "optimizer" else ()
        for case in cases:
            answers = answer(case, tf, keras, *extra)
            values += [np.ravel(value).astype(np.float32) for value in answers.values()]
            shapes[f"{family}/{case}"] = {name: np.shape(value) for name, value in answers.items()}
            configurations[f"{family}/{case}"] = keras_parts.configuration(family, case, keras)
    folder = ROOT / "tests/data/keras"
    # One vector and the shapes of its parts: an archive of a thousand small arrays would be mostly headers.
    np.save(folder / "parts.npy", np.concatenate(values))
    text = json.dumps({"shapes": shapes, "configurations": configurations}, separators=(",", ":"))
    (folder / "parts.json").write_text(text.replace("},", "},\n") + "\n")
    print(f"{len(values)} arrays, {len(configurations)} configurations")


if __name__ == "__main__":
    main()
