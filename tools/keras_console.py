"""Writes what real Keras prints (progress bars, summaries) and what its callbacks do into tests/data, for the tests to compare with.

In an environment with tensorflow-cpu and keras: python tools/keras_console.py
"""
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

import keras  # noqa: E402
import keras_scenes  # noqa: E402
import numpy  # noqa: E402


def main():
    folder = ROOT / "tests" / "data" / "keras"
    folder.mkdir(exist_ok=True)
    texts = {
        "progress_bars.txt": keras_scenes.progress_bars(keras.utils.Progbar),
        "fit_and_evaluate.txt": keras_scenes.fit_and_evaluate(keras.callbacks),
        "summaries.txt": keras_scenes.summaries(keras, numpy),
    }
    with tempfile.TemporaryDirectory() as scratch:
        texts["watchers.json"] = json.dumps(keras_scenes.watchers(keras.callbacks, scratch), indent=1) + "\n"
    for name, text in texts.items():
        with open(folder / name, "w", encoding="utf-8", newline="") as file:
            file.write(text)


if __name__ == "__main__":
    main()
